"""AGCN and AGCN++: classes as nodes of a graph that learn from each other (Du et al. 2022, 2023)."""

from cuter.learn.recipe import METHODS, Recipe

AGCN = {
    "head": "label-graph",
    "graph_nodes": "labels",
    "teacher": "soft-graph",
    "head_lr": 3e-4,
    "shared_lr": 1e-4,
}
REPLAY = {"keeper": "whole-images", "memory": "reservoir"}

METHODS.register("agcn")(
    Recipe("Classes learn from classes that they come with, and old ones keep their scores and nodes.", REPLAY | AGCN)
)
METHODS.register("agcn++")(
    Recipe(
        "AGCN with nodes of each image, and old nodes that keep their relations (after the abstract of AGCN++).",
        REPLAY | AGCN | {"graph_nodes": "images", "relation_weight": 0.2},
    )
)
