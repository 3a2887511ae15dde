"""How fast the batched cut is beside one exact scipy solve an image, on one thread, and how much memory it takes.

    python benchmarks/cut.py --data-root VOCdevkit --backbone FOLDER

Real features at three sizes of grid: the backbone's own, twice as many rows and columns from an input twice as large,
and 60 × 60 interpolated from those.

'Solve' starts from the graphs: normalized_cut, with its checks and exact fall-backs, against scipy.linalg.eigh
(generalised, double precision, the second and third eigenvector, as MaskCut's own code calls it). 'Cut' starts from the
features and ends with boxes. Both sides take turns, so that a machine that gets slower or faster meanwhile does so to
both; the ratio is of the medians. Memory is the growth of a fresh process's peak.
"""

import argparse
import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import scipy.linalg
import torch
import torch.nn.functional as F
from rich.console import Console
from rich.table import Table
from scipy import ndimage
from threadpoolctl import threadpool_limits

from cuter.backbone import Backbone, load_backbone
from cuter.cut import CutSettings, cosine_affinity, cut_settings, degrees, mask_cut, normalized_cut
from cuter.cut.graph import FLOOR
from cuter.stream.datasets import load_dataset
from cuter.stream.images import read_images

SIDES = 60  # of the largest grid: n = 3,600


def masses(affinity: torch.Tensor, self_loop_weight: float) -> torch.Tensor:
    degree = degrees(affinity)
    return degree + self_loop_weight * degree.mean(dim=-1, keepdim=True)


def scipy_solve(graph: np.ndarray, mass: np.ndarray) -> np.ndarray:
    laplacian = np.diag(graph.sum(axis=1)) - graph
    _, vectors = scipy.linalg.eigh(laplacian, np.diag(mass), subset_by_index=[1, 2])
    return vectors[:, 0]


def scipy_cut(features: np.ndarray, grid: tuple[int, int], settings: CutSettings) -> tuple[int, ...]:
    """Cut one image as the published code does: from features to a box, in double precision."""
    features = features.astype(np.float64)
    if settings.centre:
        features = features - features.mean(axis=0)
    units = features / np.linalg.norm(features, axis=1, keepdims=True)
    graph = np.where(units @ units.T > settings.tau, 1.0, FLOOR)
    degree = graph.sum(axis=1)
    vector = scipy_solve(graph, degree + settings.self_loop_weight * degree.mean())
    vector = vector * np.sign(vector[np.abs(vector).argmax()])
    foreground = (vector > vector.mean()).reshape(grid)
    seed = vector.argmax()
    if foreground[[0, 0, -1, -1], [0, -1, 0, -1]].sum() >= 3:
        foreground, seed = ~foreground, vector.argmin()
    pieces, _ = ndimage.label(foreground)
    rows, columns = np.nonzero(pieces == pieces.flat[seed])
    return columns.min(), rows.min(), columns.max() + 1, rows.max() + 1


def seconds(work: Callable[[], object]) -> float:
    before = time.perf_counter()
    work()
    return time.perf_counter() - before


def compare(
    patches: torch.Tensor, grid: tuple[int, int], settings: CutSettings, max_regions: int, alone: int
) -> list[str]:
    """Time both sides by turns; scipy on the first `alone` images only, where all would take too long."""
    graphs = [
        (graph.double().numpy(), mass.double().numpy())
        for graph, mass in (
            (g[0], masses(g, settings.self_loop_weight)[0]) for g in each_graph(patches[:alone], settings)
        )
    ]
    arrays = patches[:alone].numpy()
    times: dict[str, list[float]] = {"solve": [], "scipy solve": [], "cut": [], "scipy cut": []}
    options = {"centre": settings.centre, "self_loop_weight": settings.self_loop_weight}
    for _ in range(max_regions):
        times["solve"].append(solve_time(patches, settings) / len(patches))
        times["scipy solve"] += [seconds(lambda pair=pair: scipy_solve(*pair)) for pair in graphs]
        times["cut"].append(seconds(lambda: mask_cut(patches, grid, 1, settings.tau, **options)) / len(patches))
        times["scipy cut"] += [seconds(lambda one=one: scipy_cut(one, grid, settings)) for one in arrays]
    typical = {name: statistics.median(values) for name, values in times.items()}
    ours, theirs = (peak_growth(side, patches, settings, grid) for side in ("ours", "scipy"))
    return [
        f"{grid[0]} × {grid[1]} = {grid[0] * grid[1]:,}",
        *(f"{1000 * typical[name]:.2f}" for name in ("solve", "scipy solve")),
        f"{typical['scipy solve'] / typical['solve']:.1f}",
        *(f"{1000 * typical[name]:.2f}" for name in ("cut", "scipy cut")),
        f"{typical['scipy cut'] / typical['cut']:.1f}",
        f"{ours:.0f}, {theirs:.0f}",
    ]


def each_graph(patches: torch.Tensor, settings: CutSettings, at_a_time: int = 1) -> Iterator[torch.Tensor]:
    for some in patches.split(at_a_time):
        yield cosine_affinity(some, settings.tau, centre=settings.centre)


def solve_time(patches: torch.Tensor, settings: CutSettings) -> float:
    """Time the solver alone, over the same groups of images that mask_cut makes."""
    from cuter.cut.maskcut import CPU_BYTES

    total = 0.0
    for graphs in each_graph(patches, settings, max(1, CPU_BYTES // (4 * patches.shape[1] ** 2))):
        total += seconds(lambda graphs=graphs: normalized_cut(graphs, self_loop_weight=settings.self_loop_weight))
    return total


def peak_growth(side: str, patches: torch.Tensor, settings: CutSettings, grid: tuple[int, int]) -> float:
    """Return by how many MB the peak memory of a fresh process grows when it cuts these images."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_grow, (side, patches.numpy(), settings, grid))


def _grow(side: str, patches: np.ndarray, settings: CutSettings, grid: tuple[int, int]) -> float:
    mask_cut(torch.zeros(1, 4, 4), (2, 2))  # what is loaded at the first call does not count
    before = _peak()
    if side == "ours":
        mask_cut(
            torch.from_numpy(patches),
            grid,
            1,
            settings.tau,
            centre=settings.centre,
            self_loop_weight=settings.self_loop_weight,
        )
    else:
        scipy_cut(patches[0], grid, settings)
    return _peak() - before


def _peak() -> float:
    """Return the largest size so far in MB; not from getrusage, where a child starts with its parent's."""
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


@torch.no_grad()
def encode(backbone: Backbone, paths: list[str], scale: int) -> tuple[torch.Tensor, tuple[int, int]]:
    size = backbone.image_size * scale
    views = [backbone(batch) for batch in read_images(paths, size).split(4)]
    return torch.cat([view.patches for view in views]), views[0].grid


def interpolate(patches: torch.Tensor, grid: tuple[int, int]) -> torch.Tensor:
    maps = patches.transpose(1, 2).unflatten(2, grid)
    return F.interpolate(maps, (SIDES, SIDES), mode="bilinear").flatten(2).transpose(1, 2).contiguous()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-root", required=True)
    parser.add_argument("--backbone", required=True)
    parser.add_argument("--images", type=int, default=64)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    threadpool_limits(1)  # of scipy's own BLAS
    backbone = load_backbone(arguments.backbone).eval()
    settings = cut_settings(backbone)
    backbone.set_features(settings.features)
    samples = load_dataset("voc", arguments.data_root).test[: arguments.images]
    paths = [str(sample.path) for sample in samples]
    console = Console()
    console.print(f"{arguments.backbone}, {len(paths)} images, {settings}")
    table = Table("patches", "solve, ms", "scipy, ms", "times", "cut, ms", "scipy, ms", "times", "MB: ours, scipy")
    small, grid = encode(backbone, paths, 1)
    table.add_row(*compare(small, grid, settings, max_regions=9, alone=len(paths)))
    middle, grid = encode(backbone, paths, 2)
    table.add_row(*compare(middle, grid, settings, max_regions=3, alone=min(8, len(paths))))
    table.add_row(
        *compare(interpolate(middle, grid), (SIDES, SIDES), settings, max_regions=1, alone=min(2, len(paths)))
    )
    console.print(table)


if __name__ == "__main__":
    main()
