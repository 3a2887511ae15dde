"""APPLE-style: a threshold and a token for each class, exemplars from clusters (after Song et al. 2024)."""

from cuter.learn.recipe import METHODS, Recipe

METHODS.register("apple")(
    Recipe(
        "APPLE-style: labels old classes with a threshold for each, and replays images from different clusters.",
        {
            "keeper": "whole-images",
            "memory": "cluster",
            "head": {"kind": "class-attention", "tokens": "by-class", "lr": 3e-3, "shared_lr": 1e-4},
            "teacher": {"kind": "pseudo", "threshold": "by-class"},
        },
    )
)
