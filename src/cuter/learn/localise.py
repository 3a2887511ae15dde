"""Who finds the regions: the learner itself, or a localiser that never changes. A part that needs none gets none."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import torch
from pydantic import Field
from torch import Tensor

from cuter.backbone import Backbone, load_backbone
from cuter.cut import CutSettings, Localiser, Regions, cut_settings, mask_cut
from cuter.errors import ConfigError
from cuter.learn.model import View
from cuter.registry import Registry
from cuter.settings import PartSettings, Role
from cuter.stream.augment import Augmented
from cuter.stream.resize import resize

if TYPE_CHECKING:
    from cuter.learn.settings import LearnerSettings


class LocaliserSettings(PartSettings):
    """Settings of who finds the regions."""

    max_regions: int = Field(2, ge=1, le=100, description="Regions per image, at most.")


class LocaliserSource(ABC):
    """Where the localiser comes from that finds the regions of a batch."""

    @classmethod
    @abstractmethod
    def load(cls, settings: Any, backbone: Backbone, cut: CutSettings) -> Localiser | None:
        """Return a localiser that stays as it is; None: the learner finds the regions itself."""


LOCALISERS: Registry[type[LocaliserSource]] = Registry(
    "localiser", "cuter.learn.localise", "cuter.localisers", LocaliserSettings
)


@LOCALISERS.register("learner")
class LearnerItself(LocaliserSource):
    """The learner, from features of the forward that it makes anyway."""

    @classmethod
    def load(cls, settings: LocaliserSettings, backbone: Backbone, cut: CutSettings) -> None:
        """Return nothing: the learner itself finds the regions."""
        return


@LOCALISERS.register("pretrained")
class Pretrained(LocaliserSource):
    """The backbone as it was before learning (the paper's CUTER⁻)."""

    @classmethod
    def load(cls, settings: LocaliserSettings, backbone: Backbone, cut: CutSettings) -> Localiser:
        """Return a copy of the learner's backbone as it starts."""
        return Localiser(copy.deepcopy(backbone), cut)


class OtherBackboneSettings(LocaliserSettings):
    """Settings of another backbone as the localiser."""

    name: Annotated[str, Role.PLACE] = Field(
        description="Short name, hub id, local folder or original checkpoint file of the backbone."
    )


@LOCALISERS.register("backbone")
class OtherBackbone(LocaliserSource):
    """Another backbone, which stays as it is."""

    Settings: ClassVar[type[PartSettings]] = OtherBackboneSettings

    @classmethod
    def load(cls, settings: OtherBackboneSettings, backbone: Backbone, cut: CutSettings) -> Localiser:
        """Load the other backbone."""
        return Localiser(load_backbone(settings.name))


class NoRegions:
    """Leaves a view as it is."""

    def __call__(self, seen: Augmented, view: View) -> View:
        """Return the view."""
        return view


@dataclass(frozen=True, slots=True)
class OwnRegions:
    """Adds the regions of the learner's own patch features."""

    cut: CutSettings
    max_regions: int

    def __call__(self, seen: Augmented, view: View) -> View:
        """Cut the features of a forward that was made anyway."""
        return with_regions(own_regions(view.patches, view.grid, self.cut, self.max_regions), seen, view)


@dataclass(frozen=True, slots=True)
class FrozenRegions:
    """Adds the regions that a frozen localiser finds (the paper's CUTER⁻)."""

    localiser: Localiser
    max_regions: int

    def __call__(self, seen: Augmented, view: View) -> View:
        """Let the localiser look at the pixels that the learner saw."""
        pixels = (seen.images * 255).round().clamp(0, 255).to(torch.uint8)
        found = self.localiser.cut(resize(pixels, self.localiser.backbone.image_size), self.max_regions)
        return with_regions(found, seen, view)


def own_regions(patches: Tensor, grid: tuple[int, int], cut: CutSettings, max_regions: int) -> Regions:
    """Cut the patch features (B, n, d) of a forward: no further forward, and no gradient."""
    return mask_cut(
        patches.detach(), grid, max_regions, cut.tau, centre=cut.centre, self_loop_weight=cut.self_loop_weight
    )


def with_regions(regions: Regions, seen: Augmented, view: View) -> View:
    """Add regions to a view, and where they lie in the images as they came."""
    height, width = seen.images.shape[-2:]
    boxes = seen.original_boxes(regions.pixel_boxes(height, width)) * regions.found.unsqueeze(-1)
    return replace(view, regions=regions, boxes=boxes, masks=seen.original_masks(regions.masks, view.grid))


def choose_cut(settings: LearnerSettings, backbone: Backbone) -> CutSettings:
    """Return how the learner's own features are cut: as suits the backbone, with the features that are asked for."""
    chosen = cut_settings(backbone)
    return replace(chosen, features=settings.features or chosen.features)


def load_localiser(settings: LearnerSettings, backbone: Backbone) -> Localiser | None:
    """Return the frozen localiser, if there is one."""
    if not settings.needs_regions:
        return None
    source = LOCALISERS[settings.localiser.kind]
    localiser = source.load(settings.localiser, backbone, choose_cut(settings, backbone))
    if localiser is not None and settings.regulariser_needs_regions:
        own, other = (model.image_size // model.patch_size for model in (backbone, localiser.backbone))
        if own != other:
            raise ConfigError(
                f"the regulariser {settings.regulariser.kind} needs regions on the learner's {own}×{own} patches, but "
                f"the localiser {localiser.backbone.name} has {other}×{other}"
            )
    return localiser


def make_localise(
    settings: LearnerSettings, cut: CutSettings, localiser: Localiser | None
) -> NoRegions | OwnRegions | FrozenRegions:
    """Return what adds regions to a view, where a part needs them."""
    if not settings.needs_regions:
        return NoRegions()
    count = settings.localiser.max_regions
    return FrozenRegions(localiser, count) if localiser else OwnRegions(cut, count)
