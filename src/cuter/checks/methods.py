"""Checks of methods, on learners that take seconds."""

from __future__ import annotations

import copy
import pickle
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from cuter.checks.battery import Check, difference, generator, require, run_checks
from cuter.checks.learners import SIZE, make_batch, make_learner, show_three_tasks, state, weights
from cuter.checks.teachers import require_one_look
from cuter.learn.learner import Learner
from cuter.measure.metrics import multilabel_scores
from cuter.stream.batch import Batch


def check_method(name: str, *, skip: Collection[str] = (), **settings: Any) -> None:
    """Check a method: what every learner promises, whatever its parts are.

    Args:
        name: Name under which the method is registered.
        skip: Names of checks that are left out.
        settings: Settings of the learner, where other values than the method's are to be checked.

    Raises:
        AssertionError: Something does not hold; the message says what.
        ConfigError: The method is a way of showing data, such as `joint`, which a learner alone cannot choose.

    Examples:
        >>> from cuter.checks import check_method
        >>> check_method("rs", lr=1e-5)
    """
    run_checks("method", name, METHOD_CHECKS, skip, settings)


def it_learns_what_it_is_shown(name: str, **settings: Any) -> None:
    """Dark images are 'night', bright ones 'day': the loss falls, and after some steps the scores say so.

    A regulariser needs learning rates that suit its weight, so methods with one are not tried.
    """
    learner = _quick(name, 3e-3, settings)
    if learner.settings.regulariser.kind != "none":
        return
    draws = generator()
    dark = torch.randint(0, 60, (4, 3, SIZE, SIZE), dtype=torch.uint8, generator=draws)
    bright = torch.randint(190, 256, (4, 3, SIZE, SIZE), dtype=torch.uint8, generator=draws)
    shown = Batch.of(torch.cat([dark, bright]), [["night"]] * 4 + [["day"]] * 4)
    losses = [learner.observe(shown).loss for _ in range(15)]
    falls = sum(losses[-3:]) < sum(losses[1:4])  # after the first step, which has nothing to replay
    require(falls, f"shown the same eight images 15 times, its loss goes from {losses[1]:.3f} to {losses[-1]:.3f}")
    night, day = learner.predict(torch.stack([dark[0], bright[0]]))
    right = night["night"] > night["day"] and day["day"] > day["night"]
    require(right, f"after 15 steps it takes dark for bright images: {night}, {day}")


def two_tasks_of_two_colours_are_learned(name: str, **settings: Any) -> None:
    """Eight images of two colours, then of two others: the scores rank all four far better than chance."""
    learner = _quick(name, 1e-3, {"memory.images": 16} | settings)
    colours = torch.tensor([[230, 30, 30], [30, 230, 30], [30, 30, 230], [230, 230, 30]])
    names = ["red", "green", "blue", "yellow"]
    truth = torch.tensor([0, 1, 1, 0, 0, 1, 0, 1, 2, 3, 3, 2, 2, 3, 2, 3])
    noise = torch.randint(-25, 25, (16, 3, SIZE, SIZE), generator=generator(1))
    images = (colours[truth][:, :, None, None] + noise).to(torch.uint8)
    for task in range(2):
        part = slice(8 * task, 8 * task + 8)
        labels = [[names[column]] for column in truth[part].tolist()]
        for turn in range(5):
            ids = [f"{task} {turn} {n}" for n in range(8)]
            step = learner.observe(Batch.of(images[part], labels, known=names[2 * task : 2 * task + 2], ids=ids))
            require(step.images == 8, f"a step of eight images counts {step.images}")
    require(learner.steps == 10, f"after ten batches it counts {learner.steps} steps")
    require(learner.labels.names == tuple(names), f"the classes of the stream are {learner.labels.names} to it")
    found = multilabel_scores(learner.scores(images), torch.nn.functional.one_hot(truth, 4).bool())["map"]
    require(bool(found and found > 60), f"two tasks of two colours end with a mAP of {found}; chance is about 25")


def classes_may_grow(name: str, **settings: Any) -> None:
    """By name; a column never changes its meaning."""
    learner = make_learner(name, **settings)
    learner.observe(make_batch(4, ["cat", "dog"]))
    learner.observe(make_batch(4, ["car", "cat"], seed=1))
    require(learner.labels.names == ("cat", "dog", "car"), f"cat, dog, then car are {learner.labels.names} to it")
    held = len(learner.memory)
    replayed = learner.observe(make_batch(4, ["bus"], seed=2)).replayed
    expected = min(learner.settings.replay.size, held)
    require(replayed == expected, f"of {held} items in memory {replayed} are replayed, not {expected}")
    require(learner.model.head.blocks == [2, 1, 1], f"its head has blocks of {learner.model.head.blocks} classes")
    for row in learner.predict(make_batch(2, ["x"]).images):
        require(list(row) == ["cat", "dog", "car", "bus"], f"it predicts {list(row)}")


def an_empty_batch_changes_nothing(name: str, **settings: Any) -> None:
    """First of all, and later; its classes are not taken up either."""
    learner = make_learner(name, **settings)
    for count in (0, 4):
        learner.observe(make_batch(count, ["cat"]))
        before = state(learner)
        step = learner.observe(make_batch(0, ["never seen"]))
        require(step.images == 0, f"an empty batch counts {step.images} images")
        changed = difference(before, state(learner))
        require(not changed, f"an empty batch changes the learner: {changed}")
        require("never seen" not in learner.labels, "an empty batch brings classes")
        require(learner.predict(make_batch(0, ["cat"]).images) == [], "no images have predictions")


def batches_may_be_of_one_image(name: str, **settings: Any) -> None:
    """One step leads from undecided towards the label."""
    learner = make_learner(name, **settings)
    shown = make_batch(1, ["cat"])
    learner.observe(shown)
    if learner.settings.keeper.kind == "whole-images" and learner.memory.budget:
        require(len(learner.memory) == 1, f"of one image memory keeps {len(learner.memory)}")
    found = float(learner.scores(shown.images)[0, 0])
    require(found > 0.5, f"one step on a cat leads to a score of {found:.3f} for cat")
    learner.observe(make_batch(1, ["dog"], 1))
    learner.observe(make_batch(1, ["dog"], 2))
    require(learner.steps == 3, f"after three images it counts {learner.steps} steps")


def unknown_is_not_absent(name: str, **settings: Any) -> None:
    """Images of which nothing is known: first, in between, and with classes that nobody looked for in them.

    They are no error, bring no class, and do not make the learner forget a class as if it was absent.
    """
    learner = make_learner(name, **settings)
    images = make_batch(3, ["cat"]).images
    learner.observe(Batch.of(images, [[]] * 3))
    require(learner.predict(images) == [{}] * 3, "images without classes bring classes")
    unknown = torch.zeros(3, 1, dtype=torch.bool)
    for number, names in enumerate([["cat"], ["dog"]]):
        learner.observe(make_batch(3, names, number))
        step = learner.observe(Batch(images, unknown, unknown, ("cat",), ("a", "b", "c")))
        require(step.images == 3, f"three images of which nothing is known count as {step.images}")
    learner.observe(Batch.of(images, [[]] * 3))
    require(bool(weights(learner).isfinite().all()), "after images of which nothing is known, weights are not finite")
    shape = tuple(learner.scores(images).shape)
    require(shape == (3, 2), f"three images and two classes have scores of shape {shape}")
    for item in learner.memory.items:
        require(not bool((item.labels & ~item.known).any()), "memory holds labels that nobody looked for")


def a_class_may_never_appear(name: str, **settings: Any) -> None:
    """Somebody looks for ghosts in every image and finds none, also when later classes come."""
    learner = make_learner(name, **settings)
    for number, names in enumerate([["cat"], ["dog"], ["dog"]]):
        some = make_batch(3, names, number)
        learner.observe(Batch.of(some.images, [names] * 3, known=[*names, "ghost"], ids=some.ids))
    found = max(row["ghost"] for row in learner.predict(make_batch(4, ["x"], 9).images))
    require(0 <= found < 0.8, f"what was looked for and never found has a probability of {found:.2f}")
    require(bool(weights(learner).isfinite().all()), "weights are not finite")


def the_budget_is_never_exceeded(name: str, **settings: Any) -> None:
    """In pixels."""
    learner = make_learner(name, **({"memory.images": 5} | settings))
    for seed in range(4):
        learner.observe(make_batch(4, ["cat", "dog"], seed))
        held, budget = learner.memory.pixels, learner.settings.memory.images * SIZE * SIZE
        require(held <= budget, f"memory holds {held} pixels, more than its {budget}")


def it_learns_without_a_memory(name: str, **settings: Any) -> None:
    """From the stream alone."""
    learner = make_learner(name, **(settings | {"memory.images": 0, "replay.size": 0}))
    before = weights(learner)
    show_three_tasks(learner)
    step = learner.observe(make_batch(4, ["tree"], 9))
    require((len(learner.memory), step.replayed) == (0, 0), "with no room in memory, something is kept or replayed")
    after = weights(learner)
    require(bool(after.isfinite().all()), "without a memory, weights are not finite")
    require(not torch.equal(after[: len(before)], before), "without a memory it learns nothing")
    found = list(learner.predict(make_batch(1, ["x"]).images)[0])
    require(found == ["cat", "dog", "car", "bus", "tree"], f"without a memory it predicts {found}")


def equal_seeds_give_equal_results(name: str, **settings: Any) -> None:
    """Whatever the state of the global generator is, which stays as it was."""
    results: list[Tensor] = []
    with torch.random.fork_rng(devices=[]):
        for callers in (1, 2):
            torch.default_generator.manual_seed(callers)
            before = torch.get_rng_state()
            learner = make_learner(name, **({"augment": "flip"} | settings | {"seed": 5}))
            show_three_tasks(learner)
            require(torch.equal(torch.get_rng_state(), before), "it draws from torch's global generator")
            results.append(weights(learner))
    require(torch.equal(*results), "two learners with the same seed, shown the same, differ")


def another_seed_gives_another_learner(name: str, **settings: Any) -> None:
    """Random draws come from the seed."""
    results = []
    for seed in (0, 1):
        learner = make_learner(name, **({"augment": "flip"} | settings | {"seed": seed}))
        learner.observe(make_batch(6, ["cat", "dog"]))
        results.append(weights(learner))
    require(not torch.equal(*results), "another seed makes no difference, though images are flipped at random")


def copies_go_on_exactly_and_on_their_own(name: str, **settings: Any) -> None:
    """Copied, sent to another process, or saved over an older save and loaded, in the middle of a task.

    None learns from what another is shown, and all become the same when they are shown the same.
    """
    learner = make_learner(name, **({"augment": "flip"} | settings))
    with tempfile.TemporaryDirectory() as folder:
        learner.save(Path(folder) / "saved")
        show_three_tasks(learner)
        learner.save(Path(folder) / "saved")
        loaded = Learner.load(Path(folder) / "saved", device="cpu")
    before = state(learner)
    twins = {"copied": copy.deepcopy(learner), "pickled": pickle.loads(pickle.dumps(learner)), "loaded": loaded}
    for how, twin in twins.items():
        found = difference(state(twin), before)
        require(not found, f"a learner that was {how} is not the same: {found}")
    first = _learn_on(twins["copied"])
    changed = difference(state(learner), before)
    require(not changed, f"what a copy learns changes the original: {changed}")
    for how, twin in {**twins, "saved": learner}.items():
        if how != "copied":
            found = difference(_learn_on(twin), first)
            require(not found, f"a learner that was {how} does not go on as before: {found}")
    changed = difference(state(twins["copied"]), first)
    require(not changed, f"what a learner is shown changes its copy: {changed}")
    images = make_batch(2, ["x"]).images
    require(learner.predict(images) == loaded.predict(images), "a loaded learner predicts otherwise")


def a_teacher_sees_each_image_once(name: str, **settings: Any) -> None:
    """Without gradients; a method without a teacher asks no earlier model."""
    learner = make_learner(name, **settings)
    learner.observe(make_batch(3, ["cat"]))
    learner.observe(make_batch(4, ["dog"], 1))
    require_one_look(learner, 0 if learner.teacher.earlier is None else 4)


def _quick(name: str, lr: float, settings: dict[str, Any]) -> Learner:
    """Make a learner that learns within a few steps."""
    return make_learner(name, **({"lr": lr, "head.lr": 1e-2} | settings))


def _learn_on(learner: Learner) -> dict[str, Any]:
    for number, names in enumerate([["tree", "cat"], ["boat"], ["boat"]]):
        learner.observe(make_batch(3, names, 10 + number))
    return state(learner)


METHOD_CHECKS: tuple[Check, ...] = (
    it_learns_what_it_is_shown,
    two_tasks_of_two_colours_are_learned,
    classes_may_grow,
    an_empty_batch_changes_nothing,
    batches_may_be_of_one_image,
    unknown_is_not_absent,
    a_class_may_never_appear,
    the_budget_is_never_exceeded,
    it_learns_without_a_memory,
    equal_seeds_give_equal_results,
    another_seed_gives_another_learner,
    copies_go_on_exactly_and_on_their_own,
    a_teacher_sees_each_image_once,
)
