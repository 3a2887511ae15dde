"""Localisation-aware regularisers (paper, Sec. 2.3): what of a batch's patch graphs training is to lower.

docs/explanation/regularisers.md has which of them do what.
"""

from cuter.learn.regularisers.base import REGULARISERS, Regulariser, RegulariserSettings

__all__ = ["REGULARISERS", "Regulariser", "RegulariserSettings"]
