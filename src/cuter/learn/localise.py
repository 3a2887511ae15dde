"""Who finds the regions: the learner itself, or a localiser that never changes."""

from collections.abc import Callable
from dataclasses import replace

import torch

from cuter.cut import CutSettings, Localiser, Regions, mask_cut
from cuter.learn.model import View
from cuter.stream.augment import Augmented
from cuter.stream.resize import resize

Find = Callable[[Augmented, View], Regions]


def own_regions(cut: CutSettings, rounds: int) -> Find:
    """Cut the patch features of the forward that is trained on: no further forward, and no gradient."""

    def find(_: Augmented, view: View) -> Regions:
        patches = view.patches.detach()
        return mask_cut(patches, view.grid, rounds, cut.tau, centre=cut.centre, loops=cut.loops)

    return find


def frozen_regions(localiser: Localiser, rounds: int) -> Find:
    """Cut what the localiser sees in the pixels that the learner saw (the paper's CUTER⁻)."""
    size = localiser.backbone.image_size

    def find(seen: Augmented, _: View) -> Regions:
        pixels = (seen.images * 255).round().clamp(0, 255).to(torch.uint8)
        return localiser.cut(resize(pixels, size), rounds)

    return find


def with_regions(find: Find, seen: Augmented, view: View) -> View:
    """Add the regions to a view, and where they lie in the images as they came."""
    regions = find(seen, view)
    height, width = seen.images.shape[-2:]
    boxes = seen.original_boxes(regions.pixel_boxes(height, width))
    boxes = boxes * regions.found.unsqueeze(-1)
    return replace(view, regions=regions, boxes=boxes)
