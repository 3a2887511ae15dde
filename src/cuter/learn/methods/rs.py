"""RS: experience replay of whole images from a reservoir (Chaudhry et al. 2019)."""

from cuter.learn.recipe import METHODS, Recipe

METHODS.register("rs")(
    Recipe(
        "Experience replay of whole images from a reservoir.",
        {"keeper": "whole-images", "memory": "reservoir"},
    )
)
