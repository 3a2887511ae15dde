"""How far probabilities are from what is observed: calibration error, Brier score, reliability diagram."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cuter.measure.inputs import Matrix, checked

BINS = 15  # of equal width, the usual number


@dataclass(frozen=True, slots=True)
class Bin:
    """The pairs of image and class whose probability is above `low` and not above `high`; the first bin has 0 too.

    Args:
        low: Where the bin begins.
        high: Where it ends.
        probability: Mean probability of its pairs, None without any.
        frequency: Share of them where the class is present, None without any.
        count: How many they are.
    """

    low: float
    high: float
    probability: float | None
    frequency: float | None
    count: int


def reliability_bins(probabilities: Matrix, labels: Matrix, known: Matrix | None = None) -> tuple[Bin, ...]:
    """Compare probabilities with observed frequencies, over all pairs of image and class that are known.

    Args:
        probabilities: (images, classes), from 0 to 1.
        labels: bool (images, classes).
        known: bool (images, classes), which labels somebody looked at; others are left out.

    Returns:
        15 bins of equal width, for a reliability diagram.

    Raises:
        BatchError: The shapes do not fit, or these are no probabilities.

    Examples:
        >>> import numpy as np
        >>> from cuter.measure.calibration import reliability_bins
        >>> bins = reliability_bins(np.array([[0.97], [0.99]]), np.array([[True], [False]]))
        >>> round(bins[-1].probability, 2), bins[-1].frequency, bins[-1].count
        (0.98, 0.5, 2)
    """
    said, present, looked_at = checked(probabilities, labels, known)
    counts, totals, positives = _binned(said[looked_at], present[looked_at])
    edges = np.linspace(0, 1, BINS + 1).tolist()
    return tuple(
        Bin(low, high, total / count if count else None, hits / count if count else None, int(count))
        for low, high, count, total, hits in zip(
            edges, edges[1:], counts.tolist(), totals.tolist(), positives.tolist(), strict=False
        )
    )


def calibration_error(probabilities: Matrix, labels: Matrix, known: Matrix | None = None) -> float | None:
    """Return the expected calibration error over all pairs of image and class that are known.

    In each of 15 bins of equal width, the mean probability is compared with the share of pairs where the class is
    present; the error is the mean difference, each bin weighed by its pairs.

    Args:
        probabilities: As for `reliability_bins`.
        labels: As for `reliability_bins`.
        known: As for `reliability_bins`.

    Returns:
        The error, from 0 to 1; None where nothing is known.

    Examples:
        >>> import numpy as np
        >>> from cuter.measure.calibration import calibration_error
        >>> round(calibration_error(np.array([[0.8], [0.8]]), np.array([[True], [False]])), 3)
        0.3
    """
    said, present, looked_at = checked(probabilities, labels, known)
    return _error(said[looked_at], present[looked_at])


def class_calibration_errors(
    probabilities: Matrix, labels: Matrix, known: Matrix | None = None
) -> tuple[float | None, ...]:
    """Return the expected calibration error of each class by itself, None where nothing of it is known.

    Errors of opposite sign in two classes do not cancel here, as they can in `calibration_error`.

    Args:
        probabilities: As for `reliability_bins`.
        labels: As for `reliability_bins`.
        known: As for `reliability_bins`.

    Examples:
        >>> import numpy as np
        >>> from cuter.measure.calibration import class_calibration_errors
        >>> class_calibration_errors(np.array([[0.5, 0.5]]), np.array([[True, False]]))
        (0.5, 0.5)
    """
    said, present, looked_at = checked(probabilities, labels, known)
    return tuple(
        _error(said[rows, column], present[rows, column])
        for column in range(said.shape[1])
        for rows in [looked_at[:, column]]
    )


def brier_score(probabilities: Matrix, labels: Matrix, known: Matrix | None = None) -> float | None:
    """Return the mean squared difference of probability and label over all known pairs, None without any.

    Args:
        probabilities: As for `reliability_bins`.
        labels: As for `reliability_bins`.
        known: As for `reliability_bins`.

    Examples:
        >>> import numpy as np
        >>> from cuter.measure.calibration import brier_score
        >>> brier_score(np.array([[0.5, 1.0]]), np.array([[True, False]]))
        0.625
    """
    said, present, looked_at = checked(probabilities, labels, known)
    differences = said[looked_at].astype(np.float64) - present[looked_at]
    return float(np.mean(differences**2)) if differences.size else None


def _error(said: NDArray[np.floating[Any]], present: NDArray[np.bool_]) -> float | None:
    _, totals, positives = _binned(said, present)
    return float(np.abs(totals - positives).sum() / len(said)) if len(said) else None


def _binned(
    said: NDArray[np.floating[Any]], present: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return for each bin the number of pairs, the sum of their probabilities, and how many are present."""
    inner_edges = np.linspace(0, 1, BINS + 1)[1:-1]
    places = np.searchsorted(inner_edges, said)
    counts = np.bincount(places, minlength=BINS).astype(np.int64)
    totals, positives = (np.bincount(places, weights, BINS).astype(np.float64) for weights in (said, present))
    return counts, totals, positives
