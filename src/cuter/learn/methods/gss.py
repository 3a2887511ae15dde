"""GSS: memory keeps images whose gradients point in different directions (Aljundi et al. 2019)."""

from cuter.learn.recipe import METHODS, Recipe

METHODS.register("gss")(
    Recipe(
        "Experience replay of images whose gradients differ from each other's.",
        {"keeper": "whole-images", "memory": "gradient"},
    )
)
