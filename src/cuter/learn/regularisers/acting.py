"""Regularisers that act: forms of low rank that are not constant, and what the cut itself would have lowered.

All are scaled by the number of patches n so that a finer grid of the same image gives about the same value, and a
weight means the same for every grid. Gradients are of eigenvalues and singular values only, never of their vectors:
those divide by gaps, which may be zero.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from cuter.cut import Regions, gaussian_affinity, laplacian
from cuter.cut.eigen import second_eigenpairs
from cuter.cut.graph import FLOOR
from cuter.cut.maskcut import separation
from cuter.errors import BatchError
from cuter.learn.regularisers.base import register

DELTA = 0.01  # eigenvalues of A / n sum to 1: a direction with less than about a hundredth of the image is noise


@register("nuclear-features", 1e-2)
def nuclear_features(units: Tensor, _: Regions | None) -> Tensor:
    """Return ‖F‖_* / √n of the matrix of directions: 1 where they are one up to sign, √min(n, d) where all differ."""
    singular_values: Tensor = torch.linalg.svdvals(units)
    return singular_values.sum(dim=-1) / math.sqrt(units.shape[1])


@register("log-det", 1.5e-3)
def log_det(units: Tensor, _: Regions | None) -> Tensor:
    """Return log det(I + A / nδ), a smooth count of the eigenvalues above nδ."""
    n = units.shape[1]
    matrix = gaussian_affinity(units) / (n * DELTA) + torch.eye(n, dtype=units.dtype, device=units.device)
    factor: Tensor = torch.linalg.cholesky(matrix)
    return 2 * factor.diagonal(dim1=1, dim2=2).log().sum(dim=-1)


@register("zero-diagonal", 6e-2)
def zero_diagonal(units: Tensor, _: Regions | None) -> Tensor:
    """Return ‖A - I‖_* / n, the theorem's noise without diagonal when nothing is like anything: A* = I."""
    eigenvalues: Tensor = torch.linalg.eigvalsh(gaussian_affinity(units))
    return (eigenvalues - 1).abs().sum(dim=-1) / units.shape[1]


@register("fiedler", 0.2)
def fiedler(units: Tensor, _: Regions | None) -> Tensor:
    """Return λ2 / n of L = D - A, as `cuter assess` does; 0 where λ2 is multiple and has no gradient.

    λ2 = vᵀLv with v held constant has the gradient of λ2: a change of v changes vᵀLv in second order only.
    """
    affinity = gaussian_affinity(units)
    with torch.no_grad():
        vectors = F.normalize(second_eigenpairs(affinity, lambda degree, _: torch.ones_like(degree)).vectors, dim=-1)
    energy = vectors.unsqueeze(1) @ laplacian(affinity) @ vectors.unsqueeze(2)
    return energy.flatten() / units.shape[1]


@register("cut-energy", 2.5e-2, needs_regions=True)
def cut_energy(units: Tensor, regions: Regions | None) -> Tensor:
    """Return cut / vol(S) + cut / vol(rest) of the first region S, from 0 to 2; 0 where nothing was found.

    Edges are cosines, where they exceed the floor: the cut's own graph before its threshold, which has no gradient. The
    Gaussian kernel of directions is never below e^-2, and so near 1 for every cut of it that little is left to lower.
    """
    if regions is None or regions.masks[:, 0].flatten(1).shape != units.shape[:2]:
        given = "none" if regions is None else f"those of {len(regions.masks)} images on a grid of {regions.grid}"
        raise BatchError(
            f"cut-energy needs the regions of {len(units)} images of {units.shape[1]} patches, not {given}"
        )
    inside = regions.masks[:, 0].flatten(1)
    energy = 2 - 2 * separation((units @ units.transpose(1, 2)).clamp(min=FLOOR), inside)
    return energy * inside.any(dim=1)
