"""Thresholds by class, chosen on labelled images: of the best F1, or the lowest that is precise enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cuter.errors import ConfigError
from cuter.measure.inputs import Matrix, checked

NATURAL = 0.5  # of a calibrated probability


@dataclass(frozen=True, slots=True)
class Quality:
    """Precision, recall and F1 of a class at a threshold, from 0 to 1. 0/0 counts as 0."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class ClassThreshold:
    """What was chosen for a class.

    positives: known images that show it; threshold: a class is predicted where its probability is above; at: quality
    there; natural: quality at 0.5; note: why the threshold is not the one that was asked for, if so.
    """

    name: str
    positives: int
    threshold: float
    at: Quality
    natural: Quality
    note: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        return asdict(self)


def tune_thresholds(
    scores: Matrix,
    labels: Matrix,
    known: Matrix | None,
    names: Sequence[str],
    *,
    precision: float | None = None,
    min_positives: int = 10,
) -> list[ClassThreshold]:
    """Choose a threshold for each class.

    Args:
        scores: Probabilities (images, classes).
        labels: bool, which classes each image shows.
        known: bool, which labels somebody looked at; others take part in nothing. None: all.
        names: The classes.
        precision: Choose the lowest threshold with at least this precision. By default, the threshold of the best F1;
            of several the one nearest to 0.5.
        min_positives: A class with fewer positives keeps 0.5: what is best for a few images is chance.

    Returns:
        A threshold for each class. One that never is precise enough has the threshold 1: it is not predicted at all.

    Raises:
        BatchError: The matrices do not fit together.
        ConfigError: The precision does not lie between 0 and 1.

    Examples:
        >>> import numpy as np
        >>> from cuter.measure.thresholds import tune_thresholds
        >>> scores = np.array([[0.9], [0.4], [0.3], [0.1]])
        >>> labels = np.array([[True], [True], [False], [False]])
        >>> (cat,) = tune_thresholds(scores, labels, None, ["cat"], min_positives=1)
        >>> cat.threshold, cat.at.f1, round(cat.natural.f1, 2)
        (0.35, 1.0, 0.67)
    """
    if precision is not None and not 0 < precision <= 1:
        raise ConfigError(f"precision must lie between 0 and 1, not {precision}")
    probabilities, positives, seen = checked(scores, labels, known)
    return [
        _tune(name, probabilities[rows, column].astype(np.float64), positives[rows, column], precision, min_positives)
        for column, name in enumerate(names)
        for rows in [seen[:, column]]
    ]


def _tune(
    name: str, scores: NDArray[np.float64], positives: NDArray[np.bool_], precision: float | None, fewest: int
) -> ClassThreshold:
    count = int(positives.sum())
    natural = quality(scores, positives, NATURAL)
    if count < fewest:
        few = f"keeps {NATURAL}: {count} positives are fewer than {fewest}"
        return ClassThreshold(name, count, NATURAL, natural, natural, few)
    threshold = _best(scores, positives) if precision is None else _precise(scores, positives, precision)
    note = None
    if threshold is None:
        threshold, note = 1.0, f"never has a precision of {precision}: not predicted"
    return ClassThreshold(name, count, threshold, quality(scores, positives, threshold), natural, note)


def quality(scores: NDArray[np.float64], positives: NDArray[np.bool_], threshold: float) -> Quality:
    """Return what a class has at a threshold: scores (images,), bool (images,)."""
    predicted = scores > threshold
    hits, found, wanted = (int(np.count_nonzero(of)) for of in (predicted & positives, predicted, positives))
    return Quality(
        hits / found if found else 0.0, hits / wanted if wanted else 0.0, 2 * hits / (found + wanted) if wanted else 0.0
    )


class _Cuts:
    """The places between different scores, from the highest score down.

    above: the score over a place; below: that under it; hits and found: positives, and images, that are predicted.
    """

    def __init__(self, scores: NDArray[np.float64], positives: NDArray[np.bool_]):
        order = np.argsort(-scores, kind="stable")
        ranked = scores[order]
        ends = np.flatnonzero(np.diff(ranked, append=-1.0))  # the last of equal scores; they are predicted together
        ends = ends[ranked[ends] > 0]  # nothing lies under 0
        self.above = ranked[ends]
        self.below = np.append(ranked, 0.0)[ends + 1]
        self.hits = np.cumsum(positives[order])[ends]
        self.found = ends + 1

    def threshold(self, place: int) -> float:
        """Return 0.5 if it lies there, else a number of few digits near the middle: people read it."""
        above, below = float(self.above[place]), float(self.below[place])
        if below <= NATURAL < above:
            return NATURAL
        middle = (above + below) / 2
        return next((t for digits in range(2, 17) if below <= (t := round(middle, digits)) < above), middle)


def _best(scores: NDArray[np.float64], positives: NDArray[np.bool_]) -> float:
    cuts = _Cuts(scores, positives)
    f1 = 2 * cuts.hits / (cuts.found + np.count_nonzero(positives))
    places = np.flatnonzero(f1 == f1.max(initial=0.0))
    return min(map(cuts.threshold, places.tolist()), key=lambda one: abs(one - NATURAL), default=NATURAL)


def _precise(scores: NDArray[np.float64], positives: NDArray[np.bool_], precision: float) -> float | None:
    cuts = _Cuts(scores, positives)
    places = np.flatnonzero(cuts.hits / cuts.found >= precision)
    return cuts.threshold(int(places[-1])) if len(places) else None
