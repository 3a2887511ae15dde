"""RS, PRS, OCDM and CUTER as in the code behind the published tables, to compare (docs/explanation/departures.md)."""

from cuter.learn.recipe import METHODS, Recipe

# Unknown labels are left out at replay too, so that classes of different tasks are never told apart.
WHOLE_IMAGES = {"keeper": "whole-images", "replay": {"unknown": "ignored"}}

METHODS.register("rs-published")(
    Recipe(
        "RS as in the published code: memory freezes, and unknown labels are left out at replay.",
        WHOLE_IMAGES | {"memory": "reservoir-published"},
    )
)
METHODS.register("prs-published")(
    Recipe(
        "PRS as in the published code: items leave at random, and unknown labels are left out at replay.",
        WHOLE_IMAGES | {"memory": "prs-published"},
    )
)
METHODS.register("ocdm-published")(
    Recipe("OCDM as in the published code: unknown labels are left out at replay.", WHOLE_IMAGES | {"memory": "ocdm"})
)
METHODS.register("cuter-published")(
    Recipe(
        "CUTER as in the published code: a cut-out is kept where its highest score is a given label.",
        {"keeper": {"kind": "cut-outs", "selection": "published"}, "memory": "balanced-published"},
    )
)
