"""The normalised cut (Shi and Malik, 2000) of a batch of graphs, and the Fiedler value of the paper."""

import torch
from torch import Tensor

from cuter.cut.eigen import Eigenpairs, second_eigenpairs


@torch.no_grad()
def normalized_cut(affinity: Tensor, *, self_loop_weight: float = 0.0, without: Tensor | None = None) -> Eigenpairs:
    """Return the second eigenpairs of (D - W) v = λ D v for graphs (B, n, n).

    `self_loop_weight` adds to each node a loop of that many mean degrees. A loop is never cut, but counts in its side's
    volume:
    0 is the plain normalised cut, which lets a few well-connected nodes outweigh many others; large values tend to the
    ratio cut, where all nodes weigh the same. Nodes marked in `without` (B, n; bool) get no loop and don't count in
    the mean: a loop would make a volume of its own out of a node that has no links, and the cut would go for it.
    """

    def mass(degree: Tensor, graphs: Tensor) -> Tensor:
        inside = torch.ones_like(degree) if without is None else (~without.to(graphs.device))[graphs].to(degree)
        mean = (degree * inside).sum(dim=-1, keepdim=True) / inside.sum(dim=-1, keepdim=True).clamp(min=1)
        return degree + self_loop_weight * mean * inside

    return second_eigenpairs(affinity, mass)


@torch.no_grad()
def fiedler_values(affinity: Tensor) -> Tensor:
    """Return the second smallest eigenvalues (B,) of L = D - A (paper, Sec. 2.1)."""
    return second_eigenpairs(affinity, lambda degree, _: torch.ones_like(degree)).values
