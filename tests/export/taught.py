"""A learner that has been taught a little, so that no weight of its head is zero."""

from typing import Any

import torch

from cuter.backbone import Backbone
from cuter.learn.calibration import Calibration
from cuter.learn.learner import Learner
from cuter.stream.batch import Batch

NAMES = ("cat", "dog | wolf", "naïve 猫")


def images(count: int = 6, size: int = 32, seed: int = 0) -> torch.Tensor:
    """Return random images."""
    draws = torch.Generator().manual_seed(seed)
    return torch.randint(256, (count, 3, size, size), dtype=torch.uint8, generator=draws)


def taught(backbone: Backbone | str, **settings: Any) -> Learner:
    """Teach two tasks, and calibrate each class in its own way."""
    head = {"kind": "linear", "lr": 0.1} | settings.pop("head", {})
    settings |= {"head": head, "memory": {"images": 4}, "lr": 1e-3}
    learner = Learner.create("rs", backbone=backbone, device="cpu", **settings)
    size = learner.backbone.image_size
    first = [[NAMES[0]], [NAMES[0], NAMES[1]], [], [NAMES[1]], [], [NAMES[0]]]
    for number in range(3):
        learner.observe(Batch.of(images(size=size, seed=number), first))
    for number in range(3, 6):
        learner.observe(Batch.of(images(size=size, seed=number), [[NAMES[2]], [], [NAMES[2]], [], [], []]))
    learner.calibration = Calibration(lines={NAMES[0]: (1.5, -0.3), NAMES[1]: (0.4, 0.2)}, images=7)
    return learner
