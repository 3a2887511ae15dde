"""The model: a backbone and a head that grows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from cuter.backbone import Backbone, Features
from cuter.cut import Regions
from cuter.learn.heads import Head, LinearHead, Scores


@dataclass(frozen=True, slots=True)
class View:
    """What one forward gives: logits (B, C), the pooled embedding (B, D), patch features (B, n, d) on a grid.

    Where a part of the learner asked for them: the regions that were cut and, in the images before augmentation, their
    boxes (B, k, 4), half-open x1, y1, x2, y2 in pixels, and masks (B, k, rows, columns) on the same grid; empty where
    nothing was found.
    states: vectors behind the logits, as the head describes them; features: what the head saw.
    """

    logits: Tensor
    embedding: Tensor
    patches: Tensor
    grid: tuple[int, int]
    regions: Regions | None = None
    boxes: Tensor | None = None
    masks: Tensor | None = None
    states: Tensor | None = None
    features: Features | None = None

    @classmethod
    def of_nothing(cls, classes: int, dim: int, device: torch.device) -> View:
        """Return what a forward of no images would give, without one."""
        logits, embedding = torch.zeros(0, classes, device=device), torch.zeros(0, dim, device=device)
        return cls(logits, embedding, patches=embedding.unsqueeze(1), grid=(1, 1))


class Model(nn.Module):
    """f = head ∘ backbone."""

    def __init__(self, backbone: Backbone, head: Head | None = None):
        super().__init__()
        self.backbone = backbone
        self.head = head or LinearHead(backbone.embedding_dim)

    def forward(self, images: Tensor, visible: Tensor | None = None) -> View:
        """Look at images (B, 3, H, W): uint8, or float in 0..1; or at their visible patches, (B, rows, columns)."""
        features = self.backbone(images, visible)
        scores: Scores = self.head(features)
        return View(
            scores.logits, features.embedding, features.patches, features.grid, states=scores.states, features=features
        )

    def logits_for_head(self, view: View) -> Tensor:
        """Return the logits of a view once more: what is learned from them changes the head, and not the backbone."""
        assert view.features is not None
        scores: Scores = self.head(view.features.detach())
        return scores.logits

    def predict_logits(self, images: Tensor, visible: Tensor | None = None) -> Tensor:
        """Return the logits (B, C) of images, or of their visible patches, that a prediction is made of."""
        return self.head.predict_logits(self.backbone(images, visible))

    @contextmanager
    def inference(self) -> Iterator[None]:
        """Only look, for a while: no gradients, and no part that behaves otherwise while it learns."""
        self.eval()
        try:
            with torch.no_grad():
                yield
        finally:
            self.train()
