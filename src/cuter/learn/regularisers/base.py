"""What all regularisers share: patch features become directions, and values of images become their mean."""

import functools
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from cuter.cut import Regions

Regulariser = Callable[[Tensor, Regions | None], Tensor]

NO_DIRECTION = 1e-6  # a feature shorter than this share of its image's longest counts as zero


def averaged(form: Regulariser) -> Regulariser:
    """Make a regulariser of a form that takes directions (B, n, d) and gives one value an image.

    Every image weighs the same whatever the others are, and no image at all costs nothing. Half precision would not
    tell eigenvalues apart.
    """

    @functools.wraps(form)
    def regulariser(features: Tensor, regions: Regions | None = None) -> Tensor:
        with torch.autocast(features.device.type, enabled=False):
            values = form(directions(features), regions)
        return values.sum() / max(1, len(values))

    return regulariser


def directions(features: Tensor) -> Tensor:
    """Scale each patch's feature to length 1; what is as good as zero becomes zero.

    The same as `cuter.cut.graph.unit_features`, with two differences that gradients need: double precision stays, and
    a feature without direction gets no gradient, where that of a division by its length would be 1e12.
    """
    features = features if features.dtype == torch.float64 else features.float()
    lengths = features.detach().norm(dim=-1, keepdim=True)
    longest = lengths.amax(dim=1, keepdim=True)
    return F.normalize(features.masked_fill(lengths <= NO_DIRECTION * longest, 0), dim=-1)
