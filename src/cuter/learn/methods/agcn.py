"""AGCN and AGCN++: classes as nodes of a graph that learn from each other (Du et al. 2022, 2023)."""

from cuter.learn.recipe import METHODS, Recipe

AGCN = {
    "head": {"kind": "label-graph", "nodes": "labels", "lr": 3e-4, "shared_lr": 1e-4},
    "teacher": "soft-graph",
}
REPLAY = {"keeper": "whole-images", "memory": "reservoir"}

METHODS.register("agcn")(
    Recipe("Classes learn from classes that they come with, and old ones keep their scores and nodes.", REPLAY | AGCN)
)
METHODS.register("agcn++")(
    Recipe(
        "AGCN with nodes of each image, and old nodes that keep their relations (after the abstract of AGCN++).",
        REPLAY
        | {
            "head": {"kind": "label-graph", "nodes": "images", "lr": 3e-4, "shared_lr": 1e-4},
            "teacher": {"kind": "soft-graph", "relation_weight": 0.2},
        },
    )
)
