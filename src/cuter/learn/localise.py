"""Who finds the regions: the learner itself, or a localiser that never changes. A part that needs none gets none."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from cuter.cut import CutSettings, Localiser, Regions, mask_cut
from cuter.learn.model import View
from cuter.stream.augment import Augmented
from cuter.stream.resize import resize


class NoRegions:
    """Leaves a view as it is."""

    def __call__(self, seen: Augmented, view: View) -> View:
        """Return the view."""
        return view


@dataclass(frozen=True, slots=True)
class OwnRegions:
    """Adds the regions of the learner's own patch features."""

    cut: CutSettings
    rounds: int

    def __call__(self, seen: Augmented, view: View) -> View:
        """Cut the features of a forward that was made anyway."""
        return with_regions(own_regions(view.patches, view.grid, self.cut, self.rounds), seen, view)


@dataclass(frozen=True, slots=True)
class FrozenRegions:
    """Adds the regions that a frozen localiser finds (the paper's CUTER⁻)."""

    localiser: Localiser
    rounds: int

    def __call__(self, seen: Augmented, view: View) -> View:
        """Let the localiser look at the pixels that the learner saw."""
        pixels = (seen.images * 255).round().clamp(0, 255).to(torch.uint8)
        found = self.localiser.cut(resize(pixels, self.localiser.backbone.image_size), self.rounds)
        return with_regions(found, seen, view)


def own_regions(patches: Tensor, grid: tuple[int, int], cut: CutSettings, rounds: int) -> Regions:
    """Cut the patch features (B, n, d) of a forward: no further forward, and no gradient."""
    return mask_cut(patches.detach(), grid, rounds, cut.tau, centre=cut.centre, loops=cut.loops)


def with_regions(regions: Regions, seen: Augmented, view: View) -> View:
    """Add regions to a view, and where they lie in the images as they came."""
    height, width = seen.images.shape[-2:]
    boxes = seen.original_boxes(regions.pixel_boxes(height, width)) * regions.found.unsqueeze(-1)
    return replace(view, regions=regions, boxes=boxes, masks=seen.original_masks(regions.masks, view.grid))
