"""Pixels to features: pre-trained encoders."""

from cuter.backbone.backbone import Backbone
from cuter.backbone.features import Features
from cuter.backbone.huggingface import save_backbone
from cuter.backbone.load import load_backbone
from cuter.backbone.untrained import untrained_vit
from cuter.backbone.zoo import SHORT_NAMES

__all__ = ["SHORT_NAMES", "Backbone", "Features", "load_backbone", "save_backbone", "untrained_vit"]
