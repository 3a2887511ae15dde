"""Probabilities of scores: against the closed form, scikit-learn, and what must not change."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from cuter import Batch, Learner
from cuter.errors import BatchError
from cuter.learn.calibration import UNFITTED, Calibration, fit_calibration


def closed_form(score: float) -> float:
    odds = score * (score - 0.05) ** 4 / (1.05 - score)
    return odds / (1 + odds)


@pytest.mark.parametrize("score", [0.5, 0.7988257])
def test_the_unfitted_line_meets_the_closed_form(score: float) -> None:
    found = Calibration()(torch.tensor([[score]]), ["cat"])
    assert found.item() == pytest.approx(closed_form(score), abs=1e-4)


@given(st.lists(st.floats(0, 1, width=32), min_size=2, max_size=30), st.floats(0.05, 10), st.floats(-9, 9))
def test_the_order_of_scores_stays(scores: list[float], slope: float, offset: float) -> None:
    calibration = Calibration(lines={"cat": (slope, offset)})
    ordered = torch.tensor(sorted(scores)).unsqueeze(1)
    found = calibration(ordered, ["cat"])
    assert bool((found.diff(dim=0) >= 0).all())
    assert 0 <= float(found.min()) <= float(found.max()) <= 1


def drawn(images: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw scores of two classes whose true lines are (2, -1) and (0.5, 1)."""
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(images, 2, generator=generator).double()
    probability = torch.sigmoid(logits * torch.tensor([2.0, 0.5]) + torch.tensor([-1.0, 1.0]))
    return torch.sigmoid(logits), torch.rand(images, 2, generator=generator) < probability


def test_without_a_prior_it_is_logistic_regression() -> None:
    scores, labels = drawn(4000)
    fitted = fit_calibration(scores, labels, torch.ones_like(labels), ["cat", "dog"], strength=1e-6)
    assert fitted.images == 4000
    for column, name in enumerate(["cat", "dog"]):
        features = torch.logit(scores[:, [column]]).numpy()
        reference = LogisticRegression(C=np.inf).fit(features, labels[:, column].numpy())
        assert fitted.lines[name] == pytest.approx((reference.coef_.item(), reference.intercept_.item()), rel=1e-3)


def test_only_known_labels_count() -> None:
    scores, labels = drawn(200)
    known = torch.ones_like(labels)
    known[100:, 1] = False
    wrong = labels.clone()
    wrong[100:, 1] ^= True
    one, other = (fit_calibration(scores, given, known, ["cat", "dog"]) for given in (labels, wrong))
    assert one.state_dict() == other.state_dict()
    nothing = fit_calibration(scores, labels, torch.zeros_like(known), ["cat", "dog"])
    assert nothing.lines == {}
    assert nothing.shared == pytest.approx(UNFITTED)
    assert nothing.images == 0


def test_a_class_without_images_of_its_own_takes_the_shared_line() -> None:
    scores, labels = drawn(300)
    fitted = fit_calibration(scores, labels, torch.ones_like(labels), ["cat", "dog"])
    probabilities = fitted(torch.full((1, 3), 0.7), ["dog", "bird", "cat"])
    slope, offset = fitted.shared
    assert probabilities[0, 1].item() == pytest.approx(1 / (1 + math.exp(-slope * math.log(0.7 / 0.3) - offset)))
    assert probabilities[0, 0] != probabilities[0, 1] != probabilities[0, 2]


def test_few_images_do_not_lead_far_away() -> None:
    labels = torch.tensor([[True], [True]])
    fitted = fit_calibration(torch.tensor([[0.9], [0.95]]), labels, torch.ones_like(labels), ["cat"])
    assert fitted.lines["cat"] == pytest.approx(UNFITTED, abs=1)


def test_the_threshold_of_a_probability() -> None:
    calibration = Calibration(lines={"cat": (2.0, -3.0)})
    for probability in (0.1, 0.5, 0.9):
        score = calibration.raw_threshold("cat", probability)
        assert calibration(torch.tensor([[score]]), ["cat"]).item() == pytest.approx(probability, abs=1e-6)


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(BatchError, match=r"must all be \(images, 2\)"):
        fit_calibration(torch.zeros(2, 1), torch.zeros(2, 1).bool(), torch.zeros(2, 1).bool(), ["cat", "dog"])


def test_a_learner_keeps_its_calibration_and_what_it_counted(tmp_path_factory: pytest.TempPathFactory) -> None:
    learner = Learner.create("rs", backbone="toybox", device="cpu", memory={"images": 5})
    images = torch.randint(256, (4, 3, 96, 96), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    batch = Batch.of(images, [["cat"], ["dog"], ["cat", "dog"], []])
    learner.observe(batch)
    before = learner.scores(images)
    learner.calibrate(Batch.of(images, [["dog"], [], ["dog", "unheard of"], []]))
    assert list(learner.calibration.lines) == ["dog"]
    assert torch.equal(learner.scores(images), before)
    folder = tmp_path_factory.mktemp("saved") / "learner"
    learner.save(folder)
    loaded = Learner.load(folder, device="cpu")
    assert loaded.predict(images) == learner.predict(images)
    assert (loaded.images, loaded.label_counts) == (4, {"cat": 2, "dog": 2})
