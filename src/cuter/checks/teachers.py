"""Checks of teachers."""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import Any

import torch

from cuter.checks.battery import Check, difference, require, run_checks
from cuter.checks.learners import TASKS, counting_images_of_earlier_models, make_batch, make_learner, state
from cuter.learn.learner import Learner
from cuter.learn.model import View
from cuter.learn.teachers.base import TeacherOutput
from cuter.stream.batch import Batch


def check_teacher(name: str, *, skip: Collection[str] = (), **settings: Any) -> None:
    """Check a teacher: what every teacher promises, whatever it says.

    Args:
        name: Name under which the teacher is registered.
        skip: Names of checks that are left out.
        settings: Settings of the learner around it, as `head`, where the teacher needs a certain one; its own settings
            are given as `teacher={"threshold": 0.5}`.

    Raises:
        AssertionError: Something does not hold; the message says what.

    Examples:
        >>> from cuter.checks import check_teacher
        >>> check_teacher("distil")
    """
    run_checks("teacher", name, TEACHER_CHECKS, skip, settings)


def nothing_is_said_in_the_first_task(name: str, **settings: Any) -> None:
    """There is no earlier model."""
    learner = _learner(name, **settings)
    learner.observe(make_batch(4, TASKS[0]))
    shown = make_batch(4, TASKS[0], 1)
    said = _ask(learner, shown)
    require(said.loss.item() == 0, f"in the first task the teacher adds a loss of {said.loss.item()}")
    require(torch.equal(said.batch.known, shown.known), "in the first task the teacher adds labels")


def what_is_known_is_never_contradicted(name: str, **settings: Any) -> None:
    """A teacher may add labels where nobody looked, and changes nothing else of a batch."""
    learner = _taught(name, **settings)
    shown = make_batch(6, TASKS[1], 9).aligned(learner.labels.names)
    said = _ask(learner, shown).batch
    require(bool(said.known[shown.known].all()), "the teacher makes unknown what somebody looked for")
    require(torch.equal(said.labels[shown.known], shown.labels[shown.known]), "the teacher contradicts known labels")
    require(torch.equal(said.images, shown.images), "the teacher changes images")
    require(said.names == shown.names and said.ids == shown.ids, "the teacher changes classes or ids of a batch")


def the_loss_can_be_learned_from(name: str, **settings: Any) -> None:
    """It is one finite number."""
    learner = _taught(name, **settings)
    loss = _ask(learner, make_batch(6, TASKS[1], 9).aligned(learner.labels.names)).loss
    require(loss.ndim == 0, f"the teacher's loss is no single number, but of shape {tuple(loss.shape)}")
    require(bool(loss.isfinite()), f"the teacher's loss is {loss.item()}")


def earlier_models_see_each_image_once(name: str, **settings: Any) -> None:
    """Without gradients, and the model stays as it is."""
    learner = _taught(name, **settings)
    before = {key: value for key, value in state(learner).items() if key.startswith("/teacher/earlier")}
    require_one_look(learner, 4 if learner.teacher.earlier is not None else 0)
    now = {key: value for key, value in state(learner).items() if key.startswith("/teacher/earlier")}
    changed = difference(before, now)
    require(not changed, f"the model of the task before changes while the next is learned: {changed}")


def require_one_look(learner: Learner, expected: int) -> None:
    """Show a batch of four images of classes that are known; earlier models should see this many images."""
    with counting_images_of_earlier_models(learner) as seen:
        learner.observe(make_batch(4, learner.labels.names[-1:], 2))
    count = sum(images for images, _ in seen)
    require(count == expected, f"earlier models looked at {count} images for a batch of four, not {expected}")
    require(not any(with_gradient for _, with_gradient in seen), "gradients are noted while an earlier model looks")
    kept = learner.teacher.earlier
    idle = kept is None or not any(one.requires_grad for one in kept.parameters())
    require(idle, "the earlier model has parameters that want gradients")


def an_empty_batch_and_unknown_images_are_no_error(name: str, **settings: Any) -> None:
    """Nor do they make weights infinite."""
    learner = _taught(name, **settings)
    learner.observe(make_batch(0, ["cat"]))
    images = make_batch(3, ["cat"], 4).images
    learner.observe(Batch.of(images, [[]] * 3))
    finite = all(bool(one.isfinite().all()) for one in learner.model.parameters())
    require(finite, "after images of which nothing is known, weights are not finite")


def a_saved_state_and_a_copy_go_on_exactly(name: str, **settings: Any) -> None:
    """Inside a learner, in the middle of a task."""
    learner = _taught(name, **settings)
    twins = {"copied": copy.deepcopy(learner), "restored": Learner.from_state(learner.state_dict(), "cpu")}
    for one in (*twins.values(), learner):
        one.observe(make_batch(4, TASKS[1], 5))
        one.observe(make_batch(4, TASKS[2], 6))
        one.observe(make_batch(4, TASKS[2], 7))
    for how, twin in twins.items():
        found = difference(state(learner), state(twin))
        require(not found, f"a learner with this teacher that was {how} does not go on as before: {found}")


def _learner(name: str, **settings: Any) -> Learner:
    own = settings.pop("teacher", {})
    return make_learner("rs", teacher={"kind": name, **own}, **settings)


def _taught(name: str, **settings: Any) -> Learner:
    """Return a learner in its second task."""
    learner = _learner(name, **settings)
    for number, names in enumerate([TASKS[0], TASKS[0], TASKS[1]]):
        learner.observe(make_batch(4, names, number))
    return learner


def _ask(learner: Learner, batch: Batch) -> TeacherOutput:
    images = batch.images.float() / 255
    view: View = learner.model(images)
    return learner.teacher(images, view, batch)


TEACHER_CHECKS: tuple[Check, ...] = (
    nothing_is_said_in_the_first_task,
    what_is_known_is_never_contradicted,
    the_loss_can_be_learned_from,
    earlier_models_see_each_image_once,
    an_empty_batch_and_unknown_images_are_no_error,
    a_saved_state_and_a_copy_go_on_exactly,
)
