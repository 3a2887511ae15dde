"""Prediction with regions, with a model that can be seen through: the brighter red, green or blue, the higher."""

import pytest
import torch
from torch import Tensor, nn

from cuter.backbone import untrained_vit
from cuter.backbone.features import Features
from cuter.cut import CutSettings
from cuter.learn import predictors
from cuter.learn.learner import Learner
from cuter.learn.model import Model
from cuter.learn.predictors import RegionPredictor
from cuter.stream.batch import Batch

RED, GREEN = (0, 1)
CUT = CutSettings("tokens", tau=0.5)


class Colours(nn.Module):
    """Patches of 4 × 4 pixels by their colour; the embedding is the mean colour."""

    patch_size = 4

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[tuple[int, ...]] = []

    def forward(self, images: Tensor, visible: None = None) -> Features:
        self.sizes.append(tuple(images.shape))
        patches = nn.functional.avg_pool2d(images.float() / 255, 4)
        rows = patches.flatten(2).transpose(1, 2) - 0.5
        return Features(rows.mean(dim=1), rows, (patches.shape[2], patches.shape[3]), rows)


class MeanColour(nn.Module):
    def predict_logits(self, features: Features) -> Tensor:
        return 8 * features.embedding


class SeesColours(Model):
    def __init__(self) -> None:
        nn.Module.__init__(self)
        self.backbone = Colours()  # type: ignore[assignment]
        self.head = MeanColour()  # type: ignore[assignment]


def scene(*things: tuple[int, tuple[int, int, int, int]]) -> Tensor:
    image = torch.zeros(3, 56, 56, dtype=torch.uint8)
    for colour, (x1, y1, x2, y2) in things:
        image[colour, y1:y2, x1:x2] = 255
    return image


THING = (8, 20, 24, 32)


def red_image() -> Tensor:
    return scene((RED, (0, 0, 56, 56)))[None]


@pytest.fixture
def all_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at the regions of every image: this model's scores are low."""
    monkeypatch.setattr(predictors, "UNDECIDED", 0.0)


@pytest.mark.usefixtures("all_undecided")
def test_a_small_thing_is_seen_in_its_region() -> None:
    model = SeesColours()
    scores = RegionPredictor(model, CUT)(torch.stack([scene((RED, THING)), scene()]))
    whole, region = (
        torch.logit(model.predict_logits(image).sigmoid()) for image in (scene((RED, THING))[None], red_image())
    )
    assert scores.joined[0, RED] == pytest.approx(torch.sigmoid((whole + region) / 2)[0, RED].item(), rel=1e-4)
    assert scores.joined[0, RED] > 3 * scores.whole[0, RED]
    torch.testing.assert_close(scores.boxes[0, RED] * 56, torch.tensor(THING).float())
    assert (scores.boxes[0, GREEN] == 0).all(), "it was not seen in the region"
    assert scores.numbers[0].tolist() == [1, 0, 0]


@pytest.mark.usefixtures("all_undecided")
def test_a_class_is_seen_in_the_region_where_it_scores_highest() -> None:
    other = (36, 36, 48, 52)
    scores = RegionPredictor(SeesColours(), CUT)(torch.stack([scene((RED, THING), (GREEN, other))]))
    torch.testing.assert_close(scores.boxes[0, RED] * 56, torch.tensor(THING).float())
    torch.testing.assert_close(scores.boxes[0, GREEN] * 56, torch.tensor(other).float())
    assert sorted(scores.numbers[0, :2].tolist()) == [1, 2]
    assert (scores.joined[0, :2] > scores.whole[0, :2]).all()


@pytest.mark.usefixtures("all_undecided")
def test_an_image_without_a_region_keeps_its_score() -> None:
    scores = RegionPredictor(SeesColours(), CUT)(torch.stack([scene(), scene((RED, THING))]))
    assert torch.equal(scores.joined[0], scores.whole[0])
    assert (scores.boxes[0] == 0).all()


def test_only_images_that_may_show_a_second_class_are_looked_at_again() -> None:
    both = scene((RED, (0, 0, 56, 56)), (GREEN, (0, 0, 56, 48)))
    model = SeesColours()
    scores = RegionPredictor(model, CUT)(torch.stack([scene((RED, (4, 4, 52, 52))), both, scene()]))
    assert [len(looked) for looked in (model.backbone.sizes)] == [4, 4]
    assert model.backbone.sizes[1][0] <= predictors.REGIONS, "regions of one image"
    assert torch.equal(scores.joined[[0, 2]], scores.whole[[0, 2]])
    assert not torch.equal(scores.joined[1], scores.whole[1])


def test_nothing_to_look_at_again_costs_nothing() -> None:
    model = SeesColours()
    RegionPredictor(model, CUT)(torch.stack([scene(), scene((RED, THING))]))
    assert model.backbone.sizes == [(2, 3, 56, 56)]


@pytest.mark.usefixtures("all_undecided")
def test_all_regions_of_a_batch_are_one_forward_more() -> None:
    model = SeesColours()
    RegionPredictor(model, CUT)(torch.stack([scene((RED, THING)), scene(), scene((GREEN, THING))]))
    assert [size[1:] for size in model.backbone.sizes] == [(3, 56, 56)] * 2


@pytest.fixture
def learner() -> Learner:
    learner = Learner.create("rs", backbone=untrained_vit(), memory={"images": 3}, device="cpu")
    images = torch.stack([scene((RED, THING)), scene((GREEN, THING))])
    learner.observe(Batch.of(images, [["red"], ["green"]]))
    return learner


def test_a_learner_predicts_with_regions_and_says_where(learner: Learner) -> None:
    images = torch.stack([scene((RED, THING))] * 5)
    found = learner.predict(images, batch_size=2, regions=True)
    assert len(found) == 5
    scores = learner.region_scores(images)
    assert list(found[0].probabilities) == ["red", "green"] == list(found[0].boxes)
    expected = learner.calibration(scores.joined, learner.labels.names)
    for prediction, row in zip(found, expected.tolist(), strict=True):
        assert list(prediction.probabilities.values()) == pytest.approx(row, abs=1e-6)
        for box in prediction.boxes.values():
            assert box is None or (0 <= box[0] < box[2] <= 1 and 0 <= box[1] < box[3] <= 1)
    torch.testing.assert_close(scores.whole, learner.scores(images))
    assert learner.predict(images[:0], regions=True) == []


def test_the_predictor_of_the_settings_decides_what_is_predicted(learner: Learner) -> None:
    other = Learner.create("rs", backbone=untrained_vit(), memory={"images": 3}, predictor="regions", device="cpu")
    images = torch.stack([scene((RED, THING)), scene((GREEN, THING))])
    other.observe(Batch.of(images, [["red"], ["green"]]))
    assert torch.equal(other.region_scores(images).whole, learner.scores(images)), "it learns the same"
    assert torch.equal(other.scores(images), other.region_scores(images).joined)
