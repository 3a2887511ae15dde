"""Which features and which graph suit a backbone: measured, not guessed."""

from dataclasses import dataclass

from cuter.backbone import Backbone


@dataclass(frozen=True, slots=True)
class CutSettings:
    """How a backbone's images are cut.

    features: patch features, as `load_backbone` takes them; tau: the cosine above which two patches are alike;
    centre: subtract the image's mean feature first; loops: see `normalized_cut`; origin: why these and not others.
    """

    features: str
    tau: float
    centre: bool = False
    loops: float = 0.0
    origin: str = "given"


# Chosen on images of VOC 2007 train; docs/cut.md has the table.
_VIT_TINY = CutSettings("values@6", tau=0.1, loops=1.0, origin="measured on VOC train for a supervised ViT-Tiny/16")
_DINOV2 = CutSettings("keys@11", tau=0.3, loops=1.0, origin="measured on VOC train for a DINOv2-style ViT-S/14")

_PUBLISHED = CutSettings("keys", tau=0.2, origin="published for DINO; not measured here")

_CNN = CutSettings("tokens", tau=0.0, centre=True, origin="general: not measured for this backbone")
_GENERAL = CutSettings("keys", tau=0.0, centre=True, loops=1.0, origin="general: not measured for this backbone")


def cut_settings(backbone: Backbone) -> CutSettings:
    """Return the settings for a backbone by its short name, else by its architecture."""
    if backbone.name.startswith("dino-vit") or "/dino-vit" in backbone.name:
        return _PUBLISHED
    if backbone.is_cnn:
        return _CNN
    config = backbone.encoder.config
    if (config.model_type, config.hidden_size, backbone.blocks) == ("vit", 192, 12):  # type: ignore[union-attr]
        return _VIT_TINY
    if (config.model_type, config.hidden_size, backbone.blocks) == ("dinov2", 384, 12):  # type: ignore[union-attr]
        return _DINOV2
    return _GENERAL
