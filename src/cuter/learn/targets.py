"""Targets answer: what do replayed items say of classes that nobody looked for in them?"""

from collections.abc import Callable
from dataclasses import replace

import torch

from cuter.stream.batch import Batch


def as_known(replay: Batch) -> Batch:
    """Say nothing: unknown labels take no part, as in the stream."""
    return replay


def rest_absent(replay: Batch) -> Batch:
    """Say that they are absent, over all classes seen so far.

    It is wrong where an image does hold a class of another task. But without it the classes of different tasks are
    never told from each other: no image of a cat would ever say that it shows no dog.
    """
    return replace(replay, known=torch.ones_like(replay.known))


TARGETS: dict[str, Callable[[Batch], Batch]] = {"absent": rest_absent, "ignored": as_known}
