"""What an image becomes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

VECTORS = ("embedding", "patches", "tokens")


@dataclass(frozen=True, slots=True, eq=False)  # eq: comparing tensors with == gives no single truth value
class Features:
    """One forward's view of a batch: an embedding an image, and one vector a patch.

    embedding: (B, D); patches: (B, n, d), row by row, of the kind that was chosen for the cut; grid: (rows, columns)
    with rows · columns = n; tokens: (B, n, D), what the encoder puts out for each patch.
    visible: (B, n), which patches went through the encoder: the vectors of the others are zero; None: all of them.
    """

    embedding: Tensor
    patches: Tensor
    grid: tuple[int, int]
    tokens: Tensor
    visible: Tensor | None = None

    def detach(self) -> Features:
        """Return the same, through which no gradient reaches the encoder."""
        vectors = {name: getattr(self, name).detach() for name in VECTORS}
        return replace(self, **vectors)

    def to(self, dtype: torch.dtype) -> Features:
        """Return the same with vectors of this type."""
        vectors = {name: getattr(self, name).to(dtype) for name in VECTORS}
        return replace(self, **vectors)
