"""NsCE: class means kept apart, a classifier that is not sparse, replay of what is confused (Wang et al. 2024)."""

from cuter.learn.recipe import METHODS, Recipe

METHODS.register("nsce")(
    Recipe(
        "Keeps class means apart and the classifier from being sparse, and replays classes that it confuses.",
        {
            "keeper": "whole-images",
            "memory": "class-balanced",
            "head": {"kind": "prototypes", "scores": "rows", "separation": 0.1},
            "replay": "confused",
        },
    )
)
