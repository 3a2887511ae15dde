"""Patches become a graph: the more alike two patches, the heavier their edge.

The cut works on the thresholded cosine graph of MaskCut; the assessment of backbones on the Gaussian kernel of the
paper (Sec. 2.1). All functions take a batch: features (B, n, d) give affinities (B, n, n).
"""

import torch
import torch.nn.functional as F
from torch import Tensor

FLOOR = 1e-5  # keeps the graph connected, so that a zero eigenvalue belongs to the constant vector alone


def unit_features(features: Tensor, centre: bool = False) -> Tensor:
    """Scale each patch's feature to length 1; `centre` first subtracts the mean feature of the image's patches.

    A zero feature stays zero. So does one that only round-off tells from the mean: it has no direction of its own.
    """
    largest = largest_entries(features)[:, None, None]
    if not ((largest > 1e-12) & (largest < 1e12) | (largest == 0)).all():  # their squares would leave single precision
        features = features / torch.where(largest > 0, largest, 1.0)
    features = features.float()
    if centre:
        deviations = features - features.mean(dim=1, keepdim=True)
        noise = 1e-6 * features.norm(dim=-1, keepdim=True)
        features = torch.where(deviations.norm(dim=-1, keepdim=True) > noise, deviations, torch.zeros_like(deviations))
    return F.normalize(features, dim=-1)


def largest_entries(features: Tensor) -> Tensor:
    """Return the size (B,) of each image's largest entry; not finite if one of its entries is not."""
    largest: Tensor = torch.linalg.vector_norm(features, ord=torch.inf, dim=(1, 2))
    return largest


def cosine_affinity(features: Tensor, tau: float = 0.2, *, floor: float = FLOOR, centre: bool = False) -> Tensor:
    """Return 1 where the cosine of two patches exceeds `tau`, else `floor`; a zero feature has floor links only."""
    units = unit_features(features, centre)
    affinity = (units @ units.transpose(1, 2)).gt_(tau).clamp_(min=floor)
    if tau < 0:  # the cosine of a zero feature is 0, which would pass for alike
        isolate(affinity, ~units.any(dim=-1), floor)
    return affinity


def isolate(affinity: Tensor, nodes: Tensor, floor: float = FLOOR) -> None:
    """Cut the nodes (B, n; bool) off, in place: floor links to all, themselves included."""
    if nodes.any():
        affinity.masked_fill_(nodes.unsqueeze(1) | nodes.unsqueeze(2), floor)


def gaussian_affinity(features: Tensor, sigma: float = 1.0) -> Tensor:
    """Return exp(-‖a - b‖² / 2σ²) for all pairs of patches (paper, Sec. 2.1)."""
    features = features if features.dtype == torch.float64 else features.float()
    features = features - features.mean(dim=1, keepdim=True)  # distances stay, and lose less to round-off
    lengths = features.square().sum(dim=-1)
    distances = lengths.unsqueeze(1) + lengths.unsqueeze(2) - 2 * features @ features.transpose(1, 2)
    itself = torch.eye(features.shape[1], dtype=torch.bool, device=features.device)
    return torch.exp(-distances.clamp(min=0).masked_fill(itself, 0) / (2 * sigma**2))


def degrees(affinity: Tensor) -> Tensor:
    """Return the total weight of each node's edges."""
    return affinity.sum(dim=-1)


def laplacian(affinity: Tensor) -> Tensor:
    """Return L = D - A."""
    return torch.diag_embed(degrees(affinity)) - affinity
