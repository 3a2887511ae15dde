"""Soft labels for a label graph: old scores and old nodes stay (AGCN, Du et al. 2022; after AGCN++, Du et al. 2023)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch.nn.functional as F
from torch import Tensor

from cuter.learn.model import View
from cuter.learn.teachers.base import TEACHERS, Lesson, Teacher
from cuter.learn.teachers.distil import distillation
from cuter.stream.batch import Batch

if TYPE_CHECKING:
    from cuter.learn.settings import LearnerSettings


@TEACHERS.register("soft-graph")
class SoftGraph(Teacher):
    """Distils the scores of old classes, and holds their nodes in place and in their relation to each other.

        loss = distil_weight · distillation + node_weight · MSE(nodes) + relation_weight · MSE(cosines between nodes)

    The opinion that it hands on gives the correlation matrix its soft labels.
    """

    def __init__(self, settings: LearnerSettings):
        super().__init__()
        self.distil_weight = settings.distil_weight
        self.node_weight = settings.node_weight
        self.relation_weight = settings.relation_weight

    def teach(self, opinion: View, view: View, batch: Batch) -> Lesson:
        """Return the weighted sum."""
        assert opinion.states is not None
        assert view.states is not None
        old, new = opinion.states, view.states[..., : opinion.logits.shape[1], :]
        loss = self.distil_weight * distillation(opinion.logits, view.logits, batch.known)
        loss = loss + self.node_weight * F.mse_loss(new, old)
        if self.relation_weight:
            loss = loss + self.relation_weight * F.mse_loss(relations(new), relations(old))
        return Lesson(batch, loss, opinion.logits)


def relations(nodes: Tensor) -> Tensor:
    """Return the cosines (..., C, C) between nodes (..., C, D)."""
    units = F.normalize(nodes, dim=-1)
    return units @ units.transpose(-1, -2)
