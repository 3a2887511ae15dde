"""Every figure against scikit-learn, which shares no code with ours."""

import json
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import average_precision_score, f1_score, precision_score, recall_score

from cuter.errors import BatchError, CheckpointError
from cuter.measure.metrics import FIGURES, Scores, multilabel_scores

# Few levels, the thresholds among them, so that ties and scores equal to a threshold are common.
LEVELS = [0.0, 0.1, 0.5, 0.7, 0.8, 0.9, 1.0]


def reference_ap(scores, labels):
    return 100 * average_precision_score(labels, scores) if labels.any() else None


def reference_figures(scores, labels, known):
    """Compute the figures class by class on the known rows; classes that nobody looked for are left out."""
    columns = [(scores[rows, c], labels[rows, c]) for c, rows in enumerate(known.T) if rows.any()]
    aps = [reference_ap(s, y) for s, y in columns]
    defined = [ap for ap in aps if ap is not None]
    figures = {
        "map": np.mean(defined) if defined else None,
        "map_zero": np.mean([ap or 0.0 for ap in aps]) if aps else None,
    }
    for t in (0.5, 0.8):
        if not columns:
            figures |= dict.fromkeys((f"cf1_mean@{t}", f"cf1_harmonic@{t}", f"of1@{t}"))
            continue
        options = {"zero_division": 0, "pos_label": 1}
        f1 = [f1_score(y, s > t, **options) for s, y in columns]
        p = np.mean([precision_score(y, s > t, **options) for s, y in columns])
        r = np.mean([recall_score(y, s > t, **options) for s, y in columns])
        pooled_scores = np.concatenate([s for s, _ in columns])
        pooled_labels = np.concatenate([y for _, y in columns])
        figures[f"cf1_mean@{t}"] = 100 * np.mean(f1)
        figures[f"cf1_harmonic@{t}"] = 100 * 2 * p * r / (p + r) if p + r else 0.0
        figures[f"of1@{t}"] = 100 * f1_score(pooled_labels, pooled_scores > t, **options)
    return figures


def assert_same(measured, expected):
    assert measured.keys() == expected.keys()
    for key, value in expected.items():
        assert measured[key] == (None if value is None else pytest.approx(value, abs=1e-9)), key


@st.composite
def cases(draw):
    shape = draw(st.tuples(st.integers(1, 12), st.integers(1, 5)))
    levels = st.sampled_from(LEVELS) if draw(st.booleans()) else st.floats(0, 1)
    return tuple(
        draw(hnp.arrays(kind, shape, elements=elements))
        for kind, elements in ((float, levels), (bool, st.booleans()), (bool, st.booleans()))
    )


@settings(max_examples=60)
@given(cases())
def test_every_figure_agrees_with_sklearn_on_the_known_rows(case):
    scores, labels, known = case
    measured = multilabel_scores(scores, labels, known)
    assert_same(measured.figures, reference_figures(scores, labels, known))
    for c, rows in enumerate(known.T):
        expected = reference_ap(scores[rows, c], labels[rows, c]) if rows.any() else None
        assert measured.ap[c] == (None if expected is None else pytest.approx(expected, abs=1e-9))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ties", [False, True])
def test_agrees_with_sklearn_in_one_multilabel_call(dtype, ties):
    rng = np.random.default_rng(7)
    labels = rng.random((3000, 30)) < rng.uniform(0.001, 0.4, 30)
    labels[:, 0], labels[:, 1] = False, True
    scores = np.clip(rng.normal(0.45 + 0.3 * labels, 0.25), 0, 1).astype(dtype)
    if ties:
        scores = scores.round(1)
    measured = multilabel_scores(scores, labels)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # column 0 has no positive: sklearn says 0 and warns
        aps = average_precision_score(labels, scores, average=None)
    assert measured["map_zero"] == pytest.approx(100 * aps.mean())
    assert measured["map"] == pytest.approx(100 * aps[1:].mean())
    assert measured.ap[0] is None
    assert measured.ap[1] == 100
    for t in (0.5, 0.8):
        guess = scores > dtype(t)
        p, r = (f(labels, guess, average="macro", zero_division=0) for f in (precision_score, recall_score))
        macro, micro = (f1_score(labels, guess, average=a, zero_division=0) for a in ("macro", "micro"))
        assert measured[f"cf1_mean@{t}"] == pytest.approx(100 * macro)
        assert measured[f"cf1_harmonic@{t}"] == pytest.approx(100 * 2 * p * r / (p + r))
        assert measured[f"of1@{t}"] == pytest.approx(100 * micro)


def test_unknown_entries_take_part_in_nothing():
    rng = np.random.default_rng(1)
    scores, labels, known = rng.random((50, 6)), rng.random((50, 6)) < 0.3, rng.random((50, 6)) < 0.6
    plain = multilabel_scores(scores, labels, known)
    scores[~known], labels[~known] = np.nan, True
    assert multilabel_scores(scores, labels, known) == plain
    wholly_unknown = np.zeros((50, 1), dtype=bool)
    widened = multilabel_scores(
        np.hstack([scores, scores[:, :1]]), np.hstack([labels, labels[:, :1]]), np.hstack([known, wholly_unknown])
    )
    assert widened.figures == plain.figures
    assert widened.ap == (*plain.ap, None)


def test_ties_everywhere_give_the_share_of_positives():
    measured = multilabel_scores(np.full((8, 2), 0.3), np.arange(16).reshape(8, 2) < 4)
    assert measured.ap == (25.0, 25.0)


def test_threshold_is_strict_also_in_single_precision():
    labels = np.ones((1, 1), dtype=bool)
    for kind in (np.float32, np.float64):
        at = multilabel_scores(np.full((1, 1), 0.8, dtype=kind), labels)
        above = multilabel_scores(np.full((1, 1), 0.8001, dtype=kind), labels)
        assert (at["of1@0.8"], above["of1@0.8"], at["of1@0.5"]) == (0, 100, 100)


def test_the_two_definitions_of_cf1_differ():
    scores = np.array([[0.9, 0.1], [0.9, 0.1], [0.9, 0.9]])
    labels = np.array([[1, 0], [0, 1], [0, 1]], dtype=bool)
    measured = multilabel_scores(scores, labels)
    # Precision 1/3 and 1, recall 1 and 1/2: F1 1/2 and 2/3; means 2/3 and 3/4.
    assert measured["cf1_mean@0.8"] == pytest.approx(100 * 7 / 12)
    assert measured["cf1_harmonic@0.8"] == pytest.approx(100 * 12 / 17)
    assert measured["of1@0.8"] == pytest.approx(100 * 4 / 7)


@pytest.mark.parametrize("shape", [(0, 3), (4, 0), (0, 0)])
def test_nothing_to_measure_is_none(shape):
    measured = multilabel_scores(np.zeros(shape), np.zeros(shape, dtype=bool))
    assert measured == Scores(dict.fromkeys(FIGURES), (None,) * shape[1])


def test_no_positive_anywhere_leaves_map_undefined():
    measured = multilabel_scores(np.full((3, 2), 0.6), np.zeros((3, 2), dtype=bool))
    assert measured.ap == (None, None)
    assert measured.figures == {**dict.fromkeys(FIGURES, 0.0), "map": None}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_tensors_give_the_same_as_arrays(dtype):
    generator = torch.Generator().manual_seed(3)
    scores = torch.rand(20, 4, generator=generator).to(dtype).requires_grad_()
    labels, known = (torch.rand(20, 4, generator=generator) < share for share in (0.4, 0.8))
    plain = scores.detach().double().numpy()
    measured, expected = (
        multilabel_scores(scores, labels, known),
        multilabel_scores(plain, labels.numpy(), known.numpy()),
    )
    assert measured.ap == pytest.approx(expected.ap)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -0.01, 1.5])
def test_scores_that_are_no_probabilities_are_refused_by_place(bad):
    scores = np.full((4, 3), 0.5)
    scores[2, 1] = bad
    with pytest.raises(BatchError, match=rf"row 2, column 1 is {bad}; .*sigmoid"):
        multilabel_scores(scores, np.zeros((4, 3), dtype=bool))


@pytest.mark.parametrize(
    ("scores", "labels", "known", "message"),
    [
        (np.zeros(3), np.zeros(3, bool), None, r"scores must be floats of shape .* not float64 \(3,\)"),
        (np.zeros((3, 2), int), np.zeros((3, 2), bool), None, "not int64"),
        (np.zeros((3, 2)), np.zeros((2, 3), bool), None, r"labels .*\(3, 2\).* not bool \(2, 3\)"),
        (np.zeros((3, 2)), np.zeros((3, 2)), None, "labels must be bool .* not float64"),
        (np.zeros((3, 2)), np.zeros((3, 2), bool), np.zeros(2, bool), r"known .* not bool \(2,\)"),
    ],
)
def test_wrong_shapes_and_types_are_refused(scores, labels, known, message):
    with pytest.raises(BatchError, match=message):
        multilabel_scores(scores, labels, known)


def test_scores_survive_json():
    rng = np.random.default_rng(5)
    labels = rng.random((30, 5)) < 0.4
    labels[:, 2] = False
    measured = multilabel_scores(rng.random((30, 5)), labels)
    saved = json.loads(json.dumps(measured.as_dict(), allow_nan=False))
    assert list(saved) == [*FIGURES, "ap"]
    assert Scores.from_dict(saved) == measured
    del saved["of1@0.8"]
    with pytest.raises(CheckpointError, match=r"lack 'of1@0\.8'"):
        Scores.from_dict(saved)
