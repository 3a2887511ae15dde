"""Targets answer: what do stream images say of classes that nobody looked for in them?"""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor

from cuter.registry import Registry
from cuter.settings import PartSettings
from cuter.stream.batch import Batch


class StreamTargets(ABC):
    """Says what stream images teach.

    guesses_train_head_only: whether what is guessed changes the head alone, and not the backbone.
    """

    guesses_train_head_only = False

    def __init__(self, settings: Any = None):
        self.settings = settings

    @abstractmethod
    def __call__(self, batch: Batch, logits: Tensor) -> Batch:
        """Return the batch with what its images, of these logits (B, C), say."""


TARGETS: Registry[type[StreamTargets]] = Registry("targets", "cuter.learn.targets", "cuter.targets", PartSettings)


@TARGETS.register("ignored")
class Ignored(StreamTargets):
    """Says nothing of them."""

    def __call__(self, batch: Batch, logits: Tensor) -> Batch:
        """Return the batch as it is."""
        return batch


class AbsentIfSureSettings(PartSettings):
    """Settings of absence where the model is sure."""

    below: float = Field(0.5, gt=0, le=1, description="The score below which a class is absent.")
    train: Literal["model", "head"] = Field(
        "model",
        description="What learns from classes that are only guessed to be absent: the whole model, or the head alone, "
        "so that wrong guesses do not spoil the features.",
    )


@TARGETS.register("absent-if-sure")
class AbsentIfSure(StreamTargets):
    """Says that they are absent where the model itself gives them a low score.

    Otherwise an image of a new class never says that it shows none of the old ones, and only replay holds their scores
    down. With the asymmetric loss scores are high: one of 0.5 is a probability of 4 % (docs/explanation/cuter.md).
    """

    Settings: ClassVar[type[PartSettings]] = AbsentIfSureSettings

    def __init__(self, settings: AbsentIfSureSettings):
        super().__init__(settings)
        self.guesses_train_head_only = settings.train == "head"

    def __call__(self, batch: Batch, logits: Tensor) -> Batch:
        """Add what is known of old classes."""
        return replace(batch, known=batch.known | (torch.sigmoid(logits.detach()) < self.settings.below))
