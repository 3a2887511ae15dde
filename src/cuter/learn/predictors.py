"""Predictors answer: what is looked at to predict?

A small thing is a small part of what the model sees of the whole image. The same features that a forward gives anyway
say where it is: a second look at its region, as large as a whole image, says more. Gain and cost:
docs/explanation/region-prediction.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from cuter.cut import CutSettings
from cuter.learn.localise import own_regions
from cuter.learn.model import Model
from cuter.registry import Registry
from cuter.settings import PartSettings
from cuter.stream.resize import enlarged

# Chosen by mAP and cost on VOC train → val (docs/explanation/region-prediction.md).
REGIONS = 2  # of each image
UNDECIDED = 0.7  # an image whose second highest score is lower shows one class: it is not looked at again


@dataclass(frozen=True, slots=True, eq=False)
class RegionScores:
    """What whole images and their regions say.

    whole: probabilities (B, C) from whole images; joined: (B, C), from both together; boxes: (B, C, 4), the region that
    a class was seen in, x1, y1, x2, y2 as shares of width and height; zeros where that is the whole image; numbers:
    (B, C), which region that is, from 1 on in the order of the cut; 0 where it is the whole image.
    """

    whole: Tensor
    joined: Tensor
    boxes: Tensor
    numbers: Tensor

    def cpu(self) -> RegionScores:
        """Move all to the CPU."""
        return RegionScores(*(getattr(self, field.name).cpu() for field in fields(self)))

    @classmethod
    def joining(cls, parts: Sequence[RegionScores], classes: int) -> RegionScores:
        """Return the scores of several batches as those of one."""
        nothing = torch.zeros(0, classes)
        parts = [*parts, cls(nothing, nothing, torch.zeros(0, classes, 4), nothing.long())]
        return cls(*(torch.cat([getattr(part, field.name) for part in parts]) for field in fields(cls)))


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


@dataclass(frozen=True, eq=False)
class Predictor(ABC):
    """Scores images with a model; `cut` is how its patch features are cut."""

    model: Model
    cut: CutSettings

    @abstractmethod
    def __call__(self, images: Tensor) -> RegionScores:
        """Score uint8 images (B, 3, H, W) of the model's size."""


PREDICTORS: Registry[type[Predictor]] = Registry(
    "predictor", "cuter.learn.predictors", "cuter.predictors", PartSettings
)


@PREDICTORS.register("whole")
class WholePredictor(Predictor):
    """Looks at whole images."""

    def __call__(self, images: Tensor) -> RegionScores:
        """Score whole images."""
        scores = torch.sigmoid(self.model.predict_logits(images).float())
        return RegionScores(
            scores, scores, scores.new_zeros(*scores.shape, 4), torch.zeros_like(scores, dtype=torch.long)
        )


@PREDICTORS.register("regions")
class RegionPredictor(Predictor):
    """Looks at whole images, cuts the features of that very forward, and looks at regions once more.

    Only images that may show a second class are looked at again. There the logit of a class is the mean of two: of the
    whole image, and of the region where the class scores highest.
    """

    def __call__(self, images: Tensor) -> RegionScores:
        """Score uint8 images (B, 3, H, W) of the model's size."""
        features = self.model.backbone(images)
        whole = self.model.head.predict_logits(features)
        joined, shown = whole.clone(), whole.new_zeros(*whole.shape, 4)
        numbers = torch.zeros_like(whole, dtype=torch.long)
        again = (_second_highest(torch.sigmoid(whole)) > UNDECIDED).nonzero().flatten()
        found = own_regions(features.patches[again], features.grid, self.cut, REGIONS)
        row, number = found.found.nonzero(as_tuple=True)
        if len(row):
            height, width = images.shape[2:]
            boxes = found.pixel_boxes(height, width)
            regions = whole.new_full((len(again), REGIONS, whole.shape[1]), -torch.inf)
            regions[row, number] = self.model.predict_logits(enlarged(images[again[row]], boxes[row, number].tolist()))
            best, which = regions.max(dim=1)
            again, best, which, boxes = (of[found.found.any(dim=1)] for of in (again, best, which, boxes))
            joined[again] = (whole[again] + best) / 2
            shares = boxes / boxes.new_tensor([width, height] * 2)
            seen = best > whole[again]
            shown[again] = shares.gather(1, which.unsqueeze(2).expand(-1, -1, 4)) * seen.unsqueeze(2)
            numbers[again] = (which + 1) * seen
        return RegionScores(torch.sigmoid(whole.float()), torch.sigmoid(joined.float()), shown, numbers)


def _second_highest(scores: Tensor) -> Tensor:
    """Return the second highest of each row (B, C); the highest where there is but one class, zero without any."""
    classes = scores.shape[1]
    return scores.topk(min(2, classes), dim=1).values[:, -1] if classes else scores.new_zeros(len(scores))
