"""What every head has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn

from cuter.backbone.features import Features
from cuter.registry import Registry
from cuter.stream.batch import Batch

if TYPE_CHECKING:
    from cuter.learn.settings import LearnerSettings


class Scores(NamedTuple):
    """Logits (B, C), and the vectors behind them, if a teacher may want them to stay as they are: see the head."""

    logits: Tensor
    states: Tensor | None = None


class Head(nn.Module, ABC):
    """Features become scores of the classes seen so far, which come in blocks: one for each time they grew.

    What a block brings are new parameters, so the optimiser's state of the old ones stays as it is. A new class begins
    undecided, with a logit of 0, as long as no class before it has taught the head anything that it shares.
    """

    @property
    @abstractmethod
    def blocks(self) -> list[int]:
        """Sizes of the blocks, in the order in which they were added."""

    @abstractmethod
    def grow(
        self, count: int, device: torch.device | None = None, generator: torch.Generator | None = None
    ) -> list[nn.Parameter]:
        """Add `count` classes and return the new parameters; what is drawn at random comes from the generator."""

    @abstractmethod
    def forward(self, features: Features) -> Scores:
        """Score images: what is trained on."""

    def judge(self, features: Features) -> Tensor:
        """Return the logits (B, C) that are told to the world. Most heads tell what they are trained on."""
        scores: Scores = self(features)
        return scores.logits

    def take_words(self, vectors: Tensor) -> None:
        """Take word vectors (count, d) for the names of the newest block; only a label graph has a use for them."""

    def follow(self, batch: Batch, embedding: Tensor, opinion: Tensor | None) -> None:
        """Note, after a step, what the stream has shown: class means, counts of labels.

        `opinion` are the logits (B, classes it knows) of the model of the task before, if somebody asked it.
        """

    def follow_replay(self, batch: Batch, embedding: Tensor) -> None:
        """Note, after a step, what was replayed."""


MakeHead = Callable[["LearnerSettings", int, torch.Generator], Head]  # of features of so many dimensions

HEADS: Registry[MakeHead] = Registry("head", "cuter.learn.heads")
