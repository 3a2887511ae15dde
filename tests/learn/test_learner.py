"""What is true of the learner itself; tests/learn/test_method_battery.py has what is true of every method."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from PIL import Image
from transformers import ResNetConfig, ResNetModel

from cuter.backbone import Backbone
from cuter.cut import Localiser
from cuter.errors import BatchError, CheckpointError, ConfigError, CuterError, DataError, UnknownNameError
from cuter.learn.learner import Learner
from cuter.learn.recipe import METHODS
from cuter.learn.settings import LearnerSettings
from cuter.stream.batch import Batch
from cuter.stream.resize import resize


def batch(count: int, names: list[str], seed: int = 0, size: int = 32) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    images = torch.randint(256, (count, 3, size, size), dtype=torch.uint8, generator=generator)
    labels = [[names[int(torch.randint(len(names), (), generator=generator))]] for _ in range(count)]
    return Batch.of(images, labels, known=names, ids=[f"{seed}-{i}" for i in range(count)])


def learner(backbone: Backbone, method: str = "rs", **settings: object) -> Learner:
    return Learner.create(
        method, backbone=backbone, device="cpu", **({"memory.images": 8, "replay.size": 3} | settings)
    )


def weights(one: Learner) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in one.model.parameters()])


def test_save_and_load_goes_on_exactly_with_batch_normalisation(tmp_path: Path) -> None:
    """A CNN's running statistics depend on the mode it is in: it must be the same before and after."""
    config = ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", downsample_in_first_stage=False
    )
    ResNetModel(config).save_pretrained(tmp_path / "resnet")
    one = Learner.create(
        backbone=tmp_path / "resnet", device="cpu", augment="flip", memory={"images": 2}, replay={"size": 2}
    )
    one.observe(batch(3, ["cat", "dog"]))
    one.save(tmp_path / "saved")
    two = Learner.load(tmp_path / "saved", device="cpu")
    for both in (one, two):
        both.observe(batch(3, ["dog", "car"], 1))
    states = [both.model.state_dict() for both in (one, two)]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_goes_on_exactly_with_all_that_can_be_drawn(
    tiny: Backbone, copied: Callable[[Learner], Learner]
) -> None:
    """The paper's augmentation has state of its own, and memory may hold files."""
    one = learner(tiny, "cuter-frozen", augment="paper", memory={"kind": "gradient", "codec": "jpeg"})
    one.observe(batch(3, ["cat", "dog"]))
    two = copied(one)
    for number in (1, 2):
        for both in (one, two):
            both.observe(batch(3, ["dog", "car"], number))
    assert torch.equal(weights(one), weights(two))
    assert torch.equal(one.generator.get_state(), two.generator.get_state())
    parts = [
        (some.memory.generator, some.keeper.model, some.draw.memory, some.localise.localiser) for some in (one, two)
    ]
    assert parts[1] == (two.generator, two.model, two.memory, two.localiser), "the copy is made of its own parts"
    assert all(first is not second for first, second in zip(*parts, strict=True))


def test_nothing_to_replay_is_not_looked_at(tiny: Backbone) -> None:
    one = learner(tiny, replay={"size": 0})
    looks: list[int] = []
    one.model.register_forward_hook(lambda *_: looks.append(1))
    for number in range(2):
        assert one.observe(batch(3, ["cat"], number)).replayed == 0
    assert len(looks) == 2


def test_joint_is_refused_outside_a_run(tiny: Backbone, tmp_path: Path) -> None:
    """It would be fine-tuning under another name. The learner of such a run can be built and loaded."""
    with pytest.raises(ConfigError, match=r"'joint' is a way of showing data .*'cuter run --method joint'.*'finetune'"):
        learner(tiny, "joint")
    one = Learner.from_settings(LearnerSettings(method="joint"), tiny, device="cpu")
    one.observe(batch(3, ["cat"]))
    one.save(tmp_path / "saved")
    assert Learner.load(tmp_path / "saved", device="cpu").settings.method == "joint"


def test_a_first_batch_without_any_label(tiny: Backbone) -> None:
    one = learner(tiny)
    assert one.observe(Batch.of(batch(2, ["cat"]).images, [[], []])).images == 2
    assert one.predict(batch(1, ["cat"]).images) == [{}]


@pytest.mark.parametrize("unknown", ["absent", "ignored"])
def test_what_replay_says_of_unknown_classes(tiny: Backbone, unknown: str) -> None:
    """'absent': a replayed cat says that it is no dog. 'ignored': it says nothing of dogs. The stream never does."""
    one = learner(tiny, replay={"unknown": unknown})
    one.observe(batch(6, ["cat"]))
    seen = []
    one.criterion = lambda logits, labels, known: seen.append((labels, known)) or logits.sum()
    one.observe(batch(6, ["dog"], 1))
    (_, stream), (labels, replay) = seen
    assert stream.tolist() == [[False, True]] * 6
    assert labels.tolist() == [[True, False]] * 3
    assert replay.tolist() == [[True, unknown == "absent"]] * 3


def test_unknown_labels_move_nothing(tiny: Backbone) -> None:
    """A class that nobody looked for must not be pushed down by images of later tasks."""
    one = learner(tiny, augment="none", replay={"size": 0}, lr=1e-2, weight_decay=0.0)
    one.observe(batch(4, ["cat"]))
    before = one.model.head.weights[0].detach().clone()
    gradient_free = Batch.of(batch(4, ["dog"]).images, [["dog"]] * 4, known=["dog"])
    one.optimizer.state.clear()  # AdamW's momentum alone would go on moving the row
    one.observe(gradient_free)
    assert torch.equal(one.model.head.weights[0], before)


def test_what_classes_bring_and_what_they_share_learn_at_rates_of_their_own(tiny: Backbone) -> None:
    one = learner(tiny, "agcn", lr=1e-5, head={"lr": 1e-3})
    one.observe(batch(2, ["cat"]))
    one.observe(batch(2, ["dog"]))
    head = one.model.head
    rates = {id(parameter): group["lr"] for group in one.optimizer.param_groups for parameter in group["params"]}
    assert {rates[id(parameter)] for parameter in one.backbone.parameters()} == {1e-5}
    assert {rates[id(parameter)] for parameter in head.embeddings} == {1e-3}
    assert {rates[id(parameter)] for parameter in (head.first, head.second)} == {1e-4}
    assert len(rates) == len(list(one.model.parameters())), "every parameter is in one group"


def test_replay_weighs_what_it_is_set_to(tiny: Backbone) -> None:
    losses = []
    for weight in (0.0, 1.0, 3.0):
        one = learner(copy.deepcopy(tiny), replay={"weight": weight}, seed=4)
        one.observe(batch(4, ["a"], seed=1))
        losses.append(one.observe(batch(4, ["b"], seed=2)).loss)
    assert losses[1] > losses[0]
    assert losses[2] - losses[0] == pytest.approx(3 * (losses[1] - losses[0]), rel=1e-4)


def test_replay_holds_back_forgetting(tiny: Backbone) -> None:
    """Loss on the first task after learning the second: lower with memory than without."""
    state = {name: value.clone() for name, value in tiny.state_dict().items()}
    generator = torch.Generator().manual_seed(0)

    def task(first: str, second: str, low: int, number: int) -> Batch:
        left = torch.randint(low, low + 80, (8, 3, 32, 32), dtype=torch.uint8, generator=generator)
        left[:4, 0] = 255
        return Batch.of(left, [[first]] * 4 + [[second]] * 4, ids=[f"{first} {number} {i}" for i in range(8)])

    old = [task("a", "b", 0, n) for n in range(20)]
    new = [task("d", "c", 120, n) for n in range(40)]
    loss = []
    for replay in (0, 8):
        tiny.load_state_dict(state)
        one = learner(tiny, augment="none", memory={"images": 50}, replay={"size": replay}, lr=1e-3)
        for item in old + new:
            one.observe(item)
        with torch.no_grad():
            view = one.model(old[0].images)
        loss.append(float(one.criterion(view.logits[:, :2], old[0].labels, old[0].known)))
    assert loss[1] < loss[0]


def test_cut_finds_what_a_localiser_would_and_changes_nothing(tiny: Backbone) -> None:
    one = learner(tiny, lr=1e-2)
    one.observe(batch(3, ["cat"]))
    images = torch.full((2, 3, 64, 48), 20, dtype=torch.uint8)
    images[:, :, 32:, 24:] = 200
    before, generator = weights(one), one.generator.get_state()
    regions = one.cut(images, max_regions=1)
    assert regions.grid == (4, 4), "of the size that the backbone takes"
    expected = Localiser(copy.deepcopy(tiny)).cut(resize(images, 32), max_regions=1)
    assert torch.equal(regions.boxes, expected.boxes)
    assert torch.equal(weights(one), before)
    assert torch.equal(one.generator.get_state(), generator)
    assert one.model.training
    with pytest.raises(BatchError, match="uint8"):
        one.cut(images.float())


def test_predict_takes_files_bytes_and_images(tiny: Backbone, tmp_path: Path) -> None:
    one = learner(tiny)
    one.observe(batch(3, ["cat"]))
    path = tmp_path / "image.png"
    Image.new("L", (50, 20), 130).save(path)
    rows = one.predict(one for one in [path, str(path), path.read_bytes(), Image.open(path)])
    assert rows[0] == rows[1] == rows[2] == rows[3]
    assert 0 <= rows[0]["cat"] <= 1
    with pytest.raises(DataError, match=r"gone\.png"):
        one.predict([tmp_path / "gone.png"])


def test_predict_does_not_depend_on_the_batch_size(tiny: Backbone) -> None:
    one = learner(tiny)
    one.observe(batch(3, ["cat", "dog"]))
    images = batch(7, ["x"], size=40).images
    torch.testing.assert_close(one.scores(images, batch_size=2), one.scores(images, batch_size=7))
    assert one.model.training, "predicting must not leave the model in another mode"


def test_a_loaded_backbone_is_trained_not_only_evaluated(backbone_folder: Path) -> None:
    one = Learner.create(backbone=str(backbone_folder), device="cpu")
    assert all(module.training for module in one.model.modules())


def test_wrong_input_changes_nothing(tiny: Backbone) -> None:
    one = learner(tiny)
    one.observe(batch(3, ["cat"]))
    before, generator = weights(one), one.generator.get_state()
    with pytest.raises(BatchError):
        one.observe(Batch.of(torch.zeros(1, 3, 8, 8), [["cat"]]))
    with pytest.raises(BatchError, match="uint8"):
        one.predict(torch.zeros(1, 3, 8, 8))
    with pytest.raises(BatchError, match="0×5 pixels"):
        one.observe(Batch.of(torch.zeros(1, 3, 0, 5, dtype=torch.uint8), [["dog"]]))
    for single in ("photo.jpg", Path("photo.jpg"), Image.new("RGB", (9, 9)), b"bytes"):
        with pytest.raises(BatchError, match="takes a list"):
            one.predict(single)  # type: ignore[arg-type]
    with pytest.raises(BatchError, match="observe takes a Batch"):
        one.observe((batch(1, ["cat"]).images, [["cat"]]))  # type: ignore[arg-type]
    with pytest.raises(DataError, match="ndarray: cannot read the image: an image is given as a path"):
        one.predict([batch(1, ["cat"]).images[0].numpy()])  # type: ignore[list-item]
    with pytest.raises(BatchError, match="batch_size must be at least 1"):
        one.predict(batch(1, ["cat"]).images, batch_size=0)
    with pytest.raises(BatchError, match="non-empty string"):
        one.observe(Batch.of(torch.zeros(1, 3, 8, 8, dtype=torch.uint8), [[" "]]))
    assert torch.equal(weights(one), before)
    assert torch.equal(one.generator.get_state(), generator)
    assert one.labels.names == ("cat",)


def test_scores_that_are_not_finite_are_told_alike_by_all_methods(tiny: Backbone) -> None:
    for method in ("rs", "cuter"):
        one = learner(tiny, method)
        one.observe(batch(3, ["cat"]))
        with torch.no_grad():
            one.model.head.biases[0].fill_(float("nan"))
        with pytest.raises(CuterError, match="scores are not finite at step 1: no weight was changed"):
            one.observe(batch(3, ["cat"]))


def test_a_loss_that_is_not_finite_stops_before_the_weights_are_spoilt(tiny: Backbone) -> None:
    one = learner(tiny)
    one.observe(batch(3, ["cat"]))
    one.criterion = lambda logits, labels, known: logits.sum() * float("nan")
    before = torch.cat([parameter.detach().flatten() for parameter in one.backbone.parameters()])
    with pytest.raises(CuterError, match="loss is nan at step 1"):
        one.observe(batch(3, ["cat"]))
    assert torch.equal(torch.cat([parameter.detach().flatten() for parameter in one.backbone.parameters()]), before)
    assert one.steps == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"replay": {"sise": 3}}, "unknown setting replay.sise of the replay 'uniform'. Did you mean 'size'?"),
        ({"lr": -1}, "lr: Input should be greater than 0, not -1"),
        ({"augment": 3}, "augment: the augmentation by name, or as a mapping with 'kind', not 3. Names: flip, none"),
    ],
)
def test_wrong_settings_are_told(tiny: Backbone, settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        learner(tiny, **settings)
    assert message in str(error.value)


def test_unknown_parts_are_told(tiny: Backbone) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown method 'rss'\. Did you mean 'rs'\?"):
        learner(tiny, "rss")
    with pytest.raises(UnknownNameError, match=r"unknown memory policy 'reservior'\. Did you mean 'reservoir'\?"):
        learner(tiny, memory="reservior")
    with pytest.raises(UnknownNameError, match=r"unknown augmentation 'all'\. Accepted: flip, none, paper"):
        learner(tiny, augment="all")
    with pytest.raises(ConfigError, match=r"device 'tpu' is not available here\. Accepted: auto, cpu"):
        Learner.create(backbone=tiny, device="tpu")


def test_features_are_those_that_suit_the_cut_unless_told_otherwise(tiny: Backbone) -> None:
    assert learner(tiny).backbone.features == "values@1"
    assert learner(tiny, features="tokens").backbone.features == "tokens"


def test_a_learner_of_another_format_is_refused(tiny: Backbone) -> None:
    with pytest.raises(CheckpointError, match="saved in format 0, but this version reads the formats 3 and 4"):
        Learner.from_state(learner(tiny).state_dict() | {"format": 0})


def test_a_damaged_learner_is_refused(tiny: Backbone, tmp_path: Path) -> None:
    one = learner(tiny)
    one.observe(batch(3, ["cat"]))
    one.save(tmp_path / "saved")
    file = tmp_path / "saved" / "learner.safetensors"
    damaged = bytearray(file.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    file.write_bytes(damaged)
    with pytest.raises(CheckpointError, match=r"learner\.safetensors is damaged"):
        Learner.load(tmp_path / "saved")
    with pytest.raises(CheckpointError, match="no such folder"):
        Learner.load(tmp_path / "nothing")


@pytest.mark.parametrize("method", [name for name in METHODS if "regulariser" in METHODS[name].choices])
def test_it_learns_beside_a_regulariser(tiny: Backbone, method: str) -> None:
    """Dark images are 'night', bright ones 'day': after some steps the scores must say so."""
    one = learner(tiny, method, augment="none", lr=1e-3)
    generator = torch.Generator().manual_seed(0)
    dark = torch.randint(0, 60, (6, 3, 32, 32), dtype=torch.uint8, generator=generator)
    bright = torch.randint(190, 256, (6, 3, 32, 32), dtype=torch.uint8, generator=generator)
    for _ in range(20):
        one.observe(Batch.of(torch.cat([dark, bright]), [["night"]] * 6 + [["day"]] * 6))
    night, day = one.predict(torch.stack([dark[0], bright[0]]))
    assert night["night"] > night["day"]
    assert day["day"] > day["night"]


def test_a_learner_that_moves_goes_on_exactly_where_it_was(tiny: Backbone) -> None:
    one, other = learner(copy.deepcopy(tiny)), learner(copy.deepcopy(tiny))
    for each in (one, other):
        each.observe(batch(3, ["cat"]))
    assert one.to("cpu") is one
    assert one.observe(batch(3, ["dog"])).loss == other.observe(batch(3, ["dog"])).loss
    assert torch.equal(weights(one), weights(other))


def test_a_learner_says_what_it_is(tiny: Backbone) -> None:
    one = learner(tiny)
    one.observe(batch(3, ["cat"]))
    assert repr(one).startswith("Learner(method='rs', backbone=")
    assert "classes=1, steps=1, memory='reservoir' with 3 items" in repr(one)
