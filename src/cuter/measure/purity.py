"""Whether cut-outs in memory show what they are labelled with, where the data set has boxes to tell."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cuter.memory import Item
from cuter.stream.images import read_size
from cuter.stream.samples import Sample

SHARE = 0.5  # of the object in the cut-out, or of the cut-out in the object


def purity(items: Sequence[Item], names: Sequence[str], samples: Mapping[str, Sample], image_size: int) -> float | None:
    """Return the share of cut-outs that show an object of their label; None without cut-outs or boxes.

    A cut-out shows an object if half of the object's box lies in it, or half of it in the object's box, as in a
    close-up. A set of patches is where its patches are, not where the box around them is. Boxes of items are in pixels
    of images that were squashed to `image_size`.
    """
    verdicts = []
    for item in items:
        name, sample = names[item.classes[0]], samples[item.id]
        if item.box is not None and any(box.label == name for box in sample.boxes):  # a crowd is a label without a box
            parts = np.array([item.box]) if item.mask is None else patch_boxes(item.mask.numpy(), image_size)
            verdicts.append(shows(parts, name, sample, image_size))
    return float(np.mean(verdicts)) if verdicts else None


def patch_boxes(mask: NDArray[np.bool_], image_size: int) -> NDArray[np.float64]:
    """Return the boxes x1, y1, x2, y2 (k, 4) of the patches that a mask (rows, columns) has."""
    corners = np.argwhere(mask)[:, ::-1]
    sides = image_size / np.array(mask.shape[::-1])
    return np.concatenate([corners * sides, (corners + 1) * sides], axis=1)


def shows(parts: NDArray[Any], name: str, sample: Sample, image_size: int) -> bool:
    """Tell whether parts of a sample's squashed image, boxes (k, 4) side by side, show an object of this class."""
    scale = np.array(read_size(sample.path) * 2) / image_size
    objects = np.array([(o.x1, o.y1, o.x2, o.y2) for o in sample.boxes if o.label == name]).reshape(-1, 4)
    pieces = parts * scale
    low = np.maximum(objects[:, None, :2], pieces[None, :, :2])  # (objects, k, 2)
    high = np.minimum(objects[:, None, 2:], pieces[None, :, 2:])
    shared = _area(np.concatenate([low, high], axis=2)).sum(axis=1)
    return bool(((shared > 0) & (shared >= SHARE * np.minimum(_area(objects), _area(pieces).sum()))).any())


def _area(boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    sides: NDArray[np.float64] = (boxes[..., 2:] - boxes[..., :2]).clip(min=0)
    areas: NDArray[np.float64] = sides.prod(axis=-1)
    return areas
