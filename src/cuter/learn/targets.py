"""Targets answer: what do stream images say of classes that nobody looked for in them?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from cuter.stream.batch import Batch

RATE = 0.5  # how far, in logits, an example moves the threshold of its class


class StreamTarget:
    """Says nothing of them: `ignored`, and the base of the others."""

    def __call__(self, batch: Batch, logits: Tensor) -> Batch:
        """Return the batch with what it says of classes that nobody looked for, given its logits (B, C)."""
        return batch

    def update(self, batch: Batch, logits: Tensor) -> None:
        """See how known examples score, in the stream and at replay."""

    def state_dict(self) -> dict[str, Any]:
        """Return all that is needed to go on exactly as before."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a saved state."""


class AbsentIfSure(StreamTarget):
    """Says that they are absent where the model itself gives them a low score.

    Otherwise an image of a new class never says that it shows none of the old ones, and only replay holds their scores
    down. With the asymmetric loss scores are high: one of 0.5 is a probability of 4 % (docs/cuter.md).
    """

    def __init__(self, below: float):
        self.below = below

    def __call__(self, batch: Batch, logits: Tensor) -> Batch:
        """Add what is known of old classes."""
        return replace(batch, known=batch.known | (torch.sigmoid(logits.detach()) < self.below))


class AbsentIfLowest(StreamTarget):
    """Says that they are absent where a class scores lower than nearly all images that are known to show it.

    What a low score is depends on the backbone, on how much was learned, and on the class. So each class has a
    threshold of its own, which follows a quantile of the scores of its examples in the stream and at replay: one that
    scores higher moves it up by RATE · quantile, one that scores lower moves it down by RATE · (1 − quantile).
    """

    def __init__(self, quantile: float):
        self.quantile = quantile
        self.thresholds = torch.zeros(0)  # logits (C,)

    def __call__(self, batch: Batch, logits: Tensor) -> Batch:
        """Add what is known of old classes."""
        self._grow(logits.shape[1])
        return replace(batch, known=batch.known | (logits.detach() < self.thresholds.to(logits)))

    def update(self, batch: Batch, logits: Tensor) -> None:
        """Let thresholds follow."""
        self._grow(logits.shape[1])
        scores, labels = logits.detach().float().cpu(), batch.labels.cpu()
        moves = (self.quantile - (scores < self.thresholds).float()) * labels
        self.thresholds = self.thresholds + RATE * moves.sum(dim=0)

    def _grow(self, classes: int) -> None:
        self.thresholds = F.pad(self.thresholds, (0, classes - len(self.thresholds)))  # new ones begin at a score of ½

    def state_dict(self) -> dict[str, Any]:
        """Return the thresholds."""
        return {"thresholds": self.thresholds}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over thresholds."""
        self.thresholds = state["thresholds"]
