"""What every teacher has: the model of the task before, and one look at each stream batch with it."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from cuter.learn.model import Model, View
from cuter.registry import Registry
from cuter.settings import PartSettings
from cuter.stream.batch import Batch


@dataclass(frozen=True, slots=True)
class TeacherOutput:
    """What a teacher says of a stream batch.

    batch: the batch, with labels that the teacher adds where nobody looked; loss: what else the model should heed;
    old_logits: the logits of the model of the task before, for the classes that it knows.
    """

    batch: Batch
    loss: Tensor
    old_logits: Tensor | None = None


class Teacher(ABC):
    """Keeps the model of the task before, and asks it what it sees in the stream.

    Online nobody says that a task is over: it is when a batch brings classes never seen. The model as it was just
    before that batch is kept until the next time, frozen.
    """

    def __init__(self, settings: PartSettings | None = None) -> None:
        self.earlier: Model | None = None

    def begin_task(self, model: Model) -> None:
        """Take a copy of the model as it is, just before new classes come."""
        self.earlier = copy.deepcopy(model).eval().requires_grad_(False)

    def __call__(self, images: Tensor, view: View, batch: Batch) -> TeacherOutput:
        """Teach what the model of the task before sees in the images of a batch; one forward, without gradient."""
        if self.earlier is None:
            return TeacherOutput(batch, view.logits.new_zeros(()))
        with torch.no_grad():
            old_view: View = self.earlier(images)
        return self.teach(old_view, view, batch)

    @abstractmethod
    def teach(self, old_view: View, view: View, batch: Batch) -> TeacherOutput:
        """Make a lesson of the earlier model's view of a batch, beside the learner's own."""

    def state_dict(self) -> dict[str, Any]:
        """Return all that is needed to go on exactly as before."""
        return {"earlier": {} if self.earlier is None else self.earlier.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a saved state; the earlier model is there already, with as many classes as it had."""
        if self.earlier is not None:
            self.earlier.load_state_dict(state["earlier"])


TEACHERS: Registry[type[Teacher]] = Registry("teacher", "cuter.learn.teachers", "cuter.teachers", PartSettings)


@TEACHERS.register("none")
class NoTeacher(Teacher):
    """Says nothing, and keeps no model."""

    def begin_task(self, model: Model) -> None:
        """Keep nothing."""

    def teach(self, old_view: View, view: View, batch: Batch) -> TeacherOutput:
        """Say nothing."""
        return TeacherOutput(batch, view.logits.new_zeros(()))
