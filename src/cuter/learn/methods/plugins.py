"""CUTER's parts beside those of other methods (paper, tab: plug): other choices, nothing new."""

from cuter.learn.methods.agcn import AGCN
from cuter.learn.methods.cuter import CUTER, CUTREP
from cuter.learn.methods.krt import KRT
from cuter.learn.recipe import METHODS, Recipe

for memory in ("prs", "ocdm"):
    METHODS.register(f"cutrep-{memory}")(
        Recipe(
            f"Replays cut-outs from the memory of {memory.upper()} (the paper's Cut.Rep w/ {memory.upper()}).",
            CUTREP | {"memory": memory},
        )
    )
METHODS.register("cuter-krt")(
    Recipe("CUTER with KRT's pseudo-labels and tokens (the paper's CUTER w/ KRT).", CUTER | KRT)
)
METHODS.register("cuter-agcn")(Recipe("CUTER with AGCN's label graph (the paper's CUTER w/ AGCN).", CUTER | AGCN))
