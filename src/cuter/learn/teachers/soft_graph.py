"""Soft labels for a label graph: old scores and old nodes stay (AGCN, Du et al. 2022; after AGCN++, Du et al. 2023)."""

from __future__ import annotations

from typing import Any, ClassVar

import torch.nn.functional as F
from pydantic import Field
from torch import Tensor

from cuter.learn.model import View
from cuter.learn.teachers.base import TEACHERS, Teacher, TeacherOutput
from cuter.learn.teachers.distil import DistilSettings, distillation
from cuter.settings import PartSettings
from cuter.stream.batch import Batch


class SoftGraphSettings(DistilSettings):
    """Settings of soft labels for a label graph."""

    node_weight: float = Field(1000.0, ge=0, description="Weight of old label nodes staying in place.")
    relation_weight: float = Field(
        0.0, ge=0, description="Weight of old label nodes keeping their cosines to each other."
    )

    def check(self, learner: Any) -> None:
        """Label nodes are held in place: there must be some."""
        if learner.head.kind != "label-graph":
            raise ValueError(
                "the teacher soft-graph holds label nodes in place, which only the head label-graph has, not "
                f"{learner.head.kind}"
            )


@TEACHERS.register("soft-graph")
class SoftGraph(Teacher):
    """Distils the scores of old classes, and holds their nodes in place and in their relation to each other.

        loss = distil_weight · distillation + node_weight · MSE(nodes) + relation_weight · MSE(cosines between nodes)

    The old logits that it hands on give the correlation matrix its soft labels.
    """

    Settings: ClassVar[type[PartSettings]] = SoftGraphSettings

    def __init__(self, settings: SoftGraphSettings):
        super().__init__(settings)
        self.distil_weight = settings.distil_weight
        self.node_weight = settings.node_weight
        self.relation_weight = settings.relation_weight

    def teach(self, old_view: View, view: View, batch: Batch) -> TeacherOutput:
        """Return the weighted sum."""
        assert old_view.states is not None
        assert view.states is not None
        old, new = old_view.states, view.states[..., : old_view.logits.shape[1], :]
        loss = self.distil_weight * distillation(old_view.logits, view.logits, batch.known)
        loss = loss + self.node_weight * F.mse_loss(new, old)
        if self.relation_weight:
            loss = loss + self.relation_weight * F.mse_loss(relations(new), relations(old))
        return TeacherOutput(batch, loss, old_view.logits)


def relations(nodes: Tensor) -> Tensor:
    """Return the cosines (..., C, C) between nodes (..., C, D)."""
    units = F.normalize(nodes, dim=-1)
    return units @ units.transpose(-1, -2)
