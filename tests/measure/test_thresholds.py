"""Thresholds by class, against scikit-learn and against trying them all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, precision_recall_curve, precision_score, recall_score

from cuter.errors import BatchError, ConfigError
from cuter.measure.thresholds import tune_thresholds

FEW = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.5000001, 0.7, 1.0]), st.booleans()), min_size=1)


def tried(scores: np.ndarray) -> list[float]:
    """Every threshold that makes a difference."""
    values = np.unique([0.0, 1.0, *scores.ravel()])
    return sorted({*values, *((values[1:] + values[:-1]) / 2)})


def columns(rows: list[tuple[float, bool]]) -> tuple[np.ndarray, np.ndarray]:
    scores, labels = zip(*rows, strict=True)
    return np.array(scores)[:, None], np.array(labels)[:, None]


@given(FEW)
def test_the_best_f1_is_found(rows: list[tuple[float, bool]]) -> None:
    scores, labels = columns(rows)
    (found,) = tune_thresholds(scores, labels, None, ["cat"], min_positives=1)
    best = max(f1_score(labels[:, 0], scores[:, 0] > t, zero_division=0) for t in tried(scores))
    assert found.at.f1 == pytest.approx(best)
    if labels.any():
        predicted = scores[:, 0] > found.threshold
        assert found.at.f1 == pytest.approx(f1_score(labels[:, 0], predicted, zero_division=0))
        assert found.at.precision == pytest.approx(precision_score(labels[:, 0], predicted, zero_division=0))
        assert found.at.recall == pytest.approx(recall_score(labels[:, 0], predicted, zero_division=0))


@given(FEW, st.sampled_from([0.3, 0.5, 0.9, 1.0]))
def test_the_lowest_precise_threshold_is_found(rows: list[tuple[float, bool]], precision: float) -> None:
    scores, labels = columns(rows)
    (found,) = tune_thresholds(scores, labels, None, ["cat"], precision=precision, min_positives=1)
    if not labels.any():
        assert found.threshold == 0.5
        return
    fitting = [t for t in tried(scores) if precision_score(labels, scores > t, zero_division=0) >= precision]
    assert (found.note is None) == bool(fitting)
    wanted = recall_score(labels, scores > min(fitting), zero_division=0) if fitting else 0.0
    assert found.at.recall == pytest.approx(wanted)
    assert not fitting or found.at.precision >= precision


def test_many_images_against_the_curve_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    labels = rng.random((2000, 3)) < [0.5, 0.1, 0.02]
    scores = (1 / (1 + np.exp(-rng.normal(np.where(labels, 1, -1.5), 1)))).astype(np.float32)
    for column, found in enumerate(tune_thresholds(scores, labels, None, ["a", "b", "c"])):
        precision, recall, _ = precision_recall_curve(labels[:, column], scores[:, column])
        assert found.at.f1 == pytest.approx((2 * precision * recall / (precision + recall + 1e-12)).max())
    for column, found in enumerate(tune_thresholds(scores, labels, None, ["a", "b", "c"], precision=0.8)):
        precision, recall, _ = precision_recall_curve(labels[:, column], scores[:, column])
        assert found.at.recall == pytest.approx(recall[precision >= 0.8].max())


def test_unknown_labels_take_part_in_nothing() -> None:
    scores = np.array([[0.9], [0.4], [0.3], [0.8]])
    labels = np.array([[True], [True], [False], [False]])
    known = np.array([[True], [True], [True], [False]])
    (found,) = tune_thresholds(scores, labels, known, ["cat"], min_positives=2)
    assert (found.threshold, found.positives, found.at.f1) == (0.35, 2, 1.0)


def test_what_is_not_tuned_says_why() -> None:
    scores = np.array([[0.9, 0.9], [0.4, 0.3]])
    labels = np.array([[True, False], [False, True]])
    rare, never = tune_thresholds(scores, labels, None, ["rare", "never"], precision=0.9, min_positives=1)
    assert rare.note is None
    assert (never.threshold, never.note) == (1.0, "never has a precision of 0.9: not predicted")
    assert never.at.recall == 0
    kept, _ = tune_thresholds(scores, labels, None, ["rare", "never"])
    assert (kept.threshold, kept.note) == (0.5, "keeps 0.5: 1 positives are fewer than 10")


def test_a_threshold_that_needs_no_change_stays() -> None:
    scores, labels = np.array([[0.9], [0.1]]), np.array([[True], [False]])
    (found,) = tune_thresholds(scores, labels, None, ["cat"], min_positives=1)
    assert found.threshold == 0.5


def test_mistakes_are_told() -> None:
    one = np.ones((1, 1), dtype=bool)
    with pytest.raises(ConfigError, match="precision must lie between 0 and 1, not 2"):
        tune_thresholds(one * 0.5, one, None, ["cat"], precision=2)
    with pytest.raises(BatchError, match="probabilities from 0 to 1"):
        tune_thresholds(one * 3.0, one, None, ["cat"])
