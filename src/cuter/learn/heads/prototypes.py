"""Prototypes: rows that are trained beside class means (iCaRL, Rebuffi et al. 2017; NsCE, Wang et al. 2024)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from cuter.backbone.features import Features
from cuter.learn.heads.base import HEADS, Head, HeadSettings
from cuter.learn.heads.linear import LinearHead
from cuter.stream.batch import Batch

MOMENTUM = 0.95  # of a mean, for each step that shows its class (NsCE)
WARM = 20  # steps after which the plain mean over steps has come to this momentum: 1 - 1/20
POSITIVE_COSINE = 0.5  # from here on a label counts as given (CUTER, appendix) …
POSITIVE_SCORE = 0.8  # … and so it gets the score from which on the field counts a label as given
STEEPNESS = 10.0  # of the score as the cosine passes that point; the order of images by score does not depend on it


class PrototypesSettings(HeadSettings):
    """Settings of a head with class means."""

    scores: Literal["means", "rows"] = Field(
        "means",
        description="What predicts: cosines to class means, as in iCaRL, or the rows that are trained, as in NsCE.",
    )
    separation: float = Field(
        0.0,
        ge=0,
        description="Weight of NsCE's terms, which keep classes apart and the classifier from being sparse; there 0.1 "
        "or 0.01.",
    )


@HEADS.register("prototypes")
class Prototypes(LinearHead):
    """A linear head that is trained, beside a mean direction for each class, to which images are compared.

    Means are of embeddings of length 1, and they follow the stream and the replay by `MOMENTUM`: iCaRL's means of all
    that memory holds would need a pass over memory before every prediction, and old embeddings would not do, because
    features move. The first steps that show a class weigh the same, so that no mean depends on its first batch alone.
    A class that was never shown has no mean: its cosine is 0. With `by_means` images are predicted by them (iCaRL),
    else by the rows, which the means only keep apart (NsCE).
    """

    Settings: ClassVar[type[HeadSettings]] = PrototypesSettings
    means: Tensor
    steps: Tensor

    def __init__(self, dim: int, by_means: bool = True):
        super().__init__(dim)
        self.by_means = by_means
        self.register_buffer("means", torch.zeros(0, dim))
        self.register_buffer("steps", torch.zeros(0))  # that have shown each class, up to WARM

    @classmethod
    def create(cls, settings: HeadSettings, dim: int, generator: torch.Generator) -> Head:
        """Make a head for embeddings of `dim` numbers."""
        assert isinstance(settings, PrototypesSettings)
        return cls(dim, by_means=settings.scores == "means")

    def grow(
        self, names: Sequence[str], device: torch.device | None = None, generator: torch.Generator | None = None
    ) -> list[nn.Parameter]:
        """Add classes without a mean."""
        self.means = torch.cat([self.means, self.means.new_zeros(len(names), self.dim)]).to(device)
        self.steps = torch.cat([self.steps, self.steps.new_zeros(len(names))]).to(device)
        return super().grow(names, device, generator)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Take the means of learners that were saved before steps were counted as warm."""
        means = state_dict[f"{prefix}means"]
        state_dict.setdefault(f"{prefix}steps", WARM * (means != 0).any(dim=1).to(means))
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def cosines(self, embedding: Tensor) -> Tensor:
        """Return the cosines (B, C) of embeddings (B, D) to the class means."""
        return F.normalize(embedding.float(), dim=1) @ F.normalize(self.means, dim=1).T

    def predict_logits(self, features: Features) -> Tensor:
        """Return logits that pass `POSITIVE_SCORE` where cosines pass `POSITIVE_COSINE`, in the order of the cosines.

        So F1 at the threshold 0.8 is that of the rule 'positive where the cosine exceeds 0.5'.
        """
        if not self.by_means:
            return super().predict_logits(features)
        at_border = math.log(POSITIVE_SCORE / (1 - POSITIVE_SCORE))
        return at_border + STEEPNESS * (self.cosines(features.embedding) - POSITIVE_COSINE)

    @torch.no_grad()
    def update_statistics(self, batch: Batch, embedding: Tensor, old_logits: Tensor | None) -> None:
        """Move the means of the classes that images have towards these images."""
        units = F.normalize(embedding.detach().float(), dim=1)
        shown = batch.labels.any(dim=0)
        labels = batch.labels[:, shown].to(units)
        now = (labels.T @ units) / labels.sum(dim=0).unsqueeze(1)
        self.steps[shown] = (self.steps[shown] + 1).clamp(max=WARM)
        share = (1 / self.steps[shown]).clamp(min=1 - MOMENTUM).unsqueeze(1)
        self.means[shown] = (1 - share) * self.means[shown] + share * now

    def update_replay_statistics(self, batch: Batch, embedding: Tensor) -> None:
        """Do the same for what was replayed: the means of old classes move with the features."""
        self.update_statistics(batch, embedding, None)
