"""CUTER: cut out, keep what is certain, replay it, stay able to localise (Wang et al., ICML 2025; Algorithm 1)."""

from cuter.learn.recipe import METHODS, Recipe
from cuter.learn.regularisers import REGULARISERS

PAPER = {"keeper": "cut-outs", "memory": "balanced"}
# What goes beyond the paper; docs/explanation/cuter.md has what each piece brings.
CUTER = {
    "keeper": {"kind": "cut-outs", "shape": "auto", "selection": "relative", "fallback": "whole-image"},
    "memory": "balanced",
    "targets": {"kind": "absent-if-sure", "below": 0.7, "train": "head"},
}
BOXES = {
    "keeper": {"kind": "cut-outs", "shape": "boxes", "selection": "relative", "fallback": "whole-image"},
    "memory": "balanced",
    "targets": "absent-if-sure",
    "replay": "by-class",
}
# All else is as in what it is compared with.
CUTREP = {"keeper": {"kind": "cut-outs", "shape": "auto", "selection": "relative"}}

METHODS.register("cuter")(
    Recipe("Replays cut-outs that are certain to show one class, from a memory that balances the classes.", CUTER)
)
METHODS.register("cuter-boxes")(
    Recipe("CUTER as it was before its cut-outs were patches: boxes around regions, resized.", BOXES)
)
METHODS.register("cuter-paper")(Recipe("CUTER to the letter of the paper: Algorithm 1 with Eq. 2.", PAPER))
METHODS.register("cuter-frozen")(
    Recipe(
        "CUTER with regions from the backbone as it was before learning (the paper's CUTER⁻).",
        CUTER | {"localiser": "pretrained"},
    )
)
METHODS.register("cutrep")(
    Recipe(
        "Replays cut-outs from a reservoir, without re-balancing (the paper's Cut.Rep).",
        CUTREP | {"memory": "reservoir"},
    )
)
for name in REGULARISERS:
    if name != "none":
        METHODS.register(f"cuter+{name}")(Recipe(f"CUTER with the regulariser {name}.", CUTER | {"regulariser": name}))
