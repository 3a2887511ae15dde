"""Distillation: old classes should score as they did (iCaRL, Rebuffi et al. 2017, Algorithm 3)."""

from __future__ import annotations

from typing import ClassVar

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor

from cuter.learn.model import View
from cuter.learn.teachers.base import TEACHERS, Teacher, TeacherOutput
from cuter.settings import PartSettings
from cuter.stream.batch import Batch


def distillation(old: Tensor, new: Tensor, known: Tensor) -> Tensor:
    """Return the mean of Σ q log(q / p) over both outcomes, q = σ(old) and p = σ(new), where nobody looked.

    old: logits (B, old classes); new, known: (B, C). Its gradient is that of iCaRL's cross-entropy, but it is 0 where
    the two agree. What somebody looked at is in the labels.
    """
    new = new[:, : old.shape[1]].float()
    target = torch.sigmoid(old.float())
    distance = F.binary_cross_entropy_with_logits(new, target, reduction="none") - F.binary_cross_entropy_with_logits(
        old.float(), target, reduction="none"
    )
    unknown = ~known[:, : old.shape[1]]
    return (distance * unknown).sum() / unknown.sum().clamp(min=1)


class DistilSettings(PartSettings):
    """Settings of distillation."""

    distil_weight: float = Field(1.0, ge=0, description="Weight of the distillation.")


@TEACHERS.register("distil")
class Distil(Teacher):
    """Lets old classes score on stream images as the model of the task before scores them."""

    Settings: ClassVar[type[PartSettings]] = DistilSettings

    def __init__(self, settings: DistilSettings):
        super().__init__(settings)
        self.weight = settings.distil_weight

    def teach(self, old_view: View, view: View, batch: Batch) -> TeacherOutput:
        """Return the weighted distance of the scores."""
        loss = self.weight * distillation(old_view.logits, view.logits, batch.known)
        return TeacherOutput(batch, loss, old_view.logits)
