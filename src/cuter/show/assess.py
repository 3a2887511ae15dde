"""Which backbone cuts best: each assessed on the same images, with a table, a plot and contact sheets."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from PIL import Image

from cuter.cut import Localiser
from cuter.errors import ConfigError, DataError
from cuter.learn.devices import choose_device
from cuter.measure.cut_quality import SIGMA, Seen, as_boxes, figures, look, reference
from cuter.measure.localisation import rank_correlation
from cuter.registry import did_you_mean
from cuter.runs.environment import describe_environment
from cuter.show.assess_report import assessment_markdown, plot
from cuter.show.cutting import Progress, cut_summary, results_folder, short_name
from cuter.show.pictures import THUMBNAIL, contact_sheet, marked
from cuter.storage import write_json, write_text
from cuter.stream.inspect import SPLITS
from cuter.stream.photos import Photos, read_photos
from cuter.stream.samples import Dataset, Sample, pick

SHEET = 20  # images on the contact sheet of a row


def assess(
    backbones: Sequence[str],
    dataset: Dataset,
    out: Path,
    *,
    images: int = 200,
    features: Sequence[str] = (),
    max_regions: int = 2,
    sigma: float = SIGMA,
    split: str = "train",
    seed: int = 0,
    device: str = "auto",
    progress: Progress = lambda done, total: None,
    say: Callable[[str], None] = lambda line: None,
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
        "rounds": max_regions,
        "sigma": sigma,
        "samples": [sample.id for sample in samples],
        "environment": describe_environment(place),
        "rows": [],
    }
    with results_folder(out):
        for number, (name, kind) in enumerate(wanted):
            localiser = Localiser.load(name, kind).to(place)
            say(f"{number + 1}/{len(wanted)}  {cut_summary(localiser)}")
            seen, thumbnails = Seen(), list[tuple[Image.Image, str]]()
            for photos in read_photos([sample.path for sample in samples], localiser.backbone.image_size):
                _look_at_photos(localiser, photos, samples, seen, thumbnails, max_regions=max_regions, sigma=sigma)
                progress(number * len(samples) + len(seen.sizes) + len(seen.unreadable), len(wanted) * len(samples))
            if not seen.sizes:
                raise DataError(
                    f"none of the {len(samples)} images is readable: {next(iter(seen.unreadable.values()))}"
                )
            sheet = f"contact-sheet-{number + 1}-{_slug(names[name])}.png"
            title = f"{cut_summary(localiser)}, {len(thumbnails)} of {len(seen.sizes)} images"
            contact_sheet(thumbnails, title, max_regions, seen.boxed).save(out / sheet)
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


def _look_at_photos(
    localiser: Localiser,
    photos: Photos,
    samples: Sequence[Sample],
    seen: Seen,
    thumbnails: list[tuple[Image.Image, str]],
    *,
    max_regions: int,
    sigma: float,
) -> None:
    """Note what is found in a batch of photos, and the first ones for the contact sheet."""
    seen.unreadable |= {str(samples[place].path): reason for place, reason in photos.unreadable.items()}
    if not photos.places:
        return
    here = [samples[place] for place in photos.places]
    truths = [[(box.x1, box.y1, box.x2, box.y2) for box in sample.boxes] for sample in here]
    sizes = [original.size for original in photos.originals]
    found = look(
        localiser, photos.pixels, list(map(as_boxes, truths)), sizes, seen, max_regions=max_regions, sigma=sigma
    )
    for sample, original, regions, true in zip(here, photos.originals, found, truths, strict=True):
        if len(thumbnails) < SHEET:
            thumbnails.append((marked(original, regions, THUMBNAIL, true, details=False), sample.path.name))


def _spearman(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return how the ranking by Fiedler value goes with those by AP50 and CorLoc, where rows are enough."""
    correlations = {
        figure: rank_correlation([row["fiedler"] for row in rows], [row[figure] for row in rows])
        for figure in ("ap50", "corloc")
        if all(figure in row for row in rows)
    }
    return {figure: value for figure, value in correlations.items() if value is not None}


def _slug(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name)
