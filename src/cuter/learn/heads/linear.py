"""A linear head."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cuter.backbone.features import Features
from cuter.learn.heads.base import HEADS, Head, HeadSettings, Scores


@HEADS.register("linear")
class LinearHead(Head):
    """A linear layer on the embedding.

    Rows start at zero: an unknown class begins undecided and does not disturb the features.
    """

    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim
        self.weights = nn.ParameterList()
        self.biases = nn.ParameterList()

    @classmethod
    def create(cls, settings: HeadSettings, dim: int, generator: torch.Generator) -> Head:
        """Make a head for embeddings of `dim` numbers."""
        return cls(dim)

    def grow(
        self, names: Sequence[str], device: torch.device | None = None, generator: torch.Generator | None = None
    ) -> list[nn.Parameter]:
        """Add classes and return the new parameters."""
        self.weights.append(nn.Parameter(torch.zeros(len(names), self.dim, device=device)))
        self.biases.append(nn.Parameter(torch.zeros(len(names), device=device)))
        return [self.weights[-1], self.biases[-1]]

    @property
    def blocks(self) -> list[int]:
        """Sizes of the blocks, in the order in which they were added."""
        return [len(bias) for bias in self.biases]

    def forward(self, features: Features) -> Scores:
        """Return logits (B, C)."""
        return Scores(self.logits(features.embedding))

    def logits(self, embedding: Tensor) -> Tensor:
        """Return logits (B, C) of embeddings (B, D)."""
        if not len(self.weights):
            return embedding[:, :0]
        return F.linear(embedding, torch.cat(list(self.weights)), torch.cat(list(self.biases)))
