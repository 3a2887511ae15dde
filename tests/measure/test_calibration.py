"""Calibration error, Brier score and reliability: against scikit-learn, a plain loop, and what must always hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from cuter.errors import BatchError
from cuter.measure.calibration import (
    BINS,
    brier_score,
    calibration_error,
    class_calibration_errors,
    reliability_bins,
)

SHAPE = (40, 3)
PROBABILITIES = arrays(np.float64, SHAPE, elements=st.floats(0, 1))
TRUTHS = arrays(np.bool_, SHAPE)


def by_hand(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """Expected calibration error as a loop over bins that are closed above, and the first one below too."""
    total = 0.0
    for number in range(BINS):
        inside = (probabilities > number / BINS) & (probabilities <= (number + 1) / BINS)
        inside |= (number == 0) & (probabilities == 0)
        if inside.any():
            total += inside.sum() * abs(probabilities[inside].mean() - labels[inside].mean())
    return total / probabilities.size


def drawn(seed: int = 0, shape: tuple[int, int] = (500, 4)) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    probabilities = rng.uniform(size=shape)
    return probabilities, rng.uniform(size=shape) < probabilities**2, rng.uniform(size=shape) < 0.7


def test_bins_are_those_of_scikit_learn() -> None:
    probabilities, labels, known = drawn()
    bins = [one for one in reliability_bins(probabilities, labels, known) if one.count]
    frequencies, means = calibration_curve(labels[known], probabilities[known], n_bins=BINS, strategy="uniform")
    assert [one.frequency for one in bins] == pytest.approx(frequencies)
    assert [one.probability for one in bins] == pytest.approx(means)
    assert (bins[0].low, bins[-1].high) == (0, 1)


def test_errors_against_a_plain_loop() -> None:
    probabilities, labels, known = drawn(1)
    pooled = by_hand(probabilities[known], labels[known])
    assert calibration_error(probabilities, labels, known) == pytest.approx(pooled)
    expected = [by_hand(probabilities[known[:, c], c], labels[known[:, c], c]) for c in range(4)]
    assert class_calibration_errors(probabilities, labels, known) == pytest.approx(expected)


def test_the_brier_score_is_that_of_scikit_learn() -> None:
    probabilities, labels, known = drawn(2)
    expected = brier_score_loss(labels[known], probabilities[known])
    assert brier_score(probabilities, labels, known) == pytest.approx(expected)


@given(PROBABILITIES, TRUTHS, TRUTHS)
def test_what_always_holds(probabilities: np.ndarray, labels: np.ndarray, known: np.ndarray) -> None:
    bins = reliability_bins(probabilities, labels, known)
    error, squared = calibration_error(probabilities, labels, known), brier_score(probabilities, labels, known)
    assert sum(one.count for one in bins) == known.sum()
    if not known.any():
        assert (error, squared) == (None, None)
        return
    assert 0 <= error <= 1
    assert 0 <= squared <= 1
    assert error == pytest.approx(by_hand(probabilities[known], labels[known]), abs=1e-9)
    for one in bins:
        assert (one.probability is None) == (one.frequency is None) == (one.count == 0)
        assert one.count == 0 or one.low - 1e-9 <= one.probability <= one.high + 1e-9
    by_class = class_calibration_errors(probabilities, labels, known)
    assert [one is None for one in by_class] == (~known.any(axis=0)).tolist()
    weights = known.sum(axis=0)
    pooled = sum(weight * (one or 0) for weight, one in zip(weights, by_class, strict=True)) / weights.sum()
    assert error <= pooled + 1e-9, "errors of classes can cancel, and never add up to more"


@given(st.integers(0, 2**32 - 1))
def test_labels_drawn_from_the_probabilities_leave_little_error(seed: int) -> None:
    rng = np.random.default_rng(seed)
    probabilities = rng.uniform(size=(20_000, 1))
    labels = rng.uniform(size=probabilities.shape) < probabilities
    assert calibration_error(probabilities, labels) < 0.03
    assert calibration_error(1 - probabilities, labels) > 0.4


def test_unknown_labels_are_not_looked_at() -> None:
    probabilities, labels, known = drawn(3)
    wild = np.where(known, probabilities, np.nan)
    for measure in (reliability_bins, calibration_error, class_calibration_errors, brier_score):
        assert measure(wild, labels, known) == measure(probabilities, labels ^ ~known, known)


def test_certain_and_right_or_wrong() -> None:
    labels = np.array([[True, False]])
    assert calibration_error(labels.astype(float), labels) == 0
    assert calibration_error((~labels).astype(float), labels) == brier_score((~labels).astype(float), labels) == 1


def test_logits_are_refused() -> None:
    with pytest.raises(BatchError, match=r"scores must be probabilities from 0 to 1"):
        calibration_error(np.array([[2.0]]), np.array([[True]]))
