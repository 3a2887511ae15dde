"""Figures of several seeds: mean and spread, and differences between rows that met the same streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats

LEVEL = 0.95  # of intervals

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
    """Mean of the differences seed by seed; from two seeds on its standard error and its interval."""

    seeds: int
    mean: float
    error: float | None
    interval: tuple[float, float] | None

    @property
    def separable(self) -> bool | None:
        """Whether the interval leaves out 0; None where there is one seed."""
        return None if self.interval is None else not self.interval[0] <= 0 <= self.interval[1]


def paired_difference(values: BySeed, reference: BySeed) -> Difference | None:
    """Compare two rows on the seeds that both have: the same seed is the same stream in the same order.

    The interval is Student's, with n - 1 degrees of freedom: it leaves out 0 where the paired t-test says so.
    """
    both = sorted(values.keys() & reference.keys())
    if not both:
        return None
    differences = np.array([values[seed] - reference[seed] for seed in both])
    mean = float(differences.mean())
    if len(both) == 1:
        return Difference(1, mean, None, None)
    error = float(stats.sem(differences))
    half = half_width(len(both)) * error
    return Difference(len(both), mean, error, (mean - half, mean + half))


def half_width(seeds: int) -> float:
    """Return half of an interval in standard errors."""
    return float(stats.t.ppf((1 + LEVEL) / 2, seeds - 1))
