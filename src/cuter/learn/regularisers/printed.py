"""The three regularisers of the paper (Sec. 3.2, tab: regularization), as they are printed, with nothing scaled.

A is the Gaussian kernel of the patches' directions, the graph that `cuter assess` takes the Fiedler value of.
"""

import torch
from torch import Tensor

from cuter.cut import Regions, gaussian_affinity, laplacian
from cuter.learn.regularisers.base import register


@register("nuclear", 1.0)  # at any weight it has no gradient
def nuclear(units: Tensor, _: Regions | None) -> Tensor:
    """Return R_l = ‖A‖_*, which is the number of patches, whatever the features: its gradient is round-off.

    A Gaussian kernel is positive semi-definite with ones on its diagonal, so that ‖A‖_* = tr A = n.
    """
    eigenvalues: Tensor = torch.linalg.eigvalsh(gaussian_affinity(units))
    return eigenvalues.abs().sum(dim=-1)


@register("sparse", 3e-3)
def sparse(units: Tensor, _: Regions | None) -> Tensor:
    """Return R_sp = ‖A‖_l1 / ‖A‖_l2 of A as one long vector: n where all patches are alike, √n where none are."""
    affinity = gaussian_affinity(units)
    return affinity.sum(dim=(1, 2)) / affinity.square().sum(dim=(1, 2)).sqrt()


@register("smooth", 2e-5)
def smooth(units: Tensor, _: Regions | None) -> Tensor:
    """Return R_sm = ½ Σ A_ij ‖f_i - f_j‖² = tr FᵀLF: 0 where all patches are alike, n²/e where all are orthogonal.

    The paper has the same features in A and in the distance, so these are directions as well. That also keeps the
    term from being lowered by features that only get shorter.
    """
    return (units * (laplacian(gaussian_affinity(units)) @ units)).sum(dim=(1, 2))
