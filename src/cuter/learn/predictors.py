"""Predictors answer: what is looked at to predict?

Training sees whole images with several labels each, so that small things are scored by little of what the model sees.
The same features that a forward gives anyway say where the things are: a second look at these regions, larger, and the
best of them for each class joins the score of the whole image. docs/predict.md has what it brings and costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from cuter.cut import CutSettings, mask_cut
from cuter.learn.model import Model
from cuter.stream.resize import resize

# Chosen on VOC train → val (docs/predict.md).
MAX_REGIONS = 2
SIDE = 5 / 7  # of the image's side, at which a region is looked at: 160 of 224 pixels cost half of a whole image


@dataclass(frozen=True, slots=True, eq=False)
class RegionScores:
    """What whole images and their regions say.

    whole: probabilities (B, C) from whole images; joined: (B, C), from both together; boxes: (B, C, 4), the region
    that speaks most for each class, x1, y1, x2, y2 as shares of width and height; zeros where an image has none.
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
    height; None where no region was found, so that only the whole image speaks.
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
    """Looks at whole images, cuts the features of that very forward, and looks at the regions once more."""

    model: Model
    cut: CutSettings

    def __call__(self, images: Tensor) -> RegionScores:
        """Score uint8 images (B, 3, H, W) of the model's size."""
        features = self.model.backbone(images)
        whole = self.model.head.judge(features)
        found = mask_cut(
            features.patches, features.grid, MAX_REGIONS, self.cut.tau, centre=self.cut.centre, loops=self.cut.loops
        )
        height, width = images.shape[2:]
        boxes = found.pixel_boxes(height, width)
        # Where nothing was found the whole image speaks once more, so that its score stays as it is.
        best = whole.clone()
        shown = torch.zeros(*whole.shape, 4, device=whole.device)
        places = found.found.nonzero()
        if len(places) and whole.shape[1]:
            scores = whole.new_full((*found.found.shape, whole.shape[1]), -torch.inf)
            scores[found.found] = self.model.judge(self._enlarged(images, places, boxes))
            highest, which = scores.max(dim=1)  # (B, C)
            has_region = found.found.any(dim=1)
            best[has_region] = highest[has_region]
            chosen = boxes.gather(1, which.unsqueeze(2).expand(-1, -1, 4))
            shown[has_region] = (chosen / boxes.new_tensor([width, height] * 2))[has_region]
        return RegionScores(torch.sigmoid(whole.float()), torch.sigmoid((whole + best).float() / 2), shown)

    def _enlarged(self, images: Tensor, places: Tensor, boxes: Tensor) -> Tensor:
        """Return the regions at `places` (k, 2), image and number, all at the size at which they are looked at."""
        patch = self.model.backbone.patch_size
        size = max(1, round(SIDE * images.shape[-1] / patch)) * patch
        crops = []
        for image, number in places.tolist():
            x1, y1, x2, y2 = boxes[image, number].tolist()
            crops.append(resize(images[image, None, :, y1:y2, x1:x2], size))
        return torch.cat(crops)
