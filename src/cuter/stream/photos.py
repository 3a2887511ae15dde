"""Photos in groups: each read once, as it is and as a model sees it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from PIL import Image
from torch import Tensor

from cuter.errors import DataError
from cuter.stream.images import read_image, squash

BATCH = 16  # images encoded at once


@dataclass(frozen=True, slots=True, eq=False)
class Photos:
    """The readable images of a batch: their places in the list, the originals, and pixels (B, 3, size, size).

    `unreadable` tells the reason by place.
    """

    places: list[int]
    originals: list[Image.Image]
    pixels: Tensor
    unreadable: dict[int, str]


def read_photos(paths: Sequence[Path], size: int) -> Iterator[Photos]:
    """Read images once, both as they are and squashed as the learner sees them, some at a time."""
    for start in range(0, len(paths), BATCH):
        originals: dict[int, Image.Image] = {}
        unreadable: dict[int, str] = {}
        for place, path in enumerate(paths[start : start + BATCH], start):
            try:
                originals[place] = read_image(path)
            except DataError as error:
                unreadable[place] = str(error)
        squashed = [squash(image, size) for image in originals.values()]
        pixels = torch.stack(squashed) if squashed else torch.empty(0, 3, size, size, dtype=torch.uint8)
        yield Photos(list(originals), list(originals.values()), pixels, unreadable)
