"""Whether a model that goes on learning still cuts as well as it did: the figures of `cuter assess` over time."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from torch import Tensor

from cuter.backbone import Backbone
from cuter.cut import CutSettings, Localiser
from cuter.measure.cut_quality import Boxes, Seen, as_boxes, figures, look
from cuter.stream.photos import read_photos
from cuter.stream.samples import Sample, pick

logger = logging.getLogger("cuter.run")

FIGURES = ("fiedler", "corloc", "ap50")


class Probe:
    """Images that every state of a model is measured on, decoded once. No model changes by being measured."""

    def __init__(self, batches: Sequence[tuple[Tensor, Sequence[Boxes]]]):
        self.batches = batches  # pixels (B, 3, size, size), and for each image its true boxes in these pixels

    @classmethod
    def of(cls, samples: Sequence[Sample], count: int, image_size: int) -> Probe:
        """Draw so many samples, the same for every seed of a run, so that seeds compare; unreadable ones are left out.

        A backbone encodes them as squares of `image_size`.
        """
        drawn = pick(samples, count)
        batches = []
        unreadable: dict[int, str] = {}
        for photos in read_photos([sample.path for sample in drawn], image_size):
            unreadable |= photos.unreadable
            if photos.places:
                originals = zip(photos.places, photos.originals, strict=True)
                boxes = [_squashed(drawn[place], original.size, image_size) for place, original in originals]
                batches.append((photos.pixels, boxes))
        if unreadable:
            reason = next(iter(unreadable.values()))
            logger.warning("%d of %d images to probe are left out: %s", len(unreadable), len(drawn), reason)
        return cls(batches)

    def measure(self, backbone: Backbone, cut: CutSettings | None = None, max_regions: int = 2) -> dict[str, float]:
        """Return the average Fiedler value and, where images have boxes, CorLoc and AP50; of no image nothing.

        The features are those of `cut`, if it is not given those that suit the backbone.
        """
        seen = Seen()
        with _left_as_it_was(backbone):
            localiser = Localiser(backbone, cut)
            for pixels, boxes in self.batches:
                sizes = [(pixels.shape[3], pixels.shape[2])] * len(boxes)
                look(localiser, pixels, boxes, sizes, seen, max_regions=max_regions)
        found = figures(seen) if seen.sizes else {}
        return {figure: found[figure] for figure in FIGURES if figure in found}


def _squashed(sample: Sample, original: tuple[int, int], size: int) -> Boxes:
    """Return the boxes of a sample, whose original has this width and height, in pixels of the squashed image."""
    across, down = size / original[0], size / original[1]
    return as_boxes([(box.x1 * across, box.y1 * down, box.x2 * across, box.y2 * down) for box in sample.boxes])


@contextmanager
def _left_as_it_was(backbone: Backbone) -> Iterator[None]:
    """Give back the features, and the mode of each module: a learner may hold some of them in evaluation mode."""
    features, modes = backbone.features, [(module, module.training) for module in backbone.modules()]
    try:
        yield
    finally:
        backbone.set_features(features)
        for module, mode in modes:
            module.training = mode
