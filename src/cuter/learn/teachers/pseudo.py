"""Pseudo-labels: the model of the task before fills in the labels of old classes (KRT, Dong et al. 2023; APPLE)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor

from cuter.learn.model import Model, View
from cuter.learn.teachers.base import TEACHERS, Teacher, TeacherOutput
from cuter.learn.teachers.thresholds import RunningThreshold, ThresholdsByClass
from cuter.settings import PartSettings
from cuter.stream.batch import Batch

KRT_BATCH = 64  # images per batch in KRT's configuration, over which its classification loss is a sum


class PseudoSettings(PartSettings):
    """Settings of pseudo-labels."""

    threshold: Literal["running", "by-class"] = Field(
        "running", description="One running threshold for all classes, as in KRT, or one by-class."
    )
    rate: float = Field(
        0.07,
        gt=0,
        lt=1,
        description="Pseudo-labels per image and old class; KRT has 1.4/20 on VOC and 2.9/80 on COCO.",
    )
    token_weight: float = Field(
        0.0, ge=0, description="Head class-attention: weight of KRT's token loss; there 80 on VOC, 100 on COCO."
    )

    def check(self, learner: Any) -> None:
        """Tokens are held in place: there must be some."""
        if self.token_weight > 0 and learner.head.kind != "class-attention":
            raise ValueError(
                f"teacher.token_weight {self.token_weight} needs the head class-attention, whose tokens it holds in "
                f"place, not {learner.head.kind}; set it to 0 to do without"
            )


@TEACHERS.register("pseudo")
class PseudoLabels(Teacher):
    """Says of every old class that nobody looked for: present where the earlier score exceeds a threshold, else absent.

    With tokens of tasks (the head `class-attention`) and a `token_weight`, KRT's token loss comes on top. Labels that
    were only guessed do not enter memory.
    """

    Settings: ClassVar[type[PartSettings]] = PseudoSettings

    def __init__(self, settings: PseudoSettings):
        super().__init__(settings)
        by_class = settings.threshold == "by-class"
        self.thresholds = (ThresholdsByClass if by_class else RunningThreshold)(settings.rate)
        self.token_weight = settings.token_weight

    def begin_task(self, model: Model) -> None:
        """Take the model of the task that is over."""
        super().begin_task(model)
        self.thresholds.begin_task()

    def __call__(self, images: Tensor, view: View, batch: Batch) -> TeacherOutput:
        """Count what is given, then teach."""
        self.thresholds.count(batch.labels)
        return super().__call__(images, view, batch)

    def teach(self, old_view: View, view: View, batch: Batch) -> TeacherOutput:
        """Add the labels, and ask that old tokens bring back what they brought."""
        scores = torch.sigmoid(old_view.logits.float())
        old = scores.shape[1]
        unknown = ~batch.known[:, :old]
        labels, known = batch.labels.clone(), batch.known.clone()
        labels[:, :old] |= unknown & (scores > self.thresholds.follow(scores, unknown))
        known[:, :old] = True
        loss = view.logits.new_zeros(())
        if self.token_weight and old_view.states is not None and view.states is not None:
            loss = self.token_weight * token_loss(old_view.states, view.states, view.logits.shape[1], old)
        return TeacherOutput(replace(batch, labels=labels, known=known), loss, old_view.logits)

    def state_dict(self) -> dict[str, Any]:
        """Return all that is needed to go on exactly as before."""
        return super().state_dict() | {"thresholds": self.thresholds.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a saved state."""
        super().load_state_dict(state)
        self.thresholds.load_state_dict(state["thresholds"])


def token_loss(old: Tensor, new: Tensor, classes: int, old_classes: int) -> Tensor:
    """Return √(C / C_new) · (1 - cos) of what old tokens bring back (B, tasks, D), all side by side, divided by 64 · C.

    KRT weighs it by λ against a sum over 64 images and C classes, where ours is a mean: dividing keeps the balance.
    """
    cosines = F.cosine_similarity(new[:, : old.shape[1]].flatten(1), old.flatten(1), dim=1)
    return (1 - cosines).mean() * math.sqrt(classes / (classes - old_classes)) / (KRT_BATCH * classes)
