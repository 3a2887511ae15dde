"""The tables of an evaluation: figures of raw scores beside those of calibrated probabilities, and classes."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import astuple, fields

from rich.text import Text

from cuter.models.evaluation import FIGURES, NATURAL, ClassFigures, Evaluation
from cuter.show.narrow import FoldedTable
from cuter.show.table import Table, markdown, number, plain_table, terminal

# A row of the table: its name, the figure of raw scores, and that of probabilities.
ROWS = (
    ("mAP", "map", "map"),
    ("CF1", "cf1_mean@0.8", "cf1_mean"),
    ("CF1, harmonic", "cf1_harmonic@0.8", "cf1_harmonic"),
    ("OF1", "of1@0.8", "of1"),
    ("ECE, pooled", "ece_raw", "ece"),
    ("ECE, by class", "class_ece_raw", "class_ece"),
    ("Brier score × 100", "brier_raw", "brier"),
)
CLASS_HEAD = ("class", "positives", "known", "AP", "threshold", "precision", "recall", "F1", "ECE")


def figure_table(found: Evaluation) -> Table:
    """Return the figures: a row each, raw scores beside calibrated probabilities."""
    rows = [[name, _figure(found, raw), _figure(found, calibrated)] for name, raw, calibrated in ROWS]
    return plain_table(["", "raw score", "calibrated"], rows, keeps_names=True)


def class_table(found: Evaluation) -> Table:
    """Return the classes, the lowest average precision first, those without any last."""
    rows = [
        [
            one.name,
            f"{one.positives:,}",
            f"{one.known:,}",
            number(one.ap),
            f"{one.threshold:.2f}",
            *(number(value) for value in (one.precision, one.recall, one.f1)),
            number(one.ece, 2),
        ]
        for one in by_precision(found.classes)
    ]
    return plain_table(CLASS_HEAD, rows, title="Classes, lowest AP first")


def by_precision(classes: Sequence[ClassFigures]) -> list[ClassFigures]:
    """Return classes in the order of their average precision."""
    return sorted(classes, key=lambda one: (one.ap is None, one.ap or 0.0, one.name))


def explanation(found: Evaluation) -> str:
    """Return how to read the figures."""
    return (
        f"In percent. CF1 and OF1: raw scores above 0.8, as in papers; probabilities above {threshold_text(found)}. "
        "CF1: mean of per-class F1, or harmonic mean of mean precision and mean recall. "
        "mAP: classes without a positive are left out; calibration does not change the order of images. "
        "ECE: how far probability and observed share differ, in 15 bins over all classes, or by class and averaged. "
        "ECE and Brier score: the lower, the better."
    )


def threshold_text(found: Evaluation) -> str:
    """Return which thresholds probabilities are compared with."""
    own = sum(one.threshold != NATURAL for one in found.classes)
    return f"{NATURAL}" if not own else f"thresholds of their own for {own} of {len(found.classes)} classes"


def notes(found: Evaluation) -> list[str]:
    """Return what took no part."""
    said = []
    if found.unknown_classes:
        said.append(f"Left out, because the model does not know them: {', '.join(found.unknown_classes)}.")
    if found.absent_classes:
        said.append(f"Left out, because nobody looked for them in the data: {', '.join(found.absent_classes)}.")
    if count := len(found.unreadable):
        said.append(f"{count:,} unreadable {'image was' if count == 1 else 'images were'} skipped.")
    return said


def evaluation_terminal(found: Evaluation) -> list[FoldedTable | Text]:
    """Return both tables for a terminal, and below them how to read them and what took no part."""
    tables = [terminal(class_table(found)), terminal(figure_table(found))]
    return [*tables, Text(explanation(found), style="table.caption"), *map(Text, notes(found))]


def evaluation_markdown(found: Evaluation, title: str) -> str:
    """Return both tables as Markdown, with what the figures mean."""
    told = [f"# {title}", f"{found.images:,} images, {len(found.classes):,} classes."]
    told += [markdown(figure_table(found)), explanation(found), *notes(found)]
    definitions = [f"- `{name}`: {meaning}" for name, meaning in FIGURES.items()]
    told += ["## Classes", markdown(class_table(found)), "## Figures by name", "\n".join(definitions)]
    return "\n\n".join(told) + "\n"


def evaluation_csv(found: Evaluation) -> str:
    """Return one line a class for other programs; nothing is rounded."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([field.name for field in fields(ClassFigures)])
    writer.writerows(astuple(one) for one in by_precision(found.classes))
    return text.getvalue()


def _figure(found: Evaluation, name: str) -> str:
    return number(found[name], 2 if name.startswith(("ece", "class_ece", "brier")) else 1)
