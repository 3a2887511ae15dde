"""MaskCut, one image at a time in double precision with scipy: slow, plain, and written apart from the product."""

import numpy as np
import scipy.linalg
from scipy import ndimage

FLOOR = 1e-5


def affinity_of(features, tau, centre=False):
    features = np.asarray(features, dtype=np.float64)
    if centre:
        features = features - features.mean(axis=0)
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    units = np.divide(features, lengths, out=np.zeros_like(features), where=lengths > 0)
    graph = np.where(units @ units.T > tau, 1.0, FLOOR)
    lost = lengths[:, 0] == 0
    graph[lost, :] = graph[:, lost] = FLOOR
    return graph


def second_eigenpair(graph, mass):
    """λ2, its vector, and the distance to λ3 relative to the largest degree over mass."""
    degree = graph.sum(axis=1)
    values, vectors = scipy.linalg.eigh(np.diag(degree) - graph, np.diag(mass), subset_by_index=[1, 2])
    return values[0], vectors[:, 0], (values[1] - values[0]) / (degree / mass).max()


def first_of_the_largest(values):
    """Of entries that are equal, but for a ten-thousandth of the largest size, the first."""
    return int(np.flatnonzero(values >= values.max() - 1e-4 * np.abs(values).max())[0])


def object_side(vector, grid):
    rows, columns = grid
    seed = first_of_the_largest(np.abs(vector))
    vector = vector * np.sign(vector[seed])
    round_off = 1e-6 * np.abs(vector).max()
    foreground = (vector > vector.mean() + round_off).reshape(rows, columns)
    corners = sum(int(foreground[row, column]) for row in (0, -1) for column in (0, -1))
    if corners >= 3:
        foreground = ~foreground
        seed = first_of_the_largest(-vector)
    pieces, _ = ndimage.label(foreground)
    return pieces == pieces.flat[seed]


def box_of(mask):
    if not mask.any():
        return [0, 0, 0, 0]
    rows, columns = np.nonzero(mask)
    return [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]


def mask_cut_reference(features, grid, max_regions=2, tau=0.2, *, centre=False, self_loop_weight=0.0):
    """Masks (max_regions, rows, columns) of one image, and the smallest relative distance of λ2 and λ3 that was met."""
    graph = affinity_of(features, tau, centre)
    taken = np.zeros(len(graph), dtype=bool)
    masks, gaps = [], []
    previous = np.zeros(grid, dtype=bool)
    for number in range(max_regions):
        graph[taken, :] = graph[:, taken] = FLOOR
        degree = graph.sum(axis=1)
        extra = 0 if taken.all() else self_loop_weight * degree[~taken].mean()
        _, vector, gap = second_eigenpair(graph, degree + extra * ~taken)
        gaps.append(gap)
        all_alike = (graph[~taken][:, ~taken] > 0.5).all()
        mask = np.zeros(grid, dtype=bool) if all_alike or gap <= 1e-9 else object_side(vector, grid)
        if number:
            overlap = (mask & previous).sum() / max((mask | previous).sum(), 1)
            if overlap > 0.5 or mask.sum() <= 0.01 * mask.size:
                mask = np.zeros(grid, dtype=bool)
        if mask.any():
            previous = mask
        taken |= mask.ravel()
        masks.append(mask)
    return np.stack(masks), min(gaps)
