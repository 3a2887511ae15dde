"""One battery for every method: a new one is covered the moment its file exists."""

import copy
import json
import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

from cuter.backbone import Backbone, untrained_vit
from cuter.learn.learner import Learner
from cuter.learn.recipe import METHODS
from cuter.measure.metrics import multilabel_scores
from cuter.stream.batch import Batch

LEARNERS = [name for name in METHODS if name != "joint"]  # which is a way of showing data to the learner of finetune
methods = pytest.mark.parametrize("method", LEARNERS)
plain = [name for name in LEARNERS if "regulariser" not in METHODS[name].choices]
plain_methods = pytest.mark.parametrize("method", plain)

SETTINGS: dict[str, Any] = {"memory.images": 8, "replay.size": 3, "augment": "none"}
OFTEN = {"replay.steps": 2}  # where a method looks for confused classes, within the few steps of a test


@pytest.fixture
def tiny() -> Backbone:
    """As small as it can be: only what a method adds is tested here."""
    return untrained_vit(image_size=32, patch_size=8, dim=16, depth=1, heads=2)


def batch(count: int, names: list[str], seed: int = 0, size: int = 32) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    images = torch.randint(256, (count, 3, size, size), dtype=torch.uint8, generator=generator)
    drawn = torch.randint(len(names), (count, 2), generator=generator).tolist()
    labels = [[names[column] for column in sorted(set(columns))] for columns in drawn]  # one label, or two
    return Batch.of(images, labels, known=names, ids=[f"{seed}-{i}" for i in range(count)])


def learner(backbone: Backbone, method: str, **settings: Any) -> Learner:
    often = OFTEN if METHODS[method].choices.get("replay_draw") == "confused" else {}
    return Learner.create(method, backbone=backbone, device="cpu", **(SETTINGS | often | settings))


def weights(one: Learner) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in one.model.parameters()])


def three_tasks(one: Learner) -> None:
    """Two steps of each task, so that a teacher has taken over twice and has spoken."""
    for number, names in enumerate([["cat", "dog"]] * 2 + [["car", "bus"]] * 2 + [["tree"]] * 2):
        one.observe(batch(4, names, number))


@plain_methods  # those with a regulariser, at the rates that its weight suits: tests/learn/test_learner.py
def test_it_learns_what_it_is_shown(tiny: Backbone, method: str) -> None:
    """Dark images are 'night', bright ones 'day': the loss falls, and after some steps the scores say so."""
    one = learner(tiny, method, lr=3e-3, head={"lr": 1e-2})
    generator = torch.Generator().manual_seed(0)
    dark = torch.randint(0, 60, (4, 3, 32, 32), dtype=torch.uint8, generator=generator)
    bright = torch.randint(190, 256, (4, 3, 32, 32), dtype=torch.uint8, generator=generator)
    shown = Batch.of(torch.cat([dark, bright]), [["night"]] * 4 + [["day"]] * 4)
    losses = [one.observe(shown).loss for _ in range(15)]
    assert sum(losses[-3:]) < sum(losses[1:4]), "after the first step, which has nothing to replay"
    night, day = one.predict(torch.stack([dark[0], bright[0]]))
    assert night["night"] > night["day"]
    assert day["day"] > day["night"]


@methods
def test_two_tasks_of_two_colours(tiny: Backbone, method: str) -> None:
    """End to end: eight images of two colours, then of two others. The scores rank all four far better than chance."""
    one = learner(tiny, method, memory={"images": 16}, head={"lr": 1e-2}, lr=1e-3)
    generator = torch.Generator().manual_seed(1)
    colours = torch.tensor([[230, 30, 30], [30, 230, 30], [30, 30, 230], [230, 230, 30]])
    names = ["red", "green", "blue", "yellow"]
    truth = torch.tensor([0, 1, 1, 0, 0, 1, 0, 1, 2, 3, 3, 2, 2, 3, 2, 3])
    noise = torch.randint(-25, 25, (16, 3, 32, 32), generator=generator)
    images = (colours[truth][:, :, None, None] + noise).to(torch.uint8)
    for task in range(2):
        part = slice(8 * task, 8 * task + 8)
        labels = [[names[column]] for column in truth[part].tolist()]
        for turn in range(5):
            ids = [f"{task} {turn} {n}" for n in range(8)]
            step = one.observe(Batch.of(images[part], labels, known=names[2 * task : 2 * task + 2], ids=ids))
            assert step.images == 8
    assert one.steps == 10
    assert one.labels.names == tuple(names)
    found = multilabel_scores(one.probabilities(images), torch.nn.functional.one_hot(truth, 4).bool())
    assert found["map"] > 60, "chance is about 25"


@methods
def test_a_growing_label_space(tiny: Backbone, method: str) -> None:
    one = learner(tiny, method)
    one.observe(batch(4, ["cat", "dog"]))
    one.observe(batch(4, ["car", "cat"], seed=1))
    assert one.labels.names == ("cat", "dog", "car")
    held = len(one.memory)
    step = one.observe(batch(4, ["bus"], seed=2))
    assert step.replayed == min(3, held)
    assert one.model.head.blocks == [2, 1, 1]
    assert [list(row) for row in one.predict(batch(2, ["x"]).images)] == [["cat", "dog", "car", "bus"]] * 2


@methods
@pytest.mark.parametrize("count", [0, 1])
def test_empty_and_one_image_batches(tiny: Backbone, method: str, count: int) -> None:
    one = learner(tiny, method)
    step = one.observe(batch(count, ["cat"]))
    assert step.images == one.steps == count
    if one.settings.keeper.kind == "whole-images":
        assert len(one.memory) == count
    if count:
        assert one.predict(batch(count, ["cat"]).images)[0]["cat"] > 0.5, "one step from undecided towards its label"
        one.observe(batch(1, ["dog"], 1))
        one.observe(batch(1, ["dog"], 2))
        assert one.steps == 3
    before = weights(one).clone()
    assert one.observe(batch(0, ["never seen"])).images == 0
    assert torch.equal(weights(one), before)
    assert "never seen" not in one.labels
    assert one.predict(batch(0, ["cat"]).images) == []


@methods
def test_images_of_which_nothing_is_known(tiny: Backbone, method: str) -> None:
    """All labels unknown, first, in the middle, and with classes that somebody knows of but did not look for."""
    one = learner(tiny, method)
    images = batch(3, ["cat"]).images
    assert one.observe(Batch.of(images, [[]] * 3)).images == 3
    assert one.predict(images) == [{}] * 3
    unknown = torch.zeros(3, 1, dtype=torch.bool)
    for number, names in enumerate([["cat"], ["dog"]]):
        one.observe(batch(3, names, number))
        assert one.observe(Batch(images, unknown, unknown, ("cat",), ("a", "b", "c"))).images == 3
    assert one.observe(Batch.of(images, [[]] * 3)).images == 3
    assert weights(one).isfinite().all()
    assert one.probabilities(images).shape == (3, 2)


@methods
def test_a_class_that_never_appears(tiny: Backbone, method: str) -> None:
    """Somebody looks for ghosts in every image and finds none, also when later classes come."""
    one = learner(tiny, method)
    for number, names in enumerate([["cat"], ["dog"], ["dog"]]):
        some = batch(3, names, number)
        one.observe(Batch.of(some.images, [names] * 3, known=[*names, "ghost"], ids=some.ids))
    rows = one.predict(batch(4, ["x"], 9).images)
    assert all(0 <= row["ghost"] < 0.8 for row in rows), "it is not found where it never was"
    assert weights(one).isfinite().all()


@methods
def test_thousands_of_classes(tiny: Backbone, method: str) -> None:
    one = learner(tiny, method)
    most = 500 if one.settings.head.kind == "label-graph" else 3_000  # a graph has edges between all pairs
    names = [f"class {i}" for i in range(most)]
    shown = batch(2, names)
    one.observe(shown)
    one.observe(batch(2, names, seed=1))
    probabilities = one.probabilities(shown.images)
    assert probabilities.shape == (2, most)
    assert probabilities[shown.labels].mean() > probabilities[~shown.labels].mean(), "one step towards the labels"


@methods
def test_the_budget_of_memory_holds(tiny: Backbone, method: str) -> None:
    one = learner(tiny, method, memory={"images": 5})
    for seed in range(4):
        one.observe(batch(4, ["cat", "dog"], seed))
        assert one.memory.pixels <= 5 * 32 * 32
    if (
        one.settings.keeper.kind == "whole-images" or method == "cuter"
    ):  # others: as the model is certain of what they see
        assert one.memory.fill > 0.5


@methods
def test_a_memory_of_nothing(tiny: Backbone, method: str) -> None:
    one = Learner.create(method, backbone=tiny, device="cpu", memory={"images": 0}, replay={"size": 0})
    before = weights(one).clone()
    three_tasks(one)
    step = one.observe(batch(4, ["tree"], 9))
    assert (len(one.memory), step.replayed) == (0, 0)
    after = weights(one)
    assert after.isfinite().all()
    assert not torch.equal(after[: len(before)], before), "it learns from the stream alone"
    assert list(one.predict(batch(1, ["x"]).images)[0]) == ["cat", "dog", "car", "bus", "tree"]


@methods
def test_same_seed_same_learner(tiny: Backbone, method: str) -> None:
    """Whatever the caller's generator is, which stays as it was."""
    start = {name: value.clone() for name, value in tiny.state_dict().items()}
    results = []
    for callers in (1, 2):
        tiny.load_state_dict(start)
        torch.manual_seed(callers)
        expected = torch.rand(3)
        torch.manual_seed(callers)
        one = learner(tiny, method, seed=5, augment="flip")
        three_tasks(one)
        assert torch.equal(torch.rand(3), expected)
        results.append(weights(one).clone())
    assert torch.equal(results[0], results[1])


@methods
def test_another_seed_another_learner(tiny: Backbone, method: str) -> None:
    start = {name: value.clone() for name, value in tiny.state_dict().items()}
    results = []
    for seed in (0, 1):
        tiny.load_state_dict(start)
        one = learner(tiny, method, seed=seed, augment="flip")
        one.observe(batch(6, ["cat", "dog"]))
        results.append(weights(one).clone())
    assert not torch.equal(results[0], results[1])


@methods
def test_copies_go_on_exactly_and_on_their_own(tiny: Backbone, method: str, tmp_path: Path) -> None:
    """Copied, sent to a worker process, or saved over an older save and loaded, in the middle of a task.

    Copies have all that a teacher and a head have noted. None learns from what another is shown, and all become the
    same when they are shown the same.
    """
    one = learner(tiny, method, augment="flip")
    one.save(tmp_path / "saved")
    three_tasks(one)
    one.save(tmp_path / "saved")
    before = state_of(one)
    copies = [copy.deepcopy(one), pickle.loads(pickle.dumps(one)), Learner.load(tmp_path / "saved", device="cpu")]
    for made in copies:
        assert_same(state_of(made), before)

    def learn_on(some: Learner) -> dict[str, Any]:
        for number, names in enumerate([["tree", "cat"], ["boat"], ["boat"]]):
            some.observe(batch(3, names, 10 + number))
        return state_of(some)

    first = learn_on(copies[0])
    assert_same(state_of(one), before)
    for other in (*copies[1:], one):
        assert_same(learn_on(other), first)
    assert_same(state_of(copies[0]), first)
    assert one.predict(batch(2, ["x"]).images) == copies[2].predict(batch(2, ["x"]).images)


@methods
def test_a_teacher_costs_one_look_at_the_stream_batch_and_no_gradient(
    tiny: Backbone, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = learner(tiny, method)
    one.observe(batch(3, ["cat"]))
    one.observe(batch(4, ["dog"], 1))
    looks: Counter[str] = Counter()
    forward = type(one.backbone).forward

    def counting(self: Backbone, images: torch.Tensor, visible: torch.Tensor | None = None) -> Any:
        who = "own" if self is one.backbone else "earlier"
        if who == "earlier" and (one.localiser is None or self is not one.localiser.backbone):
            assert not torch.is_grad_enabled()
            looks[who] += len(images)
        return forward(self, images, visible)

    monkeypatch.setattr(type(one.backbone), "forward", counting)
    one.observe(batch(4, ["dog"], 2))
    assert looks["earlier"] == (0 if one.settings.teacher.kind == "none" else 4)
    assert one.teacher.earlier is None or not any(p.requires_grad for p in one.teacher.earlier.parameters())


def same(first: Any, second: Any) -> bool:
    if isinstance(first, torch.Tensor):
        return first.dtype == second.dtype and torch.equal(first, second)
    return json.dumps(first) == json.dumps(second)  # on disk a pair becomes a list


def state_of(one: Learner) -> dict[str, Any]:
    return copy.deepcopy(flat(one.state_dict()))


def assert_same(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert first.keys() == second.keys()
    for key, value in first.items():
        assert same(value, second[key]), key


def flat(state: Any, name: str = "") -> dict[str, Any]:
    if not isinstance(state, dict):
        return {name: state}
    return {key: value for part, child in state.items() for key, value in flat(child, f"{name}/{part}").items()}
