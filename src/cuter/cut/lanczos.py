"""Block Lanczos for a batch of graphs, with an error estimate that tells which results can be relied on.

(D - W) v = λ M v with y = M^½ v becomes B y = λ y for the symmetric B = M^-½ (D - W) M^-½, whose first eigenvector
M^½ 1 is known. The Krylov space of B, kept orthogonal to it, holds the second eigenvector after a dozen steps. Two
vectors a step, not one: a double λ2 would show a single vector only one of its two directions, and pass for simple.
"""

import functools
from dataclasses import dataclass, fields

import torch
import torch.nn.functional as F
from torch import Tensor

from cuter.cut.ties import MEAN, PEAK, largest

EVEN_SHARE = 8.0  # an error spreads over all nodes: none is taken to have more than so many times its even share
MOST_STEPS = 40
DEGENERATE = 1e-9  # distance of λ2 and λ3, relative to the largest D / M, below which they count as one
USED_UP = {torch.float32: 1e-5, torch.float64: 1e-12}  # steps that find less than this take random directions instead
ROUND_OFF = {torch.float32: 1e-6, torch.float64: 1e-14}  # what a residual can hide, relative to the largest D / M


@dataclass(frozen=True, slots=True, eq=False)
class Approximations:
    """What came out for B graphs: λ2 (B,), v2 (B, n), which can be relied on (B,), and y2 and y3 (B, 2, n)."""

    values: Tensor
    vectors: Tensor
    settled: Tensor
    pairs: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class _Graphs:
    """What the steps need of several graphs; vectors are rows, which makes products several times faster."""

    affinity: Tensor
    diagonal: Tensor  # D / M, (B, 1, n)
    shrink: Tensor  # M^-½, (B, 1, n)
    reach: Tensor  # (B, n): by how much the error of W v can exceed that of y, √(max_j w_ij · Σ_j w_ij / m_j)

    def only(self, chosen: Tensor) -> "_Graphs":
        return _Graphs(*(getattr(self, field.name).index_select(0, chosen) for field in fields(self)))

    def images(self, rows: Tensor) -> Tensor:
        """Return B y for rows y."""
        products = (rows * self.shrink) @ self.affinity
        return torch.addcmul(rows * self.diagonal, products, self.shrink, value=-1)


def lanczos(affinity: Tensor, degree: Tensor, mass: Tensor, start: Tensor, checks: tuple[int, ...]) -> Approximations:
    """Approximate λ2 and v2 of graphs (B, n, n) with these degrees and masses (B, n), from two y a graph, (B, 2, n).

    `checks` are the steps after which settled graphs leave; after the last one all do.
    """
    count, n = mass.shape
    result = Approximations(
        values=torch.zeros(count, dtype=torch.float64, device=mass.device),
        vectors=torch.zeros_like(mass),
        settled=torch.zeros(count, dtype=torch.bool, device=mass.device),
        pairs=torch.zeros_like(start),
    )
    noise = random_rows(n).to(mass)
    alive = torch.arange(count, device=mass.device)
    reach = (affinity.amax(dim=-1) * ((1 / mass).unsqueeze(1) @ affinity)[:, 0]).sqrt()
    graphs = _Graphs(affinity, (degree / mass).unsqueeze(1), mass.rsqrt().unsqueeze(1), reach)
    basis = F.normalize(mass.sqrt(), dim=-1).unsqueeze(1)
    block = _orthonormal(_orthonormal(start, basis)[0], basis)[0]
    images = mass.new_zeros(count, 0, n)  # B y for each y of the basis but the first
    projected = mass.new_zeros(count, 0, 0)  # B in the basis, its lower half
    step = 0
    for check in checks:
        basis, images = _room(basis, 1 + 2 * check, n), _room(images, 2 * check, n)
        projected = _room(projected, 2 * check, 2 * check)
        while step < check:
            at, end = 2 * step, 2 * step + 2
            basis[:, 1 + at : 1 + end] = block
            known = basis[:, : 1 + end]
            images[:, at:end] = image = graphs.images(block)
            coordinates = image @ known.transpose(1, 2)
            projected[:, at:end, :end] = coordinates[:, :, 1:]
            block, sizes = _orthonormal(torch.baddbmm(image, coordinates, known, alpha=-1), known)
            used_up = sizes < USED_UP[mass.dtype]
            if used_up.any():
                block = _orthonormal(torch.where(used_up.unsqueeze(2), noise[at:end], block), known)[0]
            step += 1
        ritz, mixtures = torch.linalg.eigh(projected.cpu(), UPLO="L")  # GPUs solve such batches one by one
        ritz, mixtures = ritz[:, :2].to(basis), mixtures[:, :, :2].transpose(1, 2).to(basis)
        pairs = mixtures @ basis[:, 1:]
        vectors, settled = _settle(graphs, ritz, pairs, mixtures @ images)
        new = (~result.settled[alive]).nonzero().flatten()  # graphs that settled before may still be on board
        place = alive[new]
        result.values[place], result.vectors[place] = ritz[new, 0].double(), vectors[new]
        result.pairs[place], result.settled[place] = pairs[new], settled[new]
        kept = (~result.settled[alive]).nonzero().flatten()
        if not len(kept):
            break
        if 2 * len(kept) < len(alive):  # to go on with some settled graphs costs less than to copy all others
            alive, graphs = alive[kept], graphs.only(kept)
            basis, images, projected, block = (x.index_select(0, kept) for x in (basis, images, projected, block))
    return result


def _settle(graphs: _Graphs, ritz: Tensor, pairs: Tensor, images: Tensor) -> tuple[Tensor, Tensor]:
    """Return the vectors v2, and for which graphs their error does not change what is read off them (see `ties`).

    The error of y2 is residual / gap (Davis and Kahan), where the second Ritz value stands for λ3, and spreads over the
    nodes. Each entry of v2 is then taken from the eigenvalue equation itself, v_i = (W v)_i / (d_i - λ m_i): a mean
    over neighbours errs less, above all for nodes with next to no mass.
    """
    diagonal, shrink = graphs.diagonal[:, 0], graphs.shrink[:, 0]
    scale = diagonal.amax(dim=1, keepdim=True)
    residual = (images - ritz.unsqueeze(2) * pairs).norm(dim=-1) + ROUND_OFF[pairs.dtype] * scale
    gap = ritz[:, 1:] - residual[:, 1:] - ritz[:, :1]
    error = 2**0.5 * residual[:, :1] / gap.clamp(min=torch.finfo(gap.dtype).tiny)
    error = error * min(1.0, EVEN_SHARE / shrink.shape[1] ** 0.5)

    pull = diagonal - ritz[:, :1]
    can = pull > 0.01 * diagonal  # a node that all but hangs on itself would be divided by nothing
    pull = torch.where(can, pull, 1.0)
    vector = torch.where(can, (pairs[:, 0] * diagonal - images[:, 0]) / pull, pairs[:, 0]) * shrink
    slack = error * shrink * torch.where(can, graphs.reach * shrink / pull, 1.0)

    mean_slack = slack.mean(dim=-1, keepdim=True)
    above = (vector - vector.mean(dim=-1, keepdim=True)).abs()
    settled = (gap[:, 0] > DEGENERATE * scale[:, 0]) & _is_clear(above, MEAN * largest(vector), slack + mean_slack)
    for side in (vector, -vector, vector.abs()):  # the peak on either side, and the higher of the two
        top, at = side.max(dim=-1, keepdim=True)
        settled &= _is_clear(top - side, PEAK * largest(side), (slack + slack.gather(1, at)).scatter(1, at, 0.0))
    sound = (pairs.norm(dim=-1) - 1).abs().amax(dim=-1) < 1e-3  # a basis that lost its orthogonality shows here
    return vector, settled & sound


def _is_clear(distances: Tensor, tolerances: Tensor, slack: Tensor) -> Tensor:
    """Tell for which graphs all distances stay on their side of the tolerance, whatever the error within its slack."""
    return ((distances - tolerances).abs() > slack).all(dim=-1)


def _orthonormal(block: Tensor, basis: Tensor) -> tuple[Tensor, Tensor]:
    """Make the rows of a block orthonormal to the basis and to each other; tell how much of each (B, k) was new."""
    rest = torch.baddbmm(block, block @ basis.transpose(1, 2), basis, alpha=-1)
    columns, triangle = torch.linalg.qr(rest.transpose(1, 2))
    return columns.transpose(1, 2), triangle.diagonal(dim1=1, dim2=2).abs()


@functools.lru_cache(maxsize=8)
def random_rows(n: int) -> Tensor:
    """Return rows of random numbers, the same every time: two for each step."""
    return torch.randn(2 * MOST_STEPS, n, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def _room(matrices: Tensor, rows: int, columns: int) -> Tensor:
    """Return the matrices with room for more rows and columns."""
    larger = matrices.new_empty(len(matrices), rows, columns)
    larger[:, : matrices.shape[1], : matrices.shape[2]] = matrices
    return larger
