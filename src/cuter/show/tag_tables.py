"""Tags and thresholds for the terminal, and how far tagging is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from rich.console import Console

from cuter.measure.thresholds import ClassThreshold
from cuter.measure.throughput import Meter
from cuter.models.tagging import Tagged
from cuter.show.narrow import FoldedTable
from cuter.show.progress_line import ProgressLine
from cuter.show.table import plain_table, terminal
from cuter.stream.images import path_text


def tag_table(rows: Sequence[Tagged]) -> FoldedTable:
    """Return a table of images and their labels."""
    cells = [[path_text(row.path), "unreadable" if row.error else _labels(row)] for row in rows]
    return terminal(plain_table(["image", "labels"], cells, text_columns=2))


def _labels(row: Tagged) -> str:
    return ", ".join(f"{name} {probability:.2f}{_where(row, name)}" for name, probability in row.labels.items()) or "–"


def _where(row: Tagged, name: str) -> str:
    box = (row.boxes or {}).get(name)
    return "" if box is None else f" ({', '.join(f'{corner:.2f}' for corner in box)})"


def threshold_table(classes: Sequence[ClassThreshold]) -> FoldedTable:
    """Return a table of thresholds, with precision, recall and F1 there and at 0.5, in percent."""
    head = ["class", "positives", "threshold", "precision", "recall", "F1", "at 0.5:\nprecision", "recall", "F1"]
    cells = []
    for one in classes:
        figures = [value for at in (one.at, one.natural) for value in (at.precision, at.recall, at.f1)]
        percent = [f"{100 * value:.1f}" for value in figures]
        cells.append([one.name, str(one.positives), f"{one.threshold:.4g}", *percent])
    return terminal(plain_table(head, cells))


class TagProgress(ProgressLine):
    """Shows how many images are tagged, how fast, and how long it will take.

    Args:
        console: Where it is shown.
        total: How many images there are.
    """

    def __init__(self, console: Console, total: int):
        super().__init__(console)
        self.total = total
        self.done: int | None = None
        self.meter = Meter()
        self.set_total(total, 0)

    def __call__(self, done: int) -> None:
        """Note how many images are done by now; the first number are those of an earlier command."""
        new = 0 if self.done is None else done - self.done
        if self.done is None:
            self.set_total(self.total, done)
        elif new:
            self.meter.add(new)
        self.done = done
        rate = self.meter.recent
        left = str(timedelta(seconds=round(max(self.total - done, 0) / rate))) if rate else "?"
        self.advance(new, "tagging", f"{done:,} of {self.total:,} images  {rate or 0:.1f} images/s  {left} left")
