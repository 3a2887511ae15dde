"""The cut on real photos: the same regions as an exact solver, and objects where people see them."""

from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
import torch
from scipy import ndimage

from cuter.cut import Localiser
from cuter.measure.localisation import corloc
from cuter.stream.images import read_images
from cuter.stream.samples import Dataset
from maskcut_reference import affinity_of, box_of, mask_cut_reference

IMAGES = {"vit-tiny-patch16-224": 100, "dinov2-small": 60}  # the weaker needs more to be better beyond doubt


@pytest.fixture(scope="module", params=IMAGES)
def cuts(request: pytest.FixtureRequest, shared: Path, voc: Dataset):
    """Features, regions of two max_regions and true boxes of VOC test images."""
    localiser = Localiser.load(shared / "weights" / request.param)
    samples = voc.test[: IMAGES[request.param]]
    batches = [
        localiser.features(read_images([sample.path for sample in samples[at : at + 20]], 224))
        for at in range(0, len(samples), 20)
    ]
    patches, grid = torch.cat([batch.patches for batch in batches]), batches[0].grid
    regions = [localiser.cut_features(batch) for batch in batches]
    return localiser.settings, patches, grid, regions, samples


def plain_first_box(features: np.ndarray, grid: tuple[int, int], tau: float, self_loop_weight: float) -> list[int]:
    """The first round by the letter, without a rule for ties: sign, peak and mean as floating point has them."""
    graph = affinity_of(features, tau)
    degree = graph.sum(axis=1)
    mass = np.diag(degree + self_loop_weight * degree.mean())
    vector = scipy.linalg.eigh(np.diag(degree) - graph, mass, subset_by_index=[1, 1])[1][:, 0]
    vector = vector * np.sign(vector[np.abs(vector).argmax()])
    foreground, seed = (vector > vector.mean()).reshape(grid), vector.argmax()
    if foreground[[0, 0, -1, -1], [0, -1, 0, -1]].sum() >= 3:
        foreground, seed = ~foreground, vector.argmin()
    pieces, _ = ndimage.label(foreground)
    return box_of(pieces == pieces.flat[seed])


def test_boxes_are_those_of_the_exact_solver(cuts) -> None:
    settings, patches, grid, regions, _ = cuts
    boxes = torch.cat([part.boxes for part in regions]).numpy()
    same, same_first, degenerate = [], [], 0
    for features, found in zip(patches.numpy(), boxes, strict=True):
        masks, gap = mask_cut_reference(
            features, grid, 2, settings.tau, centre=settings.centre, self_loop_weight=settings.self_loop_weight
        )
        same.append(np.array_equal(found, [box_of(mask) for mask in masks]))
        same_first.append(found[0].tolist() == plain_first_box(features, grid, settings.tau, settings.self_loop_weight))
        degenerate += gap <= 1e-9
    exact = torch.cat([part.exact for part in regions]).float().mean(dim=0)
    print(
        f"\n{settings.features}: both boxes as scipy's {np.mean(same):.4f}, the first box without a rule for ties "
        f"{np.mean(same_first):.4f}, images with λ2 = λ3 {degenerate} of {len(same)}, solved in double precision "
        f"{exact[0]:.3f} and {exact[1]:.3f}"
    )
    assert np.mean(same) >= 0.995
    assert np.mean(same_first) >= 0.97
    assert exact[0] < 0.15


def test_cuts_find_objects_better_than_a_box_that_looks_at_nothing(cuts) -> None:
    _, _, _, regions, samples = cuts
    boxes = torch.cat([part.pixel_boxes(224, 224) for part in regions]).numpy()
    truths = [np.array([(b.x1, b.y1, b.x2, b.y2) for b in sample.boxes]).reshape(-1, 4) for sample in samples]
    whole = np.array([[0.0, 0.0, 224.0, 224.0]])
    middle = np.array([[24.0, 24.0, 200.0, 200.0]])
    ours = corloc([box[:1].astype(float) for box in boxes], truths)
    assert ours > 0.5
    assert ours > corloc([middle] * len(truths), truths) + 0.05
    assert ours > corloc([whole] * len(truths), truths) + 0.05
