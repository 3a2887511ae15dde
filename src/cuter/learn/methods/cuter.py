"""CUTER: cut out, keep what is certain, replay it, stay able to localise (Wang et al., ICML 2025; Algorithm 1)."""

from cuter.learn.recipe import METHODS, Recipe
from cuter.learn.regularisers import REGULARISERS

PAPER = {"keeper": "cut-outs", "memory": "balanced"}
BETTER = {  # what goes beyond the paper; docs/cuter.md tells what each brings
    "selection": "relative",
    "fallback": "whole-image",
    "replay_draw": "by-class",
    "stream_unknown": "absent-if-sure",
}
CUTER = PAPER | BETTER
CUTREP = {"keeper": "cut-outs", "selection": "relative"}  # all else is as in the methods that it is compared with

METHODS.register("cuter")(
    Recipe("Replays cut-outs that are certain to show one class, from a memory that balances the classes.", CUTER)
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
    METHODS.register(f"cuter+{name}")(Recipe(f"CUTER with the regulariser {name}.", CUTER | {"regulariser": name}))
