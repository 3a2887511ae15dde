"""Images to regions: a backbone and the cut that suits it."""

from __future__ import annotations

import dataclasses
import os

import torch
from torch import Tensor

from cuter.backbone import Backbone, Features, load_backbone
from cuter.cut.maskcut import mask_cut
from cuter.cut.regions import Regions
from cuter.cut.settings import CutSettings, cut_settings


class Localiser:
    """A backbone with its cut settings."""

    def __init__(self, backbone: Backbone, settings: CutSettings | None = None):
        self.settings = settings or cut_settings(backbone)
        self.backbone = backbone.eval()
        backbone.set_features(self.settings.features)

    @classmethod
    def load(cls, name: str | os.PathLike[str], features: str | None = None, **overrides: float | bool) -> Localiser:
        """Load a backbone by name; what is not given of features, tau, centre and self_loop_weight is what suits it."""
        backbone = load_backbone(name)
        settings = cut_settings(backbone)
        changes = {**overrides, **({"features": features} if features else {})}
        if changes:
            settings = dataclasses.replace(settings, **changes, origin="given")  # type: ignore[arg-type]
        return cls(backbone, settings)

    def to(self, device: torch.device | str) -> Localiser:
        """Move to a device; images may come from another."""
        self.backbone.to(device)
        return self

    @torch.no_grad()
    def features(self, images: Tensor) -> Features:
        """Encode uint8 or float images (B, 3, H, W)."""
        device = next(self.backbone.parameters(), images).device
        result: Features = self.backbone(images.to(device))
        return result

    def cut(self, images: Tensor, max_regions: int = 2) -> Regions:
        """Find up to `max_regions` regions in each image (B, 3, H, W)."""
        return self.cut_features(self.features(images), max_regions)

    def cut_features(self, features: Features, max_regions: int = 2) -> Regions:
        """Find up to `max_regions` regions in images that are encoded already."""
        chosen = self.settings
        return mask_cut(
            features.patches,
            features.grid,
            max_regions,
            chosen.tau,
            centre=chosen.centre,
            self_loop_weight=chosen.self_loop_weight,
        )
