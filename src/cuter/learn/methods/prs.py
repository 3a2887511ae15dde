"""PRS: shares of memory follow a power of the stream's frequencies (Kim et al. 2020)."""

from cuter.learn.recipe import METHODS, Recipe

METHODS.register("prs")(
    Recipe(
        "Experience replay from a reservoir that is partitioned among the classes.",
        {"keeper": "whole-images", "memory": "prs"},
    )
)
