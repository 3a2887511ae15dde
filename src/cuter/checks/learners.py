"""Small learners and batches, for checks of methods and of parts that need a learner around them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_pre_hook

from cuter.backbone import Backbone, untrained_vit
from cuter.checks.battery import flat_state, generator
from cuter.learn.learner import Learner
from cuter.learn.settings import LearnerSettings
from cuter.settings import merged, validated
from cuter.stream.batch import Batch

SIZE = 32
SETTINGS: dict[str, Any] = {"memory.images": 8, "replay.size": 3, "augment": "none"}
TASKS = (("cat", "dog"), ("car", "bus"), ("tree",))


def make_learner(method: str, **settings: Any) -> Learner:
    """Make a learner on a transformer that is as small as can be, always with the same weights."""
    tiny = untrained_vit(image_size=SIZE, patch_size=8, dim=16, depth=1, heads=2)
    chosen = merged(LearnerSettings, SETTINGS, settings)
    replay = validated(LearnerSettings, {"method": method, **chosen}).replay
    often = {"replay.steps": 2} if "steps" in type(replay).model_fields else {}  # within the few steps of a check
    return Learner.create(method, backbone=tiny, device="cpu", **merged(LearnerSettings, often, chosen))


def make_batch(count: int, names: Sequence[str], seed: int = 0) -> Batch:
    """Make a batch of random images with one or two labels each, annotated for these classes."""
    draws = generator(seed)
    images = torch.randint(256, (count, 3, SIZE, SIZE), dtype=torch.uint8, generator=draws)
    drawn = torch.randint(len(names), (count, 2), generator=draws).tolist()
    labels = [[names[column] for column in sorted(set(columns))] for columns in drawn]
    return Batch.of(images, labels, known=list(names), ids=[f"{seed}-{number}" for number in range(count)])


def show_three_tasks(learner: Learner) -> None:
    """Show two batches of each task, so that a teacher has taken over twice and was asked."""
    for number, names in enumerate([names for names in TASKS for _ in range(2)]):
        learner.observe(make_batch(4, names, number))


def weights(learner: Learner) -> Tensor:
    """Return a copy of all weights, one after the other."""
    return torch.cat([parameter.detach().flatten() for parameter in learner.model.parameters()])


def state(learner: Learner) -> dict[str, Any]:
    """Return a copy of all that a learner is, by name."""
    return flat_state(learner.state_dict())


@contextmanager
def counting_images_of_earlier_models(learner: Learner) -> Iterator[list[tuple[int, bool]]]:
    """Note each forward of a backbone that is neither the learner's own nor its localiser's.

    Yields:
        How many images there were, and whether gradients were noted.
    """
    own = [learner.backbone, *([learner.localiser.backbone] if learner.localiser else [])]
    seen: list[tuple[int, bool]] = []

    def note(module: nn.Module, inputs: Any) -> None:
        if isinstance(module, Backbone) and not any(module is one for one in own):
            seen.append((len(inputs[0]), torch.is_grad_enabled()))

    hook = register_module_forward_pre_hook(note)
    try:
        yield seen
    finally:
        hook.remove()
