"""KRT: pseudo-labels for old classes, and a token for each task that must not change (Dong et al. 2023)."""

from cuter.learn.recipe import METHODS, Recipe

KRT = {
    "head": {"kind": "class-attention", "tokens": "by-task", "lr": 3e-3, "shared_lr": 1e-4},
    "teacher": {"kind": "pseudo", "threshold": "running", "token_weight": 80.0},  # on VOC; on COCO 100
}

METHODS.register("krt")(
    Recipe(
        "Labels old classes in new images with the model of the task before, and keeps what its tokens see.",
        {"keeper": "whole-images", "memory": "reservoir", **KRT},
    )
)
