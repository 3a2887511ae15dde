"""Which figures there are, and how they are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cuter.show.figures.balance import draw_balance
from cuter.show.figures.curves import draw_curves, draw_localisation
from cuter.show.figures.dependence import draw_dependence
from cuter.show.figures.source import RowRuns, finished_rows
from cuter.show.figures.throughput import draw_throughput
from cuter.show.style import save_figure
from cuter.tables.jobs import Job

FIGURES: dict[str, Callable[[Sequence[RowRuns]], Any]] = {
    "curves": draw_curves,
    "balance": draw_balance,
    "localisation": draw_localisation,
    "dependence": draw_dependence,
    "throughput": draw_throughput,
}


OVER_SEEDS = "Lines are means over seeds, bands go from the lowest seed to the highest."
CAPTIONS = {
    "curves": f"mAP over all classes seen so far, after each task. {OVER_SEEDS}",
    "balance": "Items of each class in memory after the last task, mean over seeds; classes in the order of the first.",
    "localisation": f"How well the model cuts after each task, on the same images. {OVER_SEEDS}",
    "dependence": f"mAP over a setting, all others as they are. {OVER_SEEDS}",
    "throughput": "Images of the stream learned in a second, and as a share of the fastest.",
}


def draw_figures(names: Sequence[str], jobs: Sequence[Job], folder: Path) -> list[Path]:
    """Draw figures of the finished runs as NAME.svg and NAME.png; what has nothing to show is left out."""
    rows = finished_rows(jobs)
    files = []
    for name in names:
        figure = FIGURES[name](rows)
        if figure is not None:
            files += save_figure(figure, folder / name)
    return files
