"""MaskCut (Wang et al., 2023): repeated normalised cuts find one object after another, for a whole batch at once."""

import math
from collections.abc import Sequence
from dataclasses import fields

import torch
from torch import Tensor

from cuter.cut.eigen import Eigenpairs
from cuter.cut.graph import FLOOR, cosine_affinity, degrees, isolate, largest_entries
from cuter.cut.normalized import normalized_cut
from cuter.cut.regions import Regions, bounding_boxes
from cuter.cut.ties import above_mean, first_peak
from cuter.errors import BatchError

OVERLAP = 0.5  # a later region that repeats the one before by more than this is dropped
SMALLEST = 0.01  # and so is one that covers no more than this part of the grid

CPU_BYTES, GPU_BYTES = 16 * 2**20, 2**30  # graphs held at a time: on a CPU what its cache holds


@torch.no_grad()
def mask_cut(
    features: Tensor,
    grid: tuple[int, int],
    max_regions: int = 2,
    tau: float = 0.2,
    *,
    centre: bool = False,
    self_loop_weight: float = 0.0,
    floor: float = FLOOR,
) -> Regions:
    """Find up to `max_regions` regions in each image from its patch features (B, n, d), the grid's patches row by row.

    The defaults are those of MaskCut for keys of DINO; `cut_settings` tells what suits other backbones.
    """
    _check(features, grid, max_regions, tau=tau, self_loop_weight=self_loop_weight, floor=floor)
    with torch.autocast(features.device.type, enabled=False):  # half precision would not tell eigenvalues apart
        parts = [
            _cut_some(
                cosine_affinity(some, tau, floor=floor, centre=centre), grid, max_regions, self_loop_weight, floor
            )
            for some in in_groups(features)
        ]
    return Regions(*(torch.cat([getattr(part, field.name) for part in parts]) for field in fields(Regions)))


def in_groups(features: Tensor) -> Sequence[Tensor]:
    """Split features (B, n, d) into as many images at a time as their graphs should be held at once."""
    held = CPU_BYTES if features.device.type == "cpu" else GPU_BYTES
    return torch.split(features, max(1, held // (4 * features.shape[1] ** 2)))


def _cut_some(
    affinity: Tensor, grid: tuple[int, int], max_regions: int, self_loop_weight: float, floor: float
) -> Regions:
    taken = torch.zeros_like(affinity[:, 0], dtype=torch.bool)
    previous = torch.zeros(len(affinity), *grid, dtype=torch.bool, device=affinity.device)
    found = []
    for number in range(max_regions):
        if number:
            isolate(affinity, taken, floor)
        pairs = _cut_what_can_be_cut(affinity, self_loop_weight, taken)
        vectors, foreground, seeds = orient(pairs.vectors, grid)
        masks = grow(foreground.view(-1, *grid), seeds)
        defined = pairs.vectors.any(dim=1)
        masks &= defined[:, None, None]
        if number:
            masks &= _is_new(masks, previous)[:, None, None]
        flat = masks.flatten(1)
        empty = ~flat.any(dim=1)
        found.append(
            Regions(
                masks,
                bounding_boxes(masks),
                seeds.masked_fill(empty, -1),
                separation(affinity, flat),
                vectors.view(-1, *grid),
                pairs.values.float(),
                pairs.exact,
            )
        )
        previous = torch.where(empty[:, None, None], previous, masks)
        taken = taken | flat
    return Regions(*(torch.stack([getattr(one, field.name) for one in found], dim=1) for field in fields(Regions)))


def _cut_what_can_be_cut(affinity: Tensor, self_loop_weight: float, taken: Tensor) -> Eigenpairs:
    """Cut, but for graphs where all patches that are left are alike: any cut is as good as any other there."""
    left = (~taken).sum(dim=1, keepdim=True)
    in_pieces = ((degrees(affinity) < left - 0.5) & ~taken).any(dim=1)
    if in_pieces.all():
        return normalized_cut(affinity, self_loop_weight=self_loop_weight, without=taken)
    pairs = normalized_cut(affinity[in_pieces], self_loop_weight=self_loop_weight, without=taken[in_pieces])
    values, vectors = pairs.values.new_zeros(len(taken)), torch.zeros_like(affinity[:, 0])
    exact = torch.ones_like(in_pieces)
    values[in_pieces], vectors[in_pieces], exact[in_pieces] = pairs.values, pairs.vectors, pairs.exact
    return Eigenpairs(values, vectors, exact)


def orient(vectors: Tensor, grid: tuple[int, int]) -> tuple[Tensor, Tensor, Tensor]:
    """Decide which side of each cut is the object: return vectors turned its way, foreground (B, n) and seeds (B,).

    The vectors come with their entry of largest size positive. The object is the side of this entry, its seed, unless
    that holds three of the grid's corners or more: then it is the other side, and the seed is its largest entry.
    """
    rows, columns = grid
    corners = torch.tensor([0, columns - 1, (rows - 1) * columns, rows * columns - 1], device=vectors.device)
    foreground = above_mean(vectors)
    inverted = (foreground[:, corners].sum(dim=1) >= 3).unsqueeze(1)
    vectors = torch.where(inverted, -vectors, vectors)
    return vectors, foreground ^ inverted, first_peak(vectors)


def grow(foreground: Tensor, seeds: Tensor) -> Tensor:
    """Return the part of the foreground (B, rows, columns) that is 4-connected to the seed (B,)."""
    region = torch.zeros_like(foreground)
    region.flatten(1).scatter_(1, seeds.unsqueeze(1), True)
    region &= foreground
    size = region.sum()
    while True:
        for _ in range(4):  # look less often than grow: on a GPU a look waits for everything before it
            wider = region.clone()
            wider[:, 1:] |= region[:, :-1]
            wider[:, :-1] |= region[:, 1:]
            wider[:, :, 1:] |= region[:, :, :-1]
            wider[:, :, :-1] |= region[:, :, 1:]
            region = wider & foreground
        if (grown := region.sum()) == size:
            return region
        size = grown


def separation(affinity: Tensor, inside: Tensor) -> Tensor:
    """Return 1 - NCut / 2 of each region (B, n) against the rest: 1 where no edge is cut; 0 for an empty region."""
    weights = inside.to(affinity.dtype)
    from_region = (weights.unsqueeze(1) @ affinity).squeeze(1)
    cut = (from_region * (1 - weights)).sum(dim=1)
    rest = (degrees(affinity) * (1 - weights)).sum(dim=1)
    tiny = torch.finfo(affinity.dtype).tiny
    ncut = cut / from_region.sum(dim=1).clamp(min=tiny) + cut / rest.clamp(min=tiny)
    return torch.where(inside.any(dim=1), (1 - ncut / 2).clamp(0, 1), torch.zeros_like(ncut))


def _is_new(masks: Tensor, previous: Tensor) -> Tensor:
    """Tell which later regions stay: large enough, and no repetition of the one before."""
    both, either = (masks & previous).sum(dim=(1, 2)), (masks | previous).sum(dim=(1, 2))
    size = masks.sum(dim=(1, 2))
    return (both <= OVERLAP * either) & (size > SMALLEST * masks.shape[1] * masks.shape[2])


def _check(
    features: Tensor, grid: tuple[int, int], max_regions: int, *, tau: float, self_loop_weight: float, floor: float
) -> None:
    if features.ndim != 3 or not features.shape[2] or not features.is_floating_point():
        raise BatchError(f"features must be floats of shape (B, n, d), not {features.dtype} {tuple(features.shape)}")
    rows, columns = grid
    if rows < 1 or columns < 1 or rows * columns != features.shape[1]:
        raise BatchError(f"a grid of {rows} × {columns} does not hold {features.shape[1]} patches")
    if max_regions < 1:
        raise BatchError(f"max_regions must be at least 1, not {max_regions}")
    if not -1 <= tau < 1:
        raise BatchError(f"tau is a cosine, from -1 to less than 1, not {tau}")
    if not 0 <= self_loop_weight < math.inf:
        raise BatchError(f"self_loop_weight must be 0 or more mean degrees, not {self_loop_weight}")
    if not 0 < floor < 1:
        raise BatchError(f"floor must be more than 0, to keep the graph in one piece, and less than 1, not {floor}")
    if bad := (~largest_entries(features).isfinite()).nonzero().flatten().tolist():
        raise BatchError(f"the features of image {bad[0]} are not finite ({len(bad)} of {len(features)} images)")
