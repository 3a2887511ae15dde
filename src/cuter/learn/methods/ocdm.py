"""OCDM: memory leaves out what brings its classes nearest to a wanted distribution (Liang and Li 2022)."""

from cuter.learn.recipe import METHODS, Recipe

METHODS.register("ocdm")(
    Recipe(
        "Experience replay from a memory whose distribution of classes is optimised.",
        {"keeper": "whole-images", "memory": "ocdm"},
    )
)
