"""Keepers answer: what of a batch may be kept?"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Self

import torch
from torch import Tensor

from cuter.learn.model import Model, View
from cuter.memory import Item, Memory
from cuter.registry import Registry
from cuter.settings import PartSettings
from cuter.stream.batch import Batch


@dataclass(frozen=True, slots=True)
class Kept:
    """Items for memory, and what became of all that was considered: how many were kept, and refused for what.

    invited: memory was asked before they were made, so that all of them enter.
    """

    items: Sequence[Item]
    selection: Counter[str] = field(default_factory=Counter)
    invited: bool = False


Criterion = Callable[[Tensor, Tensor, Tensor], Tensor]  # the loss of logits, labels and known, all (B, C)


@dataclass(frozen=True, slots=True, eq=False)
class RequiredVectors:
    """What memory wants to know of images that were just seen, by the fields of `Item`."""

    required_vectors: Set[str]
    criterion: Criterion

    def __call__(self, view: View, labels: Tensor, known: Tensor) -> dict[str, Tensor]:
        """Return a row for each image, on the CPU."""
        vectors = {}
        if "embedding" in self.required_vectors:
            vectors["embedding"] = view.embedding.detach().float().cpu()
        if "logit_grad" in self.required_vectors:
            vectors["logit_grad"] = logit_grads(self.criterion, view.logits, labels, known).cpu()
        return vectors


def logit_grads(criterion: Criterion, logits: Tensor, labels: Tensor, known: Tensor) -> Tensor:
    """Return ∂loss/∂logits (B, C) of each image's own loss: what the criterion says of it alone in its batch.

    So it does not matter whether the criterion is a sum or a mean over images.
    """
    if not len(logits):
        return torch.zeros_like(logits, dtype=torch.float32)
    with torch.enable_grad():
        leaf = logits.detach().float().requires_grad_()
        images = zip(*(torch.split(rows, 1) for rows in (leaf, labels, known)), strict=True)
        losses = [criterion(*image) for image in images]
        (gradient,) = torch.autograd.grad(losses, leaf)
    return gradient


def row_of(vectors: dict[str, Tensor], row: int) -> dict[str, Any]:
    """Return one row of each, as arguments for an `Item`."""
    return {name: rows[row] for name, rows in vectors.items()}


class Keeper(ABC):
    """Decides what of a batch memory is offered."""

    @classmethod
    @abstractmethod
    def create(cls, settings: Any, model: Model, memory: Memory, vectors: RequiredVectors) -> Self:
        """Make a keeper of these settings, for a learner with this model and memory."""

    @abstractmethod
    def __call__(self, batch: Batch, view: View) -> Kept:
        """Return what of a batch may be kept; `view` is what the model saw of it."""


KEEPERS: Registry[type[Keeper]] = Registry("keeper", "cuter.learn.keepers", "cuter.keepers", PartSettings)
