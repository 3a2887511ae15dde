"""Localisation-aware regularisers (paper, Sec. 2.3): what of a batch's patch graphs training is to lower.

Each takes patch features (B, n, d) as the backbone gives them and, if it needs them, the regions of the cut, patches
row by row; it returns the mean over images. docs/explanation/regularisers.md tells which of them do what.
"""

from cuter.learn.regularisers import acting, printed
from cuter.learn.regularisers.base import Regulariser, averaged

REGULARISERS: dict[str, Regulariser] = {
    "nuclear": averaged(printed.nuclear),
    "sparse": averaged(printed.sparse),
    "smooth": averaged(printed.smooth),
    "nuclear-features": averaged(acting.nuclear_features),
    "log-det": averaged(acting.log_det),
    "zero-diagonal": averaged(acting.zero_diagonal),
    "fiedler": averaged(acting.fiedler),
    "cut-energy": averaged(acting.cut_energy),
}

# Weights at which the gradient is about a tenth of the classification loss's (benchmarks/regularisers.py, ViT-Tiny on
# VOC); that of the printed nuclear norm is none at any weight.
WEIGHTS = {
    "nuclear": 1.0,
    "sparse": 3e-3,
    "smooth": 2e-5,
    "nuclear-features": 1e-2,
    "log-det": 1.5e-3,
    "zero-diagonal": 6e-2,
    "fiedler": 0.2,
    "cut-energy": 2.5e-2,
}

__all__ = ["REGULARISERS", "WEIGHTS", "Regulariser"]
