"""Keepers answer: what of a batch may be kept?"""

from collections import Counter
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from cuter.learn.losses import asymmetric_loss
from cuter.learn.model import View
from cuter.memory import Item
from cuter.stream.batch import Batch


@dataclass(frozen=True, slots=True)
class Kept:
    """Items for memory, and what became of all that was considered: how many were kept, and refused for what."""

    items: Sequence[Item]
    selection: Counter[str] = field(default_factory=Counter)


Keeper = Callable[[Batch, View], Kept]


def whole_images(batch: Batch, view: View, wants: Set[str] = frozenset()) -> Kept:
    """Offer every image as it came, with what is known of its labels, and with the vectors that memory wants."""
    rows = zip(batch.images.cpu(), batch.labels.cpu(), batch.known.cpu(), batch.ids, strict=True)
    vectors = wanted_vectors(wants, view, batch.labels, batch.known)
    return Kept([Item(*row, **row_of(vectors, number)) for number, row in enumerate(rows)])


def wanted_vectors(wants: Set[str], view: View, labels: Tensor, known: Tensor) -> dict[str, Tensor]:
    """Return what memory wants to know of images that were just seen, by the fields of `Item`, on the CPU."""
    vectors = {}
    if "embedding" in wants:
        vectors["embedding"] = view.embedding.detach().float().cpu()
    if "residual" in wants:
        vectors["residual"] = residuals(view.logits, labels, known).cpu()
    return vectors


def residuals(logits: Tensor, labels: Tensor, known: Tensor) -> Tensor:
    """Return ∂loss/∂logits (B, C) of each image's own loss, whatever batch it is in."""
    with torch.enable_grad():
        leaf = logits.detach().float().requires_grad_()
        (gradient,) = torch.autograd.grad(asymmetric_loss(leaf, labels, known), leaf)
    return gradient * known.any(dim=1).sum()  # the loss is the mean over the images of which something is known


def row_of(vectors: dict[str, Tensor], row: int) -> dict[str, Any]:
    """Return one row of each, as arguments for an `Item`."""
    return {name: rows[row] for name, rows in vectors.items()}
