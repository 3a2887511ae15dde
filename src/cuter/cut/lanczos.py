"""Block Lanczos for a batch of graphs, with an error bound that tells which results are beyond doubt.

(D - W) v = λ M v with y = M^½ v becomes B y = λ y for the symmetric B = M^-½ (D - W) M^-½, whose first eigenvector
M^½ 1 is known. The Krylov space of B, kept orthogonal to it, holds the second eigenvector after a dozen steps. Two
vectors a step, not one: a double λ2 would show a single vector only one of its two directions, and pass for simple.
"""

import functools
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from cuter.cut.ties import is_peak, tolerance

EVEN_SHARE = 8.0  # an error spreads over all nodes: none is taken to have more than so many times its even share
DEGENERATE = 1e-9  # distance of λ2 and λ3, relative to the largest D / M, below which they count as one
USED_UP = {torch.float32: 1e-5, torch.float64: 1e-12}  # steps that find less than this take random directions instead
ROUND_OFF = {torch.float32: 2e-7, torch.float64: 1e-14}  # what a residual can hide, relative to the largest D / M


@dataclass(frozen=True, slots=True, eq=False)
class Approximations:
    """What came out for B graphs: λ2 (B,), v2 (B, n), which are beyond doubt (B,), and y2 and y3 (B, 2, n)."""

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

    def only(self, chosen: Tensor) -> "_Graphs":
        return _Graphs(*(getattr(self, name).index_select(0, chosen) for name in self.__slots__))

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
    graphs = _Graphs(affinity, (degree / mass).unsqueeze(1), mass.rsqrt().unsqueeze(1))
    reach = ((1 / mass).unsqueeze(1) @ affinity)[:, 0]
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
        vectors, settled = _settle(graphs, reach, ritz, pairs, mixtures @ images)
        settled |= result.settled[alive]
        result.values[alive], result.vectors[alive], result.pairs[alive] = ritz[:, 0].double(), vectors, pairs
        result.settled[alive] = settled
        kept = (~settled).nonzero().flatten()
        if not len(kept):
            break
        if 2 * len(kept) < len(alive):  # to go on with some settled graphs costs less than to copy all others
            alive, reach, graphs = alive[kept], reach[kept], graphs.only(kept)
            basis, images, projected, block = (x.index_select(0, kept) for x in (basis, images, projected, block))
    return result


def _settle(graphs: _Graphs, reach: Tensor, ritz: Tensor, pairs: Tensor, images: Tensor) -> tuple[Tensor, Tensor]:
    """Return the vectors v2, and for which graphs their error cannot change what is read off them (see `ties`).

    The error of y2 is residual / gap (Davis and Kahan). Each entry of v2 is then taken from the eigenvalue equation
    itself, v_i = (W v)_i / (d_i - λ m_i): a mean over neighbours errs less, above all for nodes with next to no mass.
    `reach` is W M^-1 1, which bounds by how much the error of W v exceeds that of y.
    """
    diagonal, shrink = graphs.diagonal[:, 0], graphs.shrink[:, 0]
    scale = diagonal.amax(dim=1, keepdim=True)
    residual = (images - ritz.unsqueeze(2) * pairs).norm(dim=-1) + ROUND_OFF[pairs.dtype] * scale
    gap = ritz[:, 1:] - residual[:, 1:] - ritz[:, :1]
    error = 2**0.5 * residual[:, :1] / gap.clamp(min=torch.finfo(gap.dtype).tiny)
    error = error * min(1.0, EVEN_SHARE / shrink.shape[1] ** 0.5)

    pull = diagonal - ritz[:, :1]
    can = pull > 0.01 * diagonal
    pull = torch.where(can, pull, 1.0)
    vector = torch.where(can, (pairs[:, 0] * diagonal - images[:, 0]) / pull, pairs[:, 0]) * shrink
    strongest = graphs.affinity.diagonal(dim1=1, dim2=2)  # a node is most like itself
    slack = error * shrink * torch.where(can, (strongest * reach).sqrt() * shrink / pull, 1.0)

    distance = (vector - vector.mean(dim=-1, keepdim=True)).abs()
    margin = (distance - tolerance(vector)).abs() - slack.mean(dim=-1, keepdim=True)
    settled = (gap[:, 0] > DEGENERATE * scale[:, 0]) & (margin > slack).all(dim=-1)
    for side in (vector, -vector, vector.abs()):  # the peak on either side, and the higher of the two
        close = side >= (side - slack).amax(dim=-1, keepdim=True) - slack
        settled &= ~(close & ~is_peak(side)).any(dim=-1)
    sound = (pairs.norm(dim=-1) - 1).abs().amax(dim=-1) < 1e-3  # fails when the Krylov space is used up
    return vector, settled & sound


def _orthonormal(block: Tensor, basis: Tensor) -> tuple[Tensor, Tensor]:
    """Make the rows of a block orthonormal to the basis and to each other; tell how much of each (B, k) was new."""
    rest = torch.baddbmm(block, block @ basis.transpose(1, 2), basis, alpha=-1)
    columns, triangle = torch.linalg.qr(rest.transpose(1, 2))
    return columns.transpose(1, 2), triangle.diagonal(dim1=1, dim2=2).abs()


@functools.lru_cache(maxsize=8)
def random_rows(n: int) -> Tensor:
    """Return rows of random numbers, the same every time: two for each of up to forty steps."""
    return torch.randn(80, n, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def _room(matrices: Tensor, rows: int, columns: int) -> Tensor:
    """Return the matrices with room for more rows and columns."""
    larger = matrices.new_empty(len(matrices), rows, columns)
    larger[:, : matrices.shape[1], : matrices.shape[2]] = matrices
    return larger
