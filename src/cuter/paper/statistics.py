"""Figures of several seeds: mean and spread, and differences between rows that met the same streams."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

EXACT = 6  # up to so many seeds all resamples are looked at: 6 ** 6 are 46,656
DRAWS = 20_000
LEAST_SEEDS = 3  # for an interval

BySeed = Mapping[int, float]


@dataclass(frozen=True)
class Spread:
    """Mean over seeds, and the standard deviation (n - 1) where there are at least two."""

    seeds: int
    mean: float
    std: float | None

    @classmethod
    def of(cls, values: BySeed) -> Spread | None:
        """Return the spread of some values, None of none."""
        if not values:
            return None
        numbers = np.array(list(values.values()))
        return cls(len(numbers), float(numbers.mean()), float(numbers.std(ddof=1)) if len(numbers) > 1 else None)


@dataclass(frozen=True)
class Difference:
    """Mean of the differences seed by seed; its standard error and a bootstrap interval where seeds suffice."""

    seeds: int
    mean: float
    error: float | None
    interval: tuple[float, float] | None

    @property
    def separable(self) -> bool | None:
        """Whether it is more than twice its standard error; None where one seed can't tell."""
        return None if self.error is None else abs(self.mean) > 2 * self.error


def paired_difference(values: BySeed, reference: BySeed) -> Difference | None:
    """Compare two rows on the seeds that both have: the same seed is the same stream in the same order."""
    both = sorted(values.keys() & reference.keys())
    if not both:
        return None
    differences = np.array([values[seed] - reference[seed] for seed in both])
    error = float(differences.std(ddof=1) / np.sqrt(len(both))) if len(both) > 1 else None
    interval = bootstrap_interval(differences) if len(both) >= LEAST_SEEDS else None
    return Difference(len(both), float(differences.mean()), error, interval)


def bootstrap_interval(values: NDArray[np.float64], level: float = 0.95) -> tuple[float, float]:
    """Return the percentile interval of the mean over resamples: all of them if they are few, else a fixed draw."""
    count = len(values)
    if count <= EXACT:
        picks = np.array(list(itertools.product(range(count), repeat=count)))
    else:
        picks = np.random.default_rng(0).integers(count, size=(DRAWS, count))
    tails = 100 * (1 - level) / 2
    low, high = np.percentile(values[picks].mean(axis=1), [tails, 100 - tails], method="inverted_cdf")
    return float(low), float(high)
