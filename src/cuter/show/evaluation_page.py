"""The page of an evaluation: figures, reliability, classes and the pictures of the worst mistakes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuter.errors import DataError
from cuter.measure.calibration import Bin
from cuter.models.evaluation import NATURAL, Evaluation, Mistake
from cuter.show import charts
from cuter.show import evaluation_tables as tables
from cuter.show.page_shell import Section, fill_page
from cuter.show.pictures import data_uri, fitted_size
from cuter.show.reliability_chart import Reliability, count_chart, reliability_chart
from cuter.show.table import Table, number, plain_table
from cuter.stream.images import path_text, read_image

GENERATOR = "cuter evaluate"
HALF = 450  # pixels, the width of a chart that stands beside another
WITHIN = (320, 240)  # pixels of a picture
CLASSES = (
    "In percent, lowest average precision first. Positives: images that show the class; known: images that somebody "
    "looked for it in. Precision, recall and F1 are at the threshold."
)
PANELS = (
    ("What is true", "percent of the images in a bin that show the class", reliability_chart),
    ("How often it is said", "percent of all pairs of image and class; the axis is logarithmic", count_chart),
)
RAW, CALIBRATED = "raw score", "calibrated probability"


@dataclass(frozen=True)
class Picture:
    """A mistake with its image."""

    picture: str  # a data URI
    size: tuple[int, int]
    name: str
    label: str
    percent: str
    labels: tuple[str, ...]

    @property
    def alt(self) -> str:
        """What stands for the picture where it cannot be seen."""
        return f"{self.name}, which shows {', '.join(self.labels) or 'none of the classes'}"


def evaluation_page(found: Evaluation, record: Mapping[str, Any], paths: Mapping[str, Path]) -> str:
    """Return the page.

    Args:
        found: What was found.
        record: How it was made, as `describe` of evaluation_folder returns it.
        paths: Files of the images by id; of a mistake without one there is no picture.
    """
    shown = {
        "table": tables.figure_table(found),
        "label": "Figures",
        "class": "",
        "explanation": tables.explanation(found),
    }
    by_class = {"table": tables.class_table(found), "label": "Classes", "class": "summary", "notes": ()}
    by_class |= {"explanation": CLASSES}
    sections = [
        Section("figures", "Figures", "Figures", shown | {"notes": tables.notes(found)}, "table"),
        Section("reliability", "Reliability", "How far probabilities can be trusted", _reliability(found)),
        Section("classes", "Classes", "Each class", by_class, "table"),
        Section("mistakes", "Worst mistakes", "The worst mistakes", _mistakes(found, paths)),
        Section("made", "How it was made", "How it was made", _made(found, record), "made_evaluation"),
    ]
    return fill_page(
        generator=GENERATOR,
        source=f"from {found.images:,} images",
        title=record["title"],
        headline=headline(found),
        shared=[f"{found.images:,} images", f"{len(found.classes):,} classes", *record["shared"]],
        sections=sections,
    )


def headline(found: Evaluation) -> str:
    """Return the most important figures in a sentence."""
    return (
        f"mAP {number(found['map'])}. At {tables.threshold_text(found)}: CF1 {number(found['cf1_mean'])}, "
        f"OF1 {number(found['of1'])}. Probabilities are off by {number(found['ece'])} points (ECE), "
        f"raw scores by {number(found['ece_raw'])}."
    )


def _reliability(found: Evaluation) -> dict[str, Any]:
    kinds = [
        Reliability(RAW, found.raw_reliability, number(found["ece_raw"], 2), colour=1, shape=1, dash=1),
        Reliability(CALIBRATED, found.reliability, number(found["ece"], 2), colour=0, shape=0, dash=0),
    ]
    panels = [
        {
            "heading": heading,
            "meaning": meaning,
            "chart": charts.Chart(*(draw(kinds, width, heading) for width in (HALF, charts.NARROW))),
        }
        for heading, meaning, draw in PANELS
    ]
    return {"kinds": kinds, "panels": panels, "table": _bin_table(found)}


def _bin_table(found: Evaluation) -> Table:
    rows = [
        [f"{100 * raw.low:.0f} to {100 * raw.high:.0f}", *_bin_texts(raw), *_bin_texts(calibrated)]
        for raw, calibrated in zip(found.raw_reliability, found.reliability, strict=True)
    ]
    head = [f"{kind}\n{name}" for kind in (RAW, CALIBRATED) for name in ("mean", "observed", "pairs")]
    return plain_table(["percent", *head], rows)


def _bin_texts(one: Bin) -> list[str]:
    shares = [None if share is None else 100 * share for share in (one.probability, one.frequency)]
    return [*map(number, shares), f"{one.count:,}"]


def _mistakes(found: Evaluation, paths: Mapping[str, Path]) -> list[dict[str, Any]]:
    return [
        {
            "heading": "Seen, but not there",
            "meaning": "the highest probabilities of classes that an image does not show, or is not labelled with",
            "mistakes": found.false_positives,
            "pictures": _pictures(found.false_positives, paths),
        },
        {
            "heading": "There, but not seen",
            "meaning": "the lowest probabilities of classes that an image shows",
            "mistakes": found.missed,
            "pictures": _pictures(found.missed, paths),
        },
    ]


def _pictures(mistakes: Sequence[Mistake], paths: Mapping[str, Path]) -> list[Picture]:
    made = []
    for one in mistakes:
        try:
            image = read_image(paths[one.id])
        except (KeyError, DataError):  # a batch of the caller's own has no file, and a file may be gone since
            continue
        size = fitted_size(image.size, WITHIN)
        name, percent = path_text(Path(paths[one.id].name)), _percent(one.probability)
        made.append(Picture(data_uri(image.resize(size)), size, name, one.label, percent, one.labels))
    return made


def _percent(probability: float) -> str:
    """Write a probability as whole percents; what is nearly certain is not called certain."""
    return "<1" if probability < 0.005 else ">99" if probability > 0.995 else f"{100 * probability:.0f}"


def _made(found: Evaluation, record: Mapping[str, Any]) -> dict[str, Any]:
    given = record["facts"]
    images = "all images" if given["limit"] is None else f"a draw of {given['limit']:,} images"
    fitted_on = given["calibrated_on"]
    rows = {
        "model": f"{given['model']}, method {given['method']}",
        "data": f"{given['dataset']}, {given['split']} split, {images}",
        "looked at": "whole images and regions" if given["regions"] else "whole images",
        "calibration": f"fitted to {fitted_on:,} images" if fitted_on else "never fitted: the line of the loss",
        "thresholds": given["thresholds"] or f"{NATURAL} for all classes",
    }
    facts = plain_table(["", "what was evaluated"], rows.items(), text_columns=2, keeps_names=True)
    told = {name: record[name] for name in ("date", "version", "command")}
    return told | {"facts": facts, "notes": tables.notes(found), "unreadable": [one.reason for one in found.unreadable]}
