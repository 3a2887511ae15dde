"""The second eigenvector of many graphs at once: fast where single precision suffices, exact where it does not.

The problem is (D - W) v = λ M v with a diagonal mass M: the degrees for the normalised cut, ones for the Fiedler value.
All graphs are first iterated in single precision. What does not settle there goes on in double precision from where it
is; and what does not settle there either, because λ2 and λ3 are too close, goes to LAPACK.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import torch
from torch import Tensor

from cuter.cut.lanczos import DEGENERATE, LARGEST, Approximations, lanczos, random_rows
from cuter.cut.ties import signed

SMALL = LARGEST + 20  # up to this many nodes LAPACK is as fast


@dataclass(frozen=True, slots=True, eq=False)
class Eigenpairs:
    """Second eigenpairs of B graphs.

    values: (B,) float64; vectors: (B, n), vᵀMv = 1, the entry of largest size positive (the first among equals);
    all zero where there is no such vector: a single node, or λ2 = λ3. exact: (B,) bool, solved in double precision.
    """

    values: Tensor
    vectors: Tensor
    exact: Tensor

    def to(self, device: torch.device) -> "Eigenpairs":
        """Move all to a device, in single precision."""
        return Eigenpairs(self.values.float().to(device), self.vectors.to(device), self.exact.to(device))


def second_eigenpairs(affinity: Tensor, mass: Callable[[Tensor], Tensor]) -> Eigenpairs:
    """Solve (D - W) v = λ2 M v for each graph of (B, n, n); `mass` makes the masses (B, n) of the degrees (B, n).

    An iterative result is kept when its error bound proves on which side of its mean each entry lies and where the
    vector peaks. So all results read the same as exact ones.
    """
    if affinity.device.type == "mps":  # which has neither double precision nor QR
        return second_eigenpairs(affinity.cpu(), mass).to(affinity.device)
    count, n, _ = affinity.shape
    # In double precision: two nodes of equal degree must not differ by the order of their sums.
    degree = affinity.sum(dim=-1, dtype=torch.float64)
    masses = mass(degree)
    values, vectors = torch.zeros_like(degree[:, 0]), torch.zeros_like(affinity[:, 0])
    left = torch.ones(count, dtype=torch.bool, device=affinity.device)
    exact = left
    if n > SMALL:
        rough = _iterate(affinity, degree, masses, _start(degree, masses))
        values, vectors, left = rough.values, rough.vectors, ~rough.settled
        exact = left
    if n > SMALL and left.any():
        fine = _iterate(affinity[left].double(), degree[left], masses[left], rough.pairs[left])
        values[left], vectors[left] = fine.values, fine.vectors.to(vectors)
        left = left.masked_scatter(left, ~fine.settled)
    for index in left.nonzero().flatten().tolist():
        value, vector = solve_exactly(affinity[index].double().cpu().numpy(), masses[index].cpu().numpy())
        values[index], vectors[index] = value, torch.from_numpy(vector).to(vectors)
    return Eigenpairs(values, signed(vectors), exact)


def _iterate(affinity: Tensor, degree: Tensor, masses: Tensor, start: Tensor) -> Approximations:
    return lanczos(affinity, *(tensor.to(affinity.dtype) for tensor in (degree, masses, start)))


def _start(degree: Tensor, masses: Tensor) -> Tensor:
    """Return two vectors a graph: the degrees, which often tell an object, and noise, which lacks no direction."""
    noise = random_rows(masses.shape[1])[-1].to(masses).expand_as(masses)
    return torch.stack([degree - degree.mean(dim=-1, keepdim=True), noise], dim=1) * masses.sqrt().unsqueeze(1)


def solve_exactly(affinity: np.ndarray, mass: np.ndarray) -> tuple[float, np.ndarray]:
    """Return λ2 and its vector in double precision; a zero vector where λ2 is multiple: no cut is better than another.

    That happens in a graph whose nodes are all alike, or with several nodes that have no neighbours.
    """
    n = len(mass)
    if n == 1:
        return 0.0, np.zeros(1)
    graph = np.diag(affinity.sum(axis=1)) - affinity
    values, vectors = scipy.linalg.eigh(graph, np.diag(mass), subset_by_index=[1, min(2, n - 1)])
    is_simple = n == 2 or values[1] - values[0] > DEGENERATE * (affinity.sum(axis=1) / mass).max()
    return float(values[0]), vectors[:, 0] if is_simple else np.zeros(n)
