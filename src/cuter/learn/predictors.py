"""Predictors answer: what is looked at to predict?

A small thing is a small part of what the model sees of the whole image. The same features that a forward gives anyway
say where it is: a second look at its region, as large as a whole image, says more (docs/predict.md has how much, and
what it costs).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from cuter.cut import CutSettings
from cuter.learn.localise import own_regions
from cuter.learn.model import Model
from cuter.stream.resize import enlarged

LARGEST = 0.4  # share of the patches: a larger region shows little that the image did not (docs/predict.md)


@dataclass(frozen=True, slots=True, eq=False)
class RegionScores:
    """What whole images and their regions say.

    whole: probabilities (B, C) from whole images; joined: (B, C), from both together; boxes: (B, C, 4), the region that
    a class was seen in, x1, y1, x2, y2 as shares of width and height; zeros where that is the whole image.
    """

    whole: Tensor
    joined: Tensor
    boxes: Tensor

    def cpu(self) -> RegionScores:
        """Move all to the CPU."""
        return RegionScores(self.whole.cpu(), self.joined.cpu(), self.boxes.cpu())

    @classmethod
    def joining(cls, parts: Sequence[RegionScores], classes: int) -> RegionScores:
        """Return the scores of several batches as those of one."""
        nothing = torch.zeros(0, classes)
        parts = [*parts, cls(nothing, nothing, torch.zeros(0, classes, 4))]
        return cls(*(torch.cat([getattr(part, field) for part in parts]) for field in ("whole", "joined", "boxes")))


@dataclass(frozen=True, slots=True)
class Prediction:
    """What is predicted for one image.

    probabilities: by class name; boxes: the region that each class was seen in, x1, y1, x2, y2 as shares of width and
    height; None where that is the whole image.
    """

    probabilities: dict[str, float]
    boxes: dict[str, tuple[float, float, float, float] | None]


def predictions(scores: RegionScores, names: Sequence[str]) -> list[Prediction]:
    """Name what was found, image by image."""
    return [
        Prediction(
            dict(zip(names, row, strict=True)),
            {name: (x1, y1, x2, y2) if x2 else None for name, (x1, y1, x2, y2) in zip(names, boxes, strict=True)},
        )
        for row, boxes in zip(scores.joined.tolist(), scores.boxes.tolist(), strict=True)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class RegionPredictor:
    """Looks at whole images, cuts the features of that very forward, and looks at small regions once more.

    The score of a class is the higher one of the whole image and its region.
    """

    model: Model
    cut: CutSettings

    def __call__(self, images: Tensor) -> RegionScores:
        """Score uint8 images (B, 3, H, W) of the model's size."""
        features = self.model.backbone(images)
        whole = self.model.head.judge(features)
        found = own_regions(features, self.cut, rounds=1)
        is_small = found.found[:, 0] & (found.masks.float().mean(dim=(1, 2, 3)) < LARGEST)
        height, width = images.shape[2:]
        boxes = found.pixel_boxes(height, width)[is_small, 0]
        best, shown = whole.clone(), whole.new_zeros(*whole.shape, 4)
        if len(boxes):
            regions = self.model.judge(enlarged(images[is_small], boxes.tolist()))
            best[is_small] = torch.maximum(whole[is_small], regions)
            shares = boxes / boxes.new_tensor([width, height] * 2)
            shown[is_small] = shares.unsqueeze(1) * (regions > whole[is_small]).unsqueeze(2)
        return RegionScores(torch.sigmoid(whole.float()), torch.sigmoid(best.float()), shown)
