"""Heads turn features into scores, and grow."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class LinearHead(nn.Module):
    """A linear layer whose rows come in blocks, one for each time the label space grew.

    A new block is a new parameter, so the optimiser's state of the old rows stays as it is and the new rows start
    with a fresh one. Rows start at zero: an unknown class begins undecided and does not disturb the features.
    """

    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim
        self.weights = nn.ParameterList()
        self.biases = nn.ParameterList()

    def grow(self, count: int, device: torch.device | None = None) -> list[nn.Parameter]:
        """Add `count` classes and return the new parameters."""
        self.weights.append(nn.Parameter(torch.zeros(count, self.dim, device=device)))
        self.biases.append(nn.Parameter(torch.zeros(count, device=device)))
        return [self.weights[-1], self.biases[-1]]

    @property
    def blocks(self) -> list[int]:
        """Sizes of the blocks, in the order in which they were added."""
        return [len(bias) for bias in self.biases]

    def forward(self, embedding: Tensor) -> Tensor:
        """Return logits (B, classes)."""
        if not len(self.weights):
            return embedding[:, :0]
        return F.linear(embedding, torch.cat(list(self.weights)), torch.cat(list(self.biases)))
