"""Targets answer: what do images say of classes that nobody looked for in them?"""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from cuter.stream.batch import Batch

SURELY_ABSENT = 0.5  # with the asymmetric loss a score of 0.5 is a probability of 4 % (docs/cuter.md)


def as_known(replay: Batch) -> Batch:
    """Say nothing: unknown labels take no part, as in the stream."""
    return replay


def rest_absent(replay: Batch) -> Batch:
    """Say that they are absent, over all classes seen so far: for a cut-out of one class this is the paper's one-hot.

    It is wrong where an image does hold a class of another task. But without it the classes of different tasks are
    never told from each other: no image of a cat would ever say that it shows no dog.
    """
    return replace(replay, known=torch.ones_like(replay.known))


def surely_absent(batch: Batch, logits: Tensor) -> Batch:
    """Say that they are absent where the model itself is sure of it.

    Otherwise an image of a new class never says that it shows none of the old ones, and only replay holds their scores
    down.
    """
    return replace(batch, known=batch.known | (torch.sigmoid(logits.detach()) < SURELY_ABSENT))


REPLAY_TARGETS: dict[str, Callable[[Batch], Batch]] = {"absent": rest_absent, "ignored": as_known}
STREAM_TARGETS: dict[str, Callable[[Batch, Tensor], Batch]] = {
    "ignored": lambda batch, _: batch,
    "absent-if-sure": surely_absent,
}
