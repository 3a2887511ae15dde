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

from cuter.cut.graph import degrees
from cuter.cut.lanczos import DEGENERATE, lanczos, random_rows
from cuter.cut.ties import signed
from cuter.errors import BatchError

CHECKS = (14, 18, 24, 30)  # steps after which settled graphs leave
CHECKS_IN_DOUBLE = (6, 10, 16, 24, 36)  # fewer, from where single precision came to
SMALL = 96  # up to this many nodes LAPACK is as fast, and the Krylov space would fill the whole room


@dataclass(frozen=True, slots=True, eq=False)
class Eigenpairs:
    """Second eigenpairs of B graphs.

    values: (B,) float64; vectors: (B, n), vᵀMv = 1, the entry of largest size positive (the first among equals);
    all zero where there is no such vector: a single node, or λ2 = λ3. exact: (B,) bool, single precision did not do.
    """

    values: Tensor
    vectors: Tensor
    exact: Tensor


Mass = Callable[[Tensor, Tensor], Tensor]


def second_eigenpairs(affinity: Tensor, mass: Mass) -> Eigenpairs:
    """Solve (D - W) v = λ2 M v for each graph of (B, n, n).

    `mass` makes the masses (k, n) of k graphs from their degrees (k, n) and their indices (k,). An iterative result is
    kept when its estimated error leaves each entry on its side of the mean, and the peak where it is: what is read off
    it is then what would be read off the exact one.
    """
    if affinity.device.type == "mps":  # which has neither double precision nor QR
        pairs = second_eigenpairs(affinity.cpu(), mass)
        return Eigenpairs(pairs.values, pairs.vectors.to(affinity.device), pairs.exact.to(affinity.device))
    is_full = affinity.device.type != "cuda" or torch.get_float32_matmul_precision() == "highest"
    affinity = affinity.float() if is_full and affinity.dtype != torch.float64 else affinity.double()
    with torch.autocast(affinity.device.type, enabled=False):  # half precision would not tell eigenvalues apart
        return _solve(affinity, mass)


def _solve(affinity: Tensor, mass: Mass) -> Eigenpairs:
    count, n, _ = affinity.shape
    values = torch.zeros(count, dtype=torch.float64, device=affinity.device)
    vectors = torch.zeros_like(affinity[:, 0])
    left = torch.arange(count, device=affinity.device)
    exact = torch.ones(count, dtype=torch.bool, device=affinity.device)
    degree = degrees(affinity)
    masses = mass(degree, left)
    if (masses <= 0).any():
        raise BatchError("a node without any link, not even to itself, belongs to neither side of a cut")
    if n > SMALL:
        rough = lanczos(affinity, degree, masses, _start(degree, masses), CHECKS)
        values, vectors, exact = rough.values, rough.vectors, ~rough.settled
        left = left[exact]
        if len(left):
            doubled = affinity[left].double()
            degree = degrees(doubled)
            fine = lanczos(doubled, degree, mass(degree, left), rough.pairs[left].double(), CHECKS_IN_DOUBLE)
            values[left], vectors[left] = fine.values, fine.vectors.to(vectors)
            left = left[~fine.settled]
    for index in left.tolist():
        graph = affinity[index : index + 1].double()
        masses = mass(degrees(graph), left.new_tensor([index]))
        values[index], vector = solve_exactly(graph[0].cpu().numpy(), masses[0].cpu().numpy())
        vectors[index] = torch.from_numpy(vector).to(vectors)
    return Eigenpairs(values, signed(vectors), exact)


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
