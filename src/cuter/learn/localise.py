"""Who finds the regions: the learner itself, or a localiser that never changes."""

from dataclasses import replace

import torch

from cuter.cut import CutSettings, Localiser, Regions, mask_cut
from cuter.learn.model import View
from cuter.stream.augment import Augmented
from cuter.stream.resize import resize


def own_regions(view: View, cut: CutSettings, rounds: int) -> Regions:
    """Cut the patch features of a forward that was made anyway: no further forward, and no gradient."""
    patches = view.patches.detach()
    return mask_cut(patches, view.grid, rounds, cut.tau, centre=cut.centre, loops=cut.loops)


def frozen_regions(seen: Augmented, localiser: Localiser, rounds: int) -> Regions:
    """Cut what the localiser sees in the pixels that the learner saw (the paper's CUTER⁻)."""
    pixels = (seen.images * 255).round().clamp(0, 255).to(torch.uint8)
    return localiser.cut(resize(pixels, localiser.backbone.image_size), rounds)


def with_regions(regions: Regions, seen: Augmented, view: View) -> View:
    """Add regions to a view, and where they lie in the images as they came."""
    height, width = seen.images.shape[-2:]
    boxes = seen.original_boxes(regions.pixel_boxes(height, width)) * regions.found.unsqueeze(-1)
    return replace(view, regions=regions, boxes=boxes)
