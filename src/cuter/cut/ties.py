"""What is read off an eigenvector, with one rule for entries that only round-off tells apart.

Patches with the same neighbours have the same entry, so equal entries are common, and their order in floating point is
an accident. Entries count as equal that differ by less than TIE, relative to the vector's largest.
"""

import torch
from torch import Tensor

TIE = 1e-6


def is_peak(vectors: Tensor) -> Tensor:
    """Return which entries equal their row's largest."""
    return vectors >= vectors.amax(dim=-1, keepdim=True) - tolerance(vectors)


def first_peak(vectors: Tensor) -> Tensor:
    """Return where each row peaks; among equals the first."""
    return is_peak(vectors).int().argmax(dim=-1)


def above_mean(vectors: Tensor) -> Tensor:
    """Return which entries exceed their row's mean."""
    return vectors > vectors.mean(dim=-1, keepdim=True) + tolerance(vectors)


def tolerance(vectors: Tensor) -> Tensor:
    """Return the difference (B, 1) below which entries of a row are equal."""
    return TIE * vectors.abs().amax(dim=-1, keepdim=True)


def signed(vectors: Tensor) -> Tensor:
    """Turn each vector so that its entry of largest size is positive."""
    peak = vectors.gather(1, first_peak(vectors.abs()).unsqueeze(1))
    return torch.where(peak < 0, -vectors, vectors)
