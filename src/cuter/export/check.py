"""An exported model is asked about images, and its answers are held against the learner's."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from cuter.errors import BatchError, CuterError
from cuter.learn.learner import Learner
from cuter.measure.metrics import multilabel_scores
from cuter.stream.batch import Batch
from cuter.stream.resize import resize

RANDOM_IMAGES = 50


def images_to_check(learner: Learner, check: Batch | None) -> Tensor:
    """Return the images of a batch in the model's size, or random ones: from noise to a few large patches of colour."""
    size = learner.backbone.image_size
    if check is not None:
        if not len(check):
            raise BatchError("there is no image to check the export with")
        return resize(check.images, size)
    generator = torch.Generator().manual_seed(0)
    details = [1 + (size - 1) * number // (RANDOM_IMAGES - 1) for number in range(RANDOM_IMAGES)]
    noises = [torch.randint(256, (1, 3, detail, detail), generator=generator).float() for detail in details]
    return torch.cat([F.interpolate(noise, (size, size), mode="bilinear") for noise in noises]).round().to(torch.uint8)


def comparison(ours: Tensor, theirs: Tensor, learner: Learner, check: Batch | None) -> dict[str, Any]:
    """Return how far two tables of probabilities (B, C) differ, and the second one's mAP where labels are known."""
    apart = (ours - theirs).abs()
    found: dict[str, Any] = {
        "images": len(ours),
        "largest_difference": float(apart.max()),
        "mean_difference": float(apart.mean()),
    }
    if check is not None:
        found["map"] = mean_average_precision(theirs, learner, check)
        found["map_of_the_learner"] = mean_average_precision(ours, learner, check)
    return found


def require_equal(found: dict[str, Any], tolerance: float) -> None:
    """Refuse an exported model that does not say what the learner says."""
    if not found["largest_difference"] <= tolerance:  # also where it is not a number
        raise CuterError(
            f"the exported model differs from the learner by {found['largest_difference']:.2g} in a probability, and "
            f"{tolerance:g} is accepted: nothing was written"
        )


def mean_average_precision(probabilities: Tensor, learner: Learner, check: Batch) -> float | None:
    """Return mAP in percent over the classes that both the learner and the batch know."""
    names = [name for name in check.names if name in learner.labels]
    own = [learner.labels.column(name) for name in names]
    columns = [check.names.index(name) for name in names]
    if not names:
        return None
    return multilabel_scores(probabilities[:, own], check.labels[:, columns], check.known[:, columns])["map"]
