"""What a data set is made of: samples that say what is in an image and what nobody looked for."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np


@dataclass(frozen=True, slots=True)
class Box:
    """One object in pixels of the original image; half-open: x1 ≤ x < x2, y1 ≤ y < y2, counted from 0."""

    label: str
    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True, slots=True)
class Sample:
    """One image and its labels. `known` are the classes somebody looked for; the others are unknown, not absent."""

    id: str
    path: Path
    labels: frozenset[str]
    known: frozenset[str] | None = None  # None: every class of the data set
    boxes: tuple[Box, ...] = ()


@dataclass(frozen=True)
class Dataset:
    """A training and a test split over one list of classes."""

    name: str
    classes: tuple[str, ...]
    train: Sequence[Sample] = field(repr=False)
    test: Sequence[Sample] = field(repr=False)


def class_counts(samples: Sequence[Sample]) -> Counter[str]:
    """Count in how many images each class is present."""
    return Counter(label for sample in samples for label in sample.labels)


def pick(samples: Sequence[Sample], count: int, seed: int = 0) -> list[Sample]:
    """Draw so many samples, always the same ones for a seed, in their order; all of them if there are no more."""
    chosen = np.random.default_rng(seed).permutation(len(samples))[:count]
    return [samples[i] for i in sorted(chosen.tolist())]
