"""Targets answer: what do stream images say of classes that nobody looked for in them?"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from cuter.stream.batch import Batch

StreamTarget = Callable[[Batch, Tensor], Batch]  # a batch and its logits → the batch with what it says of them


class Ignored:
    """Says nothing of them."""

    def __call__(self, batch: Batch, logits: Tensor) -> Batch:
        """Return the batch as it is."""
        return batch


@dataclass(frozen=True, slots=True)
class AbsentIfSure:
    """Says that they are absent where the model itself gives them a low score.

    Otherwise an image of a new class never says that it shows none of the old ones, and only replay holds their scores
    down. With the asymmetric loss scores are high: one of 0.5 is a probability of 4 % (docs/explanation/cuter.md).
    """

    below: float

    def __call__(self, batch: Batch, logits: Tensor) -> Batch:
        """Add what is known of old classes."""
        return replace(batch, known=batch.known | (torch.sigmoid(logits.detach()) < self.below))
