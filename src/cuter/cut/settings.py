"""Which features and which graph suit a backbone: chosen by measurement where we could (docs/explanation/cut.md)."""

import math
from dataclasses import dataclass
from typing import Any

from cuter.backbone import Backbone
from cuter.errors import ConfigError


@dataclass(frozen=True, slots=True)
class CutSettings:
    """How a backbone's images are cut.

    features: patch features, as `load_backbone` takes them; tau: the cosine above which two patches are alike;
    centre: subtract the image's mean feature first; self_loop_weight: see `normalized_cut`; origin: why these values.
    """

    features: str
    tau: float
    centre: bool = False
    self_loop_weight: float = 0.0
    origin: str = "given"

    def __post_init__(self) -> None:
        if not -1 <= self.tau < 1:
            raise ConfigError(f"tau is a cosine, from -1 to less than 1, not {self.tau}")
        if not 0 <= self.self_loop_weight < math.inf:
            raise ConfigError(f"self_loop_weight must be 0 or more mean degrees, not {self.self_loop_weight}")


# By model type, width and depth: a local folder has no better name.
_MEASURED = {
    ("vit", 192, 12): CutSettings(
        "values@6", tau=0.1, self_loop_weight=1.0, origin="measured on VOC train for a supervised ViT-Tiny/16"
    ),
    ("vit_conv_stem", 96, 4): CutSettings(
        "tokens", tau=0.6, self_loop_weight=1.0, origin="measured on toybox scenes for the transformer that is shipped"
    ),
    ("dinov2", 384, 12): CutSettings(
        "queries", tau=0.2, self_loop_weight=1.0, origin="measured on VOC train for a DINOv2-style ViT-S/14"
    ),
}


def cut_settings(backbone: Backbone) -> CutSettings:
    """Return the settings that suit a backbone, by its name, else by its architecture."""
    if "dino-vit" in backbone.name:
        return CutSettings("keys", tau=0.2, origin="published for DINO, not measured here")
    if backbone.is_cnn:
        return CutSettings("tokens", tau=0.0, centre=True, origin="a guess for CNNs, not measured")
    config: Any = backbone.encoder.config
    if known := _MEASURED.get((config.model_type, config.hidden_size, backbone.blocks)):
        return known
    block = max(1, round(backbone.blocks * 7 / 12))
    return CutSettings(
        f"values@{block}",
        tau=0.1,
        self_loop_weight=1.0,
        origin="good for both transformers we measured; this one is neither",
    )
