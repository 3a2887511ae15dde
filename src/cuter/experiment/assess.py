"""Which backbone cuts best: the average Fiedler value of its patch graphs (paper, Sec. 2.1), beside how well it cuts.

The Fiedler value of an image is the second smallest eigenvalue of L = D - A, where A is the Gaussian kernel on its
patch features. The lower, the more loosely the patches hang together, and the easier they are to cut apart. Raw values
of two backbones can't be compared: they grow with the number of patches and fall with the length of the features. So
features are scaled to length 1 first, and the value is divided by the number of patches: the largest possible is then
1, for an image whose patches are all alike.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from cuter.cut import Localiser, fiedler_values, gaussian_affinity
from cuter.cut.graph import unit_features
from cuter.cut.maskcut import in_groups
from cuter.errors import ConfigError, DataError
from cuter.experiment.assess_report import assessment_markdown, plot
from cuter.experiment.cutting import Photos, Progress, cut_summary, read_photos, results_folder, short_name
from cuter.experiment.environment import describe_environment
from cuter.experiment.pictures import THUMBNAIL, Box, Cutout, contact_sheet, cutouts, marked
from cuter.learn.devices import choose_device
from cuter.measure.localisation import average_precision_50, corloc, mean_interval, rank_correlation
from cuter.registry import did_you_mean
from cuter.storage import write_json, write_text
from cuter.stream.inspect import SPLITS
from cuter.stream.samples import Dataset, Sample, pick

Boxes = NDArray[np.float64]  # (k, 4): x1, y1, x2, y2

SIGMA = 1.0
SHEET = 20  # images on the contact sheet of a row
CENTRE = 11 / 14  # of each side


def assess(
    backbones: Sequence[str],
    dataset: Dataset,
    out: Path,
    *,
    images: int = 200,
    features: Sequence[str] = (),
    rounds: int = 2,
    sigma: float = SIGMA,
    split: str = "train",
    seed: int = 0,
    device: str = "auto",
    progress: Progress = lambda done, total: None,
    tell: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Assess each backbone with each kind of `features` (by default those of its cut) on the same draw of images.

    Into `out` go assessment.json, assessment.md, a contact sheet for each row and, where images have boxes, a plot;
    anew after each row, so that what is measured outlives a stop. Returns what assessment.json holds.
    """
    place = choose_device(device)
    if not 0 < sigma < math.inf:
        raise ConfigError(f"sigma must be a number above 0, not {sigma}")
    samples = draw(dataset, split, images, seed)
    kinds: Sequence[str | None] = features or [None]
    wanted = list(dict.fromkeys(itertools.product(backbones, kinds)))
    names = {backbone: short_name(backbone) for backbone in backbones}
    if len(set(names.values())) < len(names):  # two folders of one name
        names = {backbone: backbone for backbone in backbones}
    for name, kind in wanted:
        Localiser.load(name, kind)  # a mistake in the last name must show before the first is measured
    report: dict[str, Any] = {
        "dataset": dataset.name,
        "split": split,
        "seed": seed,
        "rounds": rounds,
        "sigma": sigma,
        "samples": [sample.id for sample in samples],
        "environment": describe_environment(place),
        "rows": [],
    }
    with results_folder(out):
        for number, (name, kind) in enumerate(wanted):
            localiser = Localiser.load(name, kind).to(place)
            tell(f"{number + 1}/{len(wanted)}  {cut_summary(localiser)}")
            seen = Seen()
            for photos in read_photos([sample.path for sample in samples], localiser.backbone.image_size):
                _look_at_photos(localiser, photos, samples, seen, rounds=rounds, sigma=sigma)
                progress(number * len(samples) + len(seen.sizes) + len(seen.unreadable), len(wanted) * len(samples))
            if not seen.sizes:
                raise DataError(
                    f"none of the {len(samples)} images is readable: {next(iter(seen.unreadable.values()))}"
                )
            sheet = f"contact-sheet-{number + 1}-{_slug(names[name])}.png"
            title = f"{cut_summary(localiser)}, {len(seen.thumbnails)} of {len(seen.sizes)} images"
            contact_sheet(seen.thumbnails, title, rounds, seen.boxed).save(out / sheet)
            row = {
                "backbone": name,
                "name": names[name],
                "image_size": localiser.backbone.image_size,
                "patch_size": localiser.backbone.patch_size,
                "settings": asdict(localiser.settings),
            }
            report["rows"].append(row | figures(seen) | {"contact_sheet": sheet})
            report["rows"].sort(key=lambda one: one["fiedler"])
            report |= {
                "reference": reference(seen),
                "unreadable": seen.unreadable,
                "spearman": _spearman(report["rows"]),
            }
            write_json(out / "assessment.json", report)
            write_text(out / "assessment.md", assessment_markdown(report))
            if seen.boxed:
                plot(report["rows"]).savefig(out / "fiedler-ap50.png")
    return report


def combine(reports: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Put together what was found about several backbones on the same images, each on its own.

    Names that two of them share are told apart by the whole path.
    """
    rows = [dict(row) for report in reports for row in report["rows"]]
    names = [row["name"] for row in rows]
    for row in rows:
        if names.count(row["name"]) > 1:
            row["name"] = row["backbone"]
    rows.sort(key=lambda row: row["fiedler"])
    unreadable = {path: reason for report in reports for path, reason in report["unreadable"].items()}
    return reports[0] | {"rows": rows, "unreadable": unreadable, "spearman": _spearman(rows)}


def draw(dataset: Dataset, split: str, images: int, seed: int) -> list[Sample]:
    """Draw so many images of a split, always the same ones for a seed; all of them if there are no more."""
    if split not in SPLITS:
        raise ConfigError(f"unknown split {split!r}.{did_you_mean(split, list(SPLITS))}")
    return pick(dataset.train if split == "train" else dataset.test, images, seed)


@dataclass
class Seen:
    """What one backbone made of the images: one entry an image in every list, but for `thumbnails`."""

    fiedler: list[float] = field(default_factory=list)
    found: list[Boxes] = field(default_factory=list)
    scores: list[NDArray[np.float64]] = field(default_factory=list)
    truths: list[Boxes] = field(default_factory=list)
    sizes: list[tuple[int, int]] = field(default_factory=list)  # width, height of the original
    thumbnails: list[tuple[Image.Image, str]] = field(default_factory=list)
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
    rounds: int = 2,
    sigma: float = SIGMA,
) -> list[list[Cutout]]:
    """Note the Fiedler values and the cut-outs of a batch, and return the latter.

    Boxes, true and found, are in pixels of an image of `sizes` (width, height), whatever size is encoded.
    """
    features = localiser.features(pixels)
    regions = localiser.cut_features(features, rounds).to("cpu")
    for some in in_groups(unit_features(features.patches)):
        values = fiedler_values(gaussian_affinity(some, sigma)) / some.shape[1]
        seen.fiedler += values.clamp(min=0).tolist()  # round-off may leave a zero slightly below
    found = [[one for one in cutouts(regions, i, size) if one.found] for i, size in enumerate(sizes)]
    seen.found += [as_boxes([one.box for one in here]) for here in found]
    seen.scores += [np.array([one.score for one in here]) for here in found]
    seen.truths += truths
    seen.sizes += sizes
    return found


def _look_at_photos(
    localiser: Localiser, photos: Photos, samples: Sequence[Sample], seen: Seen, *, rounds: int, sigma: float
) -> None:
    """Note what is found in a batch of photos, and the first ones for the contact sheet."""
    seen.unreadable |= {str(samples[place].path): reason for place, reason in photos.unreadable.items()}
    if not photos.places:
        return
    here = [samples[place] for place in photos.places]
    truths = [[(box.x1, box.y1, box.x2, box.y2) for box in sample.boxes] for sample in here]
    sizes = [original.size for original in photos.originals]
    found = look(localiser, photos.pixels, list(map(as_boxes, truths)), sizes, seen, rounds=rounds, sigma=sigma)
    for sample, original, regions, true in zip(here, photos.originals, found, truths, strict=True):
        if len(seen.thumbnails) < SHEET:
            seen.thumbnails.append((marked(original, regions, THUMBNAIL, true, details=False), sample.path.name))


def as_boxes(corners: Sequence[Box]) -> Boxes:
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


def _spearman(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return how the ranking by Fiedler value goes with those by AP50 and CorLoc, where rows are enough to tell."""
    correlations = {
        figure: rank_correlation([row["fiedler"] for row in rows], [row[figure] for row in rows])
        for figure in ("ap50", "corloc")
        if all(figure in row for row in rows)
    }
    return {figure: value for figure, value in correlations.items() if value is not None}


def _slug(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name)
