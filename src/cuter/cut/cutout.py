"""A region of one image, in pixels of its original."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cuter.cut.regions import Regions


@dataclass(frozen=True, slots=True, eq=False)
class Cutout:
    """What one round found in one image; the box is in pixels of the original, whatever size was encoded."""

    number: int  # of the round, from 1
    found: bool
    box: tuple[int, int, int, int]
    score: float
    seed: int
    mask: np.ndarray  # (rows, columns) bool
    vector: np.ndarray  # (rows, columns)


def cutouts(regions: Regions, index: int, size: tuple[int, int]) -> list[Cutout]:
    """Return all regions of one image of a batch, `size` being the width and height of its original."""
    width, height = size
    boxes = regions.pixel_boxes(height, width)[index].tolist()
    return [
        Cutout(
            number=turn + 1,
            found=bool(regions.found[index, turn]),
            box=tuple(boxes[turn]),
            score=float(regions.scores[index, turn]),
            seed=int(regions.seeds[index, turn]),
            mask=regions.masks[index, turn].cpu().numpy(),
            vector=regions.vectors[index, turn].cpu().numpy(),
        )
        for turn in range(len(boxes))
    ]
