"""Distillation: old classes should score as they did (iCaRL, Rebuffi et al. 2017, Algorithm 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from cuter.learn.model import View
from cuter.learn.teachers.base import TEACHERS, Lesson, Teacher
from cuter.stream.batch import Batch

if TYPE_CHECKING:
    from cuter.learn.settings import LearnerSettings


def distillation(old: Tensor, new: Tensor, known: Tensor) -> Tensor:
    """Return the mean of Σ q log(q / p) over both outcomes, q = σ(old) and p = σ(new), where nobody looked.

    old: logits (B, old classes); new, known: (B, C). Its gradient is that of iCaRL's cross-entropy, but it is 0 where
    the two agree. What somebody looked at is told by the labels.
    """
    new = new[:, : old.shape[1]].float()
    target = torch.sigmoid(old.float())
    distance = F.binary_cross_entropy_with_logits(new, target, reduction="none") - F.binary_cross_entropy_with_logits(
        old.float(), target, reduction="none"
    )
    unknown = ~known[:, : old.shape[1]]
    return (distance * unknown).sum() / unknown.sum().clamp(min=1)


@TEACHERS.register("distil")
class Distil(Teacher):
    """Lets old classes score on stream images as the model of the task before scores them."""

    def __init__(self, settings: LearnerSettings):
        super().__init__()
        self.weight = settings.distil_weight

    def teach(self, opinion: View, view: View, batch: Batch) -> Lesson:
        """Return the weighted distance of the scores."""
        loss = self.weight * distillation(opinion.logits, view.logits, batch.known)
        return Lesson(batch, loss, opinion.logits)
