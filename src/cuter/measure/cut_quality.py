"""How well a backbone cuts: the Fiedler values of its patch graphs (paper, Sec. 2.1), CorLoc and AP50.

The Fiedler value of an image is the second smallest eigenvalue of L = D - A, where A is the Gaussian kernel on its
patch features. The lower, the more loosely the patches hang together, and the easier they are to cut apart. Raw values
of two backbones can't be compared: they grow with the number of patches and fall with the length of the features. So
features are scaled to length 1 first, and the value is divided by the number of patches: the largest possible is then
1, for an image whose patches are all alike.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from cuter.cut import Localiser, fiedler_values, gaussian_affinity
from cuter.cut.cutout import Cutout, cutouts
from cuter.cut.graph import unit_features
from cuter.cut.maskcut import in_groups
from cuter.measure.localisation import average_precision_50, corloc, mean_interval

Boxes = NDArray[np.float64]  # (k, 4): x1, y1, x2, y2

SIGMA = 1.0
CENTRE = 11 / 14  # of each side


@dataclass
class Seen:
    """What one backbone made of the images: one entry per image in every list."""

    fiedler: list[float] = field(default_factory=list)
    found: list[Boxes] = field(default_factory=list)
    scores: list[NDArray[np.float64]] = field(default_factory=list)
    truths: list[Boxes] = field(default_factory=list)
    sizes: list[tuple[int, int]] = field(default_factory=list)  # width, height of the original
    unreadable: dict[str, str] = field(default_factory=dict)  # reason by path

    @property
    def boxed(self) -> bool:
        """Whether any image has a true box."""
        return any(len(truth) for truth in self.truths)


def look(
    localiser: Localiser,
    pixels: Tensor,
    truths: Sequence[Boxes],
    sizes: Sequence[tuple[int, int]],
    seen: Seen,
    *,
    max_regions: int = 2,
    sigma: float = SIGMA,
) -> list[list[Cutout]]:
    """Note the Fiedler values and the cut-outs of a batch, and return the latter.

    Boxes, true and found, are in pixels of an image of `sizes` (width, height), whatever size is encoded.
    """
    features = localiser.features(pixels)
    regions = localiser.cut_features(features, max_regions).to("cpu")
    for some in in_groups(unit_features(features.patches)):
        values = fiedler_values(gaussian_affinity(some, sigma)) / some.shape[1]
        seen.fiedler += values.clamp(min=0).tolist()  # round-off may leave a zero slightly below
    found = [[one for one in cutouts(regions, i, size) if one.found] for i, size in enumerate(sizes)]
    seen.found += [as_boxes([one.box for one in here]) for here in found]
    seen.scores += [np.array([one.score for one in here]) for here in found]
    seen.truths += truths
    seen.sizes += sizes
    return found


def as_boxes(corners: Sequence[tuple[float, float, float, float]]) -> Boxes:
    """Return corners as an array (k, 4), also where there are none."""
    return np.array(corners, dtype=np.float64).reshape(-1, 4)


def figures(seen: Seen) -> dict[str, Any]:
    """Return the average Fiedler value with its 95 % confidence interval, CorLoc of the first region, AP50 of all."""
    mean, low, high = mean_interval(seen.fiedler)
    result: dict[str, Any] = {
        "images": len(seen.sizes),
        "fiedler": mean,
        "fiedler_interval": None if math.isnan(low) else [low, high],  # one image tells nothing about the others
    }
    if seen.boxed:
        # Difficult objects of VOC and crowds of COCO have no boxes: what is found in an image with nothing else can't
        # be called wrong.
        boxed = [len(truth) > 0 for truth in seen.truths]
        found, truths = list(itertools.compress(seen.found, boxed)), list(itertools.compress(seen.truths, boxed))
        result |= {
            "boxed_images": len(truths),
            "corloc": corloc([boxes[:1] for boxes in found], truths),
            "ap50": average_precision_50(found, list(itertools.compress(seen.scores, boxed)), truths),
        }
    return result


def reference(seen: Seen) -> dict[str, float]:
    """Return the CorLoc of two boxes that look at nothing, which a cut has to beat."""
    if not seen.boxed:
        return {}
    margin = (1 - CENTRE) / 2
    shares = {"whole image": (0.0, 1.0), "centre": (margin, 1 - margin)}
    return {
        name: corloc([as_boxes([(low * w, low * h, high * w, high * h)]) for w, h in seen.sizes], seen.truths)
        for name, (low, high) in shares.items()
    }
