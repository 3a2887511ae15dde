"""Targets answer: what do stream images say of classes that nobody looked for in them?"""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from cuter.stream.batch import Batch

SURELY_ABSENT = 0.5  # with the asymmetric loss a score of 0.5 is a probability of 4 % (docs/cuter.md)


def surely_absent(batch: Batch, logits: Tensor) -> Batch:
    """Say that they are absent where the model itself is sure of it.

    Otherwise an image of a new class never says that it shows none of the old ones, and only replay holds their scores
    down.
    """
    return replace(batch, known=batch.known | (torch.sigmoid(logits.detach()) < SURELY_ABSENT))


def ignored(batch: Batch, logits: Tensor) -> Batch:
    """Say nothing of them."""
    return batch


STREAM_TARGETS: dict[str, Callable[[Batch, Tensor], Batch]] = {
    "ignored": ignored,
    "absent-if-sure": surely_absent,
}
