"""iCaRL: exemplars near the class means, distillation, classification by class means (Rebuffi et al. 2017)."""

from cuter.learn.recipe import METHODS, Recipe

METHODS.register("icarl")(
    Recipe(
        "Replays images near their class means, distils old scores, and classifies by class means.",
        {"keeper": "whole-images", "memory": "herding", "head": "prototypes", "teacher": "distil"},
    )
)
