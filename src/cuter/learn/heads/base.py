"""What every head has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn

from cuter.backbone.features import Features
from cuter.registry import Registry
from cuter.settings import PartSettings
from cuter.stream.batch import Batch


class Scores(NamedTuple):
    """Logits (B, C), and the vectors behind them, if a teacher may want them to stay as they are: see the head."""

    logits: Tensor
    states: Tensor | None = None


class HeadSettings(PartSettings):
    """Settings of every head."""

    lr: float = Field(1e-3, gt=0, description="Learning rate for what new classes bring to the head.")


class SharingHeadSettings(HeadSettings):
    """Settings of heads in which classes share parameters."""

    shared_lr: float = Field(1e-4, gt=0, description="Learning rate for what all classes share in the head.")


class Head(nn.Module, ABC):
    """Features become scores of the classes seen so far, which come in blocks: one for each time they grew.

    What a block brings are new parameters, so the optimiser's state of the old ones stays as it is. A new class begins
    undecided, with a logit of 0, as long as no class before it has taught the head anything that it shares.
    """

    Settings: ClassVar[type[HeadSettings]] = HeadSettings

    @classmethod
    @abstractmethod
    def create(cls, settings: HeadSettings, dim: int, generator: torch.Generator) -> Head:
        """Make a head for embeddings of `dim` numbers."""

    @property
    @abstractmethod
    def blocks(self) -> list[int]:
        """Sizes of the blocks, in the order in which they were added."""

    @abstractmethod
    def grow(
        self, names: Sequence[str], device: torch.device | None = None, generator: torch.Generator | None = None
    ) -> list[nn.Parameter]:
        """Add classes and return the new parameters; what is drawn at random comes from the generator."""

    @abstractmethod
    def forward(self, features: Features) -> Scores:
        """Score images: what is trained on."""

    def predict_logits(self, features: Features) -> Tensor:
        """Return the logits (B, C) that a prediction is made of: for most heads those that are trained."""
        scores: Scores = self(features)
        return scores.logits

    def prepare(self, names: Sequence[str]) -> None:
        """Read what classes of these names need before they are added; a `ConfigError` leaves the head as it was."""

    def update_statistics(self, batch: Batch, embedding: Tensor, old_logits: Tensor | None) -> None:
        """Update, after a step, class means or counts of labels by what the stream has shown.

        Args:
            batch: The batch.
            embedding: (B, D), of its images.
            old_logits: (B, old classes), those of the model of the task before, if a teacher asked it.
        """

    def update_replay_statistics(self, batch: Batch, embedding: Tensor) -> None:
        """Update, after a step, the same by what was replayed."""


HEADS: Registry[type[Head]] = Registry("head", "cuter.learn.heads", "cuter.heads", HeadSettings)
