"""The cut-out keeper with a model that can be seen through: the brighter red, green or blue, the higher its logit."""

from collections import Counter
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cuter.backbone import Backbone, untrained_vit
from cuter.backbone.families import build, make_config
from cuter.backbone.preprocessing import Preprocessing
from cuter.cut import CutSettings, Localiser
from cuter.errors import ConfigError
from cuter.learn.keepers import RequiredVectors
from cuter.learn.keepers.cut_outs import NO_PLACE, NO_REGION, OUTCOMES, WHOLE_IMAGE, Boxes, CutOuts, Patches
from cuter.learn.keepers.selection import KEPT, OTHER_LABEL, relative_to_image
from cuter.learn.learner import Learner
from cuter.learn.losses import asymmetric_loss
from cuter.learn.model import Model, View
from cuter.learn.settings import LearnerSettings
from cuter.memory import Item
from cuter.stream.batch import Batch

NAMES = ["red", "green", "blue"]
NOTHING_WANTED = RequiredVectors(frozenset(), asymmetric_loss)
COLOURS = torch.eye(3, dtype=torch.uint8) * 255


class SeesColours(Model):
    """Scores an image by its mean colours, and counts how often it is asked."""

    def __init__(self) -> None:
        nn.Module.__init__(self)
        self.calls: list[int] = []

    def forward(self, images: Tensor, visible: Tensor | None = None) -> View:
        assert not self.training
        assert not torch.is_grad_enabled()
        self.calls.append(len(images))
        seen = torch.ones(len(images), 1, 1, dtype=torch.bool) if visible is None else visible
        weights = F.interpolate(seen[:, None].float(), images.shape[2:])
        means = (images * weights).sum(dim=(2, 3)) / weights.sum(dim=(2, 3)) / 255
        return View(8 * means - 4, means, means[:, None], (1, 1))


def scene(*things: tuple[str, tuple[int, int, int, int]], size: int = 32) -> Tensor:
    image = torch.zeros(3, size, size, dtype=torch.uint8)
    for name, (x1, y1, x2, y2) in things:
        image[:, y1:y2, x1:x2] = COLOURS[NAMES.index(name)].view(3, 1, 1)
    return image


def view_of(batch: Batch, boxes: list[list[tuple[int, int, int, int]]]) -> View:
    means = batch.images.float().mean(dim=(2, 3)) / 255
    return View(8 * means - 4, means, means[:, None], (1, 1), boxes=torch.tensor(boxes))


NOTHING = (0, 0, 0, 0)
OTHER_CUT = CutSettings("tokens", tau=0.6, centre=True)
THING = (3, 5, 12, 9)  # neither square nor in the middle, so that a mirrored or transposed box shows


def test_a_cut_out_is_kept_with_its_true_pixels_label_and_place() -> None:
    batch = Batch.of(torch.stack([scene(("green", THING))]), [["green"]], known=NAMES, ids=["photo"])
    model = SeesColours().train()
    kept = CutOuts(model, Boxes(), relative_to_image, NOTHING_WANTED)(batch, view_of(batch, [[THING, NOTHING]]))
    (item,) = kept.items
    assert item.image.shape == (3, 4, 9)
    assert (item.image == COLOURS[1].view(3, 1, 1)).all()
    assert item.labels.tolist() == [False, True, False]
    assert item.known.tolist() == [True, True, True]
    assert (item.id, item.box) == ("photo", THING)
    assert +kept.selection == Counter({KEPT: 1, NO_REGION: 1})
    assert set(kept.selection) == set(OUTCOMES), "all outcomes are told, also those that did not come"
    assert model.training, "the model is given back in the mode it was in"


def test_all_cut_outs_of_a_batch_are_seen_in_one_forward() -> None:
    images = torch.stack([scene(("red", THING), ("blue", (20, 20, 30, 25)))] * 4)
    batch = Batch.of(images, [["red", "blue"]] * 4, known=NAMES)
    model = SeesColours()
    kept = CutOuts(model, Boxes(), relative_to_image, NOTHING_WANTED)(
        batch, view_of(batch, [[THING, (20, 20, 30, 25)]] * 4)
    )
    assert model.calls == [8]
    assert [item.labels.nonzero().item() for item in kept.items] == [0, 2] * 4
    assert [item.id for item in kept.items] == ["0", "0", "1", "1", "2", "2", "3", "3"]


def test_a_set_of_patches_is_kept_with_its_pixels_and_places() -> None:
    """The green thing is not a box, and the red one is within the box around it."""
    mask = torch.zeros(8, 8, dtype=torch.bool)
    mask[1:3, 2:4] = mask[2, 4:6] = True  # patches of 4 × 4 pixels
    red = (20, 4, 24, 8)
    things = [("green", (8, 4, 16, 12)), ("green", (16, 8, 24, 12)), ("red", red)]
    batch = Batch.of(torch.stack([scene(*things)]), [["green"]], known=NAMES, ids=["photo"])
    view = replace(view_of(batch, [[NOTHING, NOTHING]]), masks=torch.stack([torch.zeros_like(mask), mask])[None])
    kept = CutOuts(SeesColours(), Patches(), relative_to_image, NOTHING_WANTED)(batch, view)
    (item,) = kept.items
    assert item.pixels == 6 * 4 * 4, "red is not paid for, and neither is what is empty"
    assert (item.image == COLOURS[1].view(3, 1, 1)).all()
    assert item.mask is not None
    assert torch.equal(item.mask, mask)
    assert item.box == (8, 4, 24, 12)
    assert item.picture.shape == (3, 8, 16)
    assert item.labels.tolist() == [False, True, False]
    assert +kept.selection == Counter({KEPT: 1, NO_REGION: 1})


def test_a_rim_grows_a_region_by_as_many_patches_and_nothing_else() -> None:
    """Also at the border of the image; a round that found nothing stays empty."""
    mask = torch.zeros(1, 2, 8, 8, dtype=torch.bool)
    mask[0, 1, 0, 4] = True
    grown = torch.zeros(8, 8, dtype=torch.bool)
    grown[:2, 3:6] = True
    batch = Batch.of(torch.stack([scene()]), [["green"]], known=NAMES)
    view = replace(view_of(batch, [[NOTHING, NOTHING]]), masks=mask)
    ((index, found),) = Patches(rim=1).found(view)
    assert index == 0
    assert torch.equal(found, grown)
    ((_, found),) = Patches(rim=0).found(view)
    assert torch.equal(found, mask[0, 1])


def test_a_region_of_something_else_is_refused() -> None:
    batch = Batch.of(torch.stack([scene(("green", THING))]), [["red"]], known=NAMES)
    kept = CutOuts(SeesColours(), Boxes(), relative_to_image, NOTHING_WANTED)(batch, view_of(batch, [[THING]]))
    assert kept.items == []
    assert +kept.selection == Counter({OTHER_LABEL: 1})


def test_images_are_told_apart_also_if_their_names_are_not() -> None:
    batch = Batch.of(torch.stack([scene(("red", THING)), scene()]), [["red"]] * 2, known=NAMES, ids=["same", "same"])
    keeper = CutOuts(
        SeesColours(),
        Boxes(),
        relative_to_image,
        NOTHING_WANTED,
        lacks=lambda classes: torch.tensor([True, False, False]),
    )
    assert [item.box for item in keeper(batch, view_of(batch, [[THING], [NOTHING]])).items] == [THING, None]


def test_nothing_found_costs_no_forward() -> None:
    batch = Batch.of(torch.stack([scene()] * 3), [["red"]] * 3)
    model = SeesColours()
    kept = CutOuts(model, Boxes(), relative_to_image, NOTHING_WANTED)(batch, view_of(batch, [[NOTHING, NOTHING]] * 3))
    assert kept.items == []
    assert +kept.selection == Counter({NO_REGION: 6})
    assert model.calls == []


def test_nothing_is_looked_at_for_which_memory_has_no_place() -> None:
    images = torch.stack([scene(("red", THING)), scene(("green", THING)), scene(("blue", THING))])
    batch = Batch.of(images, [["red"], ["green"], ["blue", "green"]], known=NAMES)
    invited = torch.tensor([[False] * 3, [False, True, False], [False, True, False]])
    model = SeesColours()
    keeper = CutOuts(model, Boxes(), relative_to_image, NOTHING_WANTED, invites=lambda labels: labels & invited)
    kept = keeper(batch, view_of(batch, [[THING]] * 3))
    assert model.calls == [2]
    assert [item.id for item in kept.items] == ["1"]
    assert kept.invited
    assert +kept.selection == Counter({KEPT: 1, NO_PLACE: 2}), "red was not looked at, blue was, for green"


def test_a_region_of_an_image_without_labels_is_refused_for_that() -> None:
    batch = Batch.of(torch.stack([scene(("red", THING))]), [[]], known=NAMES)
    model = SeesColours()
    kept = CutOuts(model, Boxes(), relative_to_image, NOTHING_WANTED)(batch, view_of(batch, [[THING]]))
    assert +kept.selection == Counter({OTHER_LABEL: 1}), "memory has a place"
    assert model.calls == [], "no label could be found in it"


def test_whole_images_stand_in_for_classes_that_starve() -> None:
    images = torch.stack([scene(("red", THING)), scene(), scene(), scene()])
    batch = Batch.of(images, [["red"], ["red"], ["green"], []], known=NAMES)
    keeper = CutOuts(
        SeesColours(),
        Boxes(),
        relative_to_image,
        NOTHING_WANTED,
        lacks=lambda classes: torch.tensor([True, False, False]),
    )
    kept = keeper(batch, view_of(batch, [[THING], [NOTHING], [NOTHING], [NOTHING]]))
    assert [(item.id, item.box) for item in kept.items] == [("0", THING), ("1", None)]
    assert torch.equal(kept.items[1].image, images[1])
    assert +kept.selection == Counter({KEPT: 1, NO_REGION: 3, WHOLE_IMAGE: 1})


@pytest.fixture
def gazing() -> Backbone:
    return untrained_vit(image_size=64, patch_size=8, dim=32, depth=2, heads=2)


@pytest.mark.parametrize("localiser", ["learner", "pretrained"])
@pytest.mark.parametrize("augment", ["none", "flip", "paper"])
def test_cut_outs_lie_where_they_say_whatever_the_augmentation(gazing: Backbone, localiser: str, augment: str) -> None:
    """Every offered cut-out is the part of its image, as it came, that its box names."""
    one = Learner.create(
        "cuter-boxes",
        backbone=gazing,
        device="cpu",
        localiser=localiser,
        augment=augment,
        keeper={"fallback": "none"},
        replay={"size": 2},
    )
    offered: list[Item] = []
    one.memory.offer = lambda items, **_: offered.extend(items)  # type: ignore[method-assign]
    generator = torch.Generator().manual_seed(0)
    for _ in range(6):
        images = torch.randint(0, 90, (6, 3, 64, 64), dtype=torch.uint8, generator=generator)
        images[:, :, 8:32, 40:56] += 150
        before = len(offered)
        step = one.observe(Batch.of(images, [["thing"]] * 6, ids=[str(i) for i in range(6)]))
        assert sum(step.selection.values()) == 12, "two regions an image, each with an outcome"
        assert step.selection.get(KEPT, 0) == len(offered) - before
        for item in offered[before:]:
            assert item.box is not None
            x1, y1, x2, y2 = item.box
            assert torch.equal(item.image, images[int(item.id), :, y1:y2, x1:x2])
    assert offered


def test_a_frozen_localiser_does_not_learn_and_is_saved(gazing: Backbone, tmp_path) -> None:
    one = Learner.create("cuter-frozen", backbone=gazing, device="cpu", lr=1e-2)
    before = {name: value.clone() for name, value in one.localiser.backbone.state_dict().items()}
    images = torch.randint(0, 255, (4, 3, 64, 64), dtype=torch.uint8)
    one.observe(Batch.of(images, [["thing"]] * 4))
    one.save(tmp_path / "saved")
    again = Learner.load(tmp_path / "saved", device="cpu")
    for localiser in (one.localiser, again.localiser):
        assert all(torch.equal(value, before[name]) for name, value in localiser.backbone.state_dict().items())
    learned = one.backbone.state_dict()
    assert any(not torch.equal(value, before[name]) for name, value in learned.items())
    for both in (one, again):
        both.observe(Batch.of(images.flip(0), [["thing"]] * 4))
    assert all(torch.equal(a, b) for a, b in zip(one.model.parameters(), again.model.parameters(), strict=True))


def test_the_settings_of_a_frozen_localiser_are_saved(gazing: Backbone) -> None:
    localiser = Localiser(untrained_vit(image_size=64, patch_size=8, dim=32, depth=2, heads=2), OTHER_CUT)
    one = Learner(LearnerSettings(method="cuter-frozen"), gazing, "cpu", localiser)
    again = Learner.from_state(one.state_dict(), "cpu")
    assert again.localiser.settings == OTHER_CUT
    assert again.localiser.backbone.features == "tokens"


def test_a_copy_of_the_learner_cuts_the_features_that_are_asked_for(gazing: Backbone) -> None:
    one = Learner.create("cuter-frozen", backbone=gazing, device="cpu", features="tokens")
    assert one.localiser.backbone.features == "tokens"


def test_a_missing_localiser_is_told(gazing: Backbone) -> None:
    with pytest.raises(ConfigError, match="localiser 'pretrained'"):
        Learner(LearnerSettings(method="cuter-frozen"), gazing, "cpu")


def test_cut_energy_needs_a_localiser_with_the_same_grid(gazing: Backbone, backbone_folder) -> None:
    with pytest.raises(ConfigError, match=r"8×8 patches, but the localiser .* has 4×4"):
        Learner.create(
            "cuter+cut-energy",
            backbone=gazing,
            device="cpu",
            localiser={"kind": "backbone", "name": str(backbone_folder)},
        )


def test_a_localiser_with_another_image_size(gazing: Backbone, backbone_folder) -> None:
    one = Learner.create(
        "cuter",
        backbone=gazing,
        device="cpu",
        localiser={"kind": "backbone", "name": str(backbone_folder)},
        keeper={"fallback": "none"},
    )
    assert one.localiser.backbone.image_size == 32
    images = torch.randint(0, 255, (4, 3, 64, 64), dtype=torch.uint8)
    assert sum(one.observe(Batch.of(images, [["thing"]] * 4)).selection.values()) == 8


def test_patches_of_a_learner_go_through_memory_and_replay() -> None:
    learner = Learner.create(
        "cuter",
        backbone=untrained_vit(),
        keeper={"shape": "patches"},
        memory={"images": 8},
        head={"lr": 0.1},
        device="cpu",
        lr=1e-3,
    )
    generator = torch.Generator().manual_seed(0)
    size = learner.backbone.image_size
    half, middle = size // 2, slice(size // 4, 3 * size // 4)
    for _ in range(12):
        images = torch.randint(0, 64, (4, 3, size, size), dtype=torch.uint8, generator=generator)
        images[:2, 0, :half, middle], images[2:, 2, half:, middle] = 255, 255
        step = learner.observe(Batch.of(images, [["red"]] * 2 + [["blue"]] * 2))
    parts = [item for item in learner.memory.items if item.mask is not None]
    assert parts, "some cut-outs were kept"
    assert step.replayed
    patch = learner.backbone.patch_size
    for item in parts:
        assert item.mask is not None
        assert item.pixels == int(item.mask.sum()) * patch**2
    assert learner.memory.pixels == sum(item.pixels for item in learner.memory.items) <= learner.memory.budget


def test_a_cnn_has_no_patches_to_cut_out() -> None:
    config = {"model_type": "resnet", "embedding_size": 8, "hidden_sizes": [16, 32], "depths": [1, 1]}
    backbone = Backbone(build(make_config(config, "test")), Preprocessing(32), name="tiny resnet")
    with pytest.raises(ConfigError, match=r"is a CNN.*keeper\.shape"):
        Learner.create("cuter", backbone=backbone, keeper={"shape": "patches"})
