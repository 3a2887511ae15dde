"""What is read off an eigenvector, with one rule for entries that are equal but for round-off.

Patches with the same neighbours have the same entry, so equal entries are common, and their order in floating point is
an accident. Differences count only from a share of the vector's largest entry on: for the peak, where several are often
equal, a larger one that single precision tells with ease; for the mean one that hardly ever meets an entry.
"""

import torch
from torch import Tensor

PEAK, MEAN = 1e-4, 1e-6


def is_peak(vectors: Tensor) -> Tensor:
    """Return which entries equal their row's largest."""
    return vectors >= vectors.amax(dim=-1, keepdim=True) - PEAK * largest(vectors)


def first_peak(vectors: Tensor) -> Tensor:
    """Return where each row peaks; among equals the first."""
    return is_peak(vectors).int().argmax(dim=-1)


def above_mean(vectors: Tensor) -> Tensor:
    """Return which entries exceed their row's mean."""
    return vectors > vectors.mean(dim=-1, keepdim=True) + MEAN * largest(vectors)


def largest(vectors: Tensor) -> Tensor:
    """Return the size (B, 1) of each row's largest entry."""
    return vectors.abs().amax(dim=-1, keepdim=True)


def signed(vectors: Tensor) -> Tensor:
    """Turn each vector so that its entry of largest size is positive."""
    peak = vectors.gather(1, first_peak(vectors.abs()).unsqueeze(1))
    return torch.where(peak < 0, -vectors, vectors)
