"""Checks of heads."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from cuter.backbone import Features, untrained_vit
from cuter.checks.battery import Check, difference, flat_state, generator, require, run_checks
from cuter.learn.heads import HEADS, Head
from cuter.settings import validated
from cuter.storage import load_state, save_states
from cuter.stream.batch import Batch

DIM = 16
TASKS = (("cat", "dog"), ("car",), ("bus", "tree", "boat"))
CLASSES = tuple(name for task in TASKS for name in task)


def check_head(name: str, *, skip: Collection[str] = (), **settings: Any) -> None:
    """Check a head: what every head promises, however it scores.

    Args:
        name: Name under which the head is registered.
        skip: Names of checks that are left out.
        settings: Settings of the head, where other values than its defaults are to be checked.

    Raises:
        AssertionError: Something does not hold; the message says what.

    Examples:
        >>> from cuter.checks import check_head
        >>> check_head("linear")
    """
    run_checks("head", name, HEAD_CHECKS, skip, settings)


def make_head(name: str, tasks: int = 0, seed: int = 0, **settings: Any) -> Head:
    """Make a head that knows the classes of some tasks."""
    kind, draws = HEADS[name], generator(seed)
    head = kind.create(validated(kind.Settings, {"kind": name, **settings}), DIM, draws)
    for names in TASKS[:tasks]:
        head.prepare(names)
        head.grow(names, torch.device("cpu"), draws)
    return head


def features(images: int = 5, seed: int = 0) -> Features:
    """Return what a small transformer sees in random images."""
    pixels = torch.randint(256, (images, 3, 32, 32), dtype=torch.uint8, generator=generator(seed))
    with torch.no_grad():
        found: Features = untrained_vit(dim=DIM, depth=1)(pixels)
    return found


def taught_head(name: str, tasks: int, **settings: Any) -> Head:
    """Make a head that has taken some steps in each task, and has noted what the stream shows."""
    head = make_head(name, seed=0, **settings)
    draws = generator()
    for task in range(tasks):
        head.grow(TASKS[task], torch.device("cpu"), draws)
        for step in range(3):
            teach(head, task, step)
    return head


def teach(head: Head, task: int, seed: int) -> None:
    """Take one step on images that are labelled for the classes of a task."""
    names = tuple(name for some in TASKS[: task + 1] for name in some)
    seen, draws = features(seed=seed), generator(seed)
    known = torch.tensor([name in TASKS[task] for name in names]).expand(5, -1)
    labels = known & (torch.rand(5, len(names), generator=draws) < 0.5)
    logits = head(seen).logits
    loss = torch.nn.functional.binary_cross_entropy_with_logits(logits[known], labels[known].float())
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    images = torch.zeros(5, 3, 8, 8, dtype=torch.uint8)
    batch = Batch(images, labels, known.clone(), names, tuple(map(str, range(5))))
    head.update_statistics(batch, seen.embedding, None)
    head.update_replay_statistics(batch, seen.embedding)


def predicted(head: Head, seen: Features) -> Tensor:
    """Return the logits that a prediction is made of."""
    head.eval()
    with torch.no_grad():
        logits = head.predict_logits(seen)
    head.train()
    return logits


def without_classes_there_are_no_scores(name: str, **settings: Any) -> None:
    """Logits of no columns, not an error."""
    head = make_head(name, **settings)
    require(head.blocks == [], f"a new head has blocks of classes: {head.blocks}")
    for how, logits in (("learns from", head(features()).logits), ("predicts", predicted(head, features()))):
        shape = tuple(logits.shape)
        require(shape == (5, 0), f"without a class, what it {how} of 5 images is of shape {shape}, not (5, 0)")


def classes_may_grow(name: str, **settings: Any) -> None:
    """In blocks; with each there are as many columns as classes."""
    head = make_head(name, **settings)
    draws = generator()
    for number, names in enumerate(TASKS):
        before = list(head.parameters())
        new = head.grow(names, torch.device("cpu"), draws)
        sizes = [len(task) for task in TASKS[: number + 1]]
        require(head.blocks == sizes, f"after classes grew by {sizes}, its blocks are {head.blocks}")
        require(len(new) > 0, "new classes bring no parameter to be learned")
        now = {id(one) for one in head.parameters()}
        require(all(id(one) in now for one in new), "a parameter of new classes is not among the head's parameters")
        require(not {id(one) for one in new} & {id(one) for one in before}, "what new classes bring was there before")
        require(all(id(one) in now for one in before), "a parameter was replaced: the optimiser's state would be lost")
        for logits in (head(features()).logits, predicted(head, features())):
            require(tuple(logits.shape) == (5, sum(sizes)), f"{sum(sizes)} classes, but logits {tuple(logits.shape)}")
            require(bool(logits.isfinite().all()), "logits are not finite")


def first_classes_begin_undecided(name: str, **settings: Any) -> None:
    """With logits of 0, so that they do not disturb the features."""
    logits = make_head(name, 1, **settings)(features()).logits
    require(not logits.any(), "the first classes do not begin with logits of 0")


def growing_leaves_what_was_learned(name: str, **settings: Any) -> None:
    """Values of parameters do not change when classes are added."""
    head = taught_head(name, 1, **settings)
    before = [parameter.detach().clone() for parameter in head.parameters()]
    places = list(head.parameters())
    head.grow(TASKS[1], torch.device("cpu"), generator())
    same = all(torch.equal(one, other) for one, other in zip(before, places, strict=True))
    require(same, "adding classes changes parameters that were learned before")


def what_is_learned_reaches_the_head(name: str, **settings: Any) -> None:
    """Steps on images of its classes change their logits."""
    head = make_head(name, 1, **settings)
    before = head(features()).logits.detach()
    teach(head, 0, 0)
    teach(head, 0, 1)
    require(not torch.equal(head(features()).logits, before), "learning steps do not change the logits")


def scores_of_an_image_are_its_own(name: str, **settings: Any) -> None:
    """When it predicts, whatever else is in the batch."""
    head, seen = taught_head(name, 2, **settings), features()
    alone = Features(seen.embedding[:1], seen.patches[:1], seen.grid, seen.tokens[:1])
    both = predicted(head, seen)[:1], predicted(head, alone)
    require(torch.allclose(*both, atol=1e-5), "the scores of an image depend on the other images of its batch")


def equal_seeds_give_equal_results(name: str, **settings: Any) -> None:
    """Whatever the state of the global generator is, which stays as it was."""
    with torch.random.fork_rng(devices=[]):
        states = []
        for callers in (1, 2):
            torch.default_generator.manual_seed(callers)
            before = torch.get_rng_state()
            states.append(flat_state(dict(make_head(name, 3, **settings).state_dict())))
            require(torch.equal(torch.get_rng_state(), before), "it draws from torch's global generator")
    found = difference(*states)
    require(not found, f"two heads with the same seed differ: {found}")


def a_saved_state_goes_on_exactly(name: str, **settings: Any) -> None:
    """Through files, into a head that has grown by the same blocks."""
    head, loaded = taught_head(name, 2, **settings), make_head(name, 2, seed=1, **settings)
    with tempfile.TemporaryDirectory() as folder:
        save_states(Path(folder) / "state", {"head": dict(head.state_dict())})
        loaded.load_state_dict(load_state(Path(folder) / "state", "head"))
    _require_same(head, loaded, "just after it was loaded")
    for both in (head, loaded):
        teach(both, 1, 7)
        both.grow(TASKS[2], torch.device("cpu"), generator(3))
        teach(both, 2, 8)
    _require_same(head, loaded, "after further steps")


def a_copy_is_independent(name: str, **settings: Any) -> None:
    """A deep copy comes to the same, and what it learns does not reach the original."""
    head = taught_head(name, 2, **settings)
    before, twin = flat_state(dict(head.state_dict())), copy.deepcopy(head)
    teach(twin, 1, 9)
    changed = difference(before, flat_state(dict(head.state_dict())))
    require(not changed, f"what a copy learns changes the original: {changed}")
    teach(head, 1, 9)
    _require_same(head, twin, "though a copy learned the same")


def unknown_is_not_absent(name: str, **settings: Any) -> None:
    """Images of which nothing is known change no statistics that a prediction is made of; nor does an empty batch."""
    head, seen = taught_head(name, 2, **settings), features(seed=5)
    before = predicted(head, seen)
    names = CLASSES[: sum(head.blocks)]
    for count in (5, 0):
        nothing = torch.zeros(count, len(names), dtype=torch.bool)
        images = torch.zeros(count, 3, 8, 8, dtype=torch.uint8)
        batch = Batch(images, nothing, nothing, names, tuple(map(str, range(count))))
        head.update_statistics(batch, seen.embedding[:count], None)
        head.update_replay_statistics(batch, seen.embedding[:count])
        same = torch.equal(predicted(head, seen), before)
        require(same, f"{count} images of which nothing is known change what the head predicts")


def _require_same(head: Head, other: Head, when: str) -> None:
    found = difference(flat_state(dict(head.state_dict())), flat_state(dict(other.state_dict())))
    require(not found, f"two heads that should be the same differ {when}: {found}")
    same = torch.equal(predicted(head, features()), predicted(other, features()))
    require(same, f"two heads with the same state predict otherwise {when}")


HEAD_CHECKS: tuple[Check, ...] = (
    without_classes_there_are_no_scores,
    classes_may_grow,
    first_classes_begin_undecided,
    growing_leaves_what_was_learned,
    what_is_learned_reaches_the_head,
    scores_of_an_image_are_its_own,
    equal_seeds_give_equal_results,
    a_saved_state_goes_on_exactly,
    a_copy_is_independent,
    unknown_is_not_absent,
)
