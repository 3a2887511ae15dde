"""Images that are held back from learning, of all months: what a model is calibrated and measured on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import torch

from cuter.learn.learner import Learner
from cuter.learn.replay import as_batch
from cuter.measure.metrics import multilabel_scores
from cuter.memory import MEMORIES, Item, MemorySettings
from cuter.stream.batch import Batch

IMAGES = 100  # as many bytes as these have uncompressed: some 800 photos


class HeldBack:
    """A fair draw of all images that were held back so far, within a budget.

    New months ask for new labels, so a model is measured on images of all months: those of the last one say nothing of
    the labels before.

    Args:
        size: Height and width of the images.
        images: Budget, counted in pixels of so many images; they are stored as JPEG.
    """

    def __init__(self, size: int, images: int = IMAGES):
        self.size = size
        self.generator = torch.Generator().manual_seed(0)
        settings = MemorySettings(images=images, codec="jpeg")
        self.memory = MEMORIES["reservoir"](images * size**2, self.generator, settings)

    def __len__(self) -> int:
        return len(self.memory)

    def add(self, batch: Batch, names: tuple[str, ...]) -> None:
        """Take in images; their columns become those of the learner, `names`."""
        batch = batch.aligned(names)
        self.memory.offer(
            [
                Item(image, labels, known, id)
                for image, labels, known, id in zip(batch.images, batch.labels, batch.known, batch.ids, strict=True)
            ]
        )

    def forget(self, ids: Iterable[str]) -> Counter[str]:
        """Remove some images; return how many items each had."""
        return self.memory.forget(ids)

    def fit(self, learner: Learner, batch_size: int = 64) -> dict[str, float | None]:
        """Calibrate a learner on all images; return its figures on them, in percent.

        Classes are measured where somebody looked for them. Figures that do not depend on the calibration alone are
        honest: the images were not learned.
        """
        if not len(self):
            return {}
        names = learner.labels.names
        items = self.memory.take(range(len(self))).items
        batch = as_batch(items, names, self.size, unknown="ignored")
        learner.calibrate(batch, batch_size)
        scores = multilabel_scores(learner.scores(batch.images, batch_size), batch.labels, batch.known)
        return {"map": scores["map"]}

    def state_dict(self) -> dict[str, Any]:
        """Return all that is needed to go on exactly as before."""
        return {
            "size": self.size,
            "images": self.memory.settings.images,
            "memory": self.memory.state_dict(),
            "generator": self.generator.get_state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> HeldBack:
        """Build what a state describes."""
        held_back = cls(state["size"], state["images"])
        held_back.memory.load_state_dict(state["memory"])
        held_back.generator.set_state(state["generator"])
        return held_back
