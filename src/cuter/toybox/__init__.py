"""The toybox: a small world of everyday things, drawn by code, for demonstrations, tests and pre-training."""

from cuter.toybox.scene import SIZE, Scene, Thing, draw_scene
from cuter.toybox.world import CLASSES, SPLITS, VERSION, Split

__all__ = ["CLASSES", "SIZE", "SPLITS", "VERSION", "Scene", "Split", "Thing", "draw_scene"]
