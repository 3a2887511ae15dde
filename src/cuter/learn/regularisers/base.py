"""What all regularisers share: patch features become directions, and values of images become their mean."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor

from cuter.cut import Regions
from cuter.registry import Registry
from cuter.settings import PartSettings

Form = Callable[[Tensor, Regions | None], Tensor]

NO_DIRECTION = 1e-6  # a feature shorter than this share of its image's longest counts as zero


class RegulariserSettings(PartSettings):
    """Settings of a regulariser."""

    weight: float | None = Field(
        None, ge=0, description="Weight; by default one at which its gradient is about a tenth of the loss's."
    )


@dataclass(frozen=True, eq=False)
class Regulariser:
    """A form of directions (B, n, d) that gives one value per image, as the mean over images.

    Every image weighs the same whatever the others are, and no image at all costs nothing. Half precision would not
    tell eigenvalues apart.

    Args:
        form: Takes directions (B, n, d) and the regions of the cut, patches row by row; returns (B,).
        weight: Default weight, at which the gradient is about a tenth of the classification loss's
            (benchmarks/regularisers.py, ViT-Tiny on VOC).
        needs_regions: Whether the form needs regions.
    """

    Settings: ClassVar[type[PartSettings]] = RegulariserSettings
    form: Form
    weight: float
    needs_regions: bool = False

    def __call__(self, features: Tensor, regions: Regions | None = None) -> Tensor:
        """Return the regulariser of patch features (B, n, d) as the backbone gives them."""
        with torch.autocast(features.device.type, enabled=False):
            values = self.form(directions(features), regions)
        return values.sum() / max(1, len(values))


class NoRegulariser(Regulariser):
    """Asks for nothing."""

    Settings: ClassVar[type[PartSettings]] = PartSettings

    def __init__(self) -> None:
        super().__init__(lambda units, regions: units.new_zeros(len(units)), 0.0)


REGULARISERS: Registry[Regulariser] = Registry(
    "regulariser", "cuter.learn.regularisers", "cuter.regularisers", RegulariserSettings
)
REGULARISERS.register("none")(NoRegulariser())


def register(name: str, weight: float, *, needs_regions: bool = False) -> Callable[[Form], Form]:
    """Return a decorator that registers a form as a regulariser with this default weight."""

    def file(form: Form) -> Form:
        REGULARISERS.register(name)(Regulariser(form, weight, needs_regions))
        return form

    return file


def directions(features: Tensor) -> Tensor:
    """Scale each patch's feature to length 1; what is as good as zero becomes zero.

    The same as `cuter.cut.graph.unit_features`, with two differences that gradients need: double precision stays, and
    a feature without direction gets no gradient, where that of a division by its length would be 1e12.
    """
    features = features if features.dtype == torch.float64 else features.float()
    lengths = features.detach().norm(dim=-1, keepdim=True)
    longest = lengths.amax(dim=1, keepdim=True)
    return F.normalize(features.masked_fill(lengths <= NO_DIRECTION * longest, 0), dim=-1)
