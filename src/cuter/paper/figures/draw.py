"""Which figures there are, and how they are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cuter.paper.figures.balance import draw_balance
from cuter.paper.figures.curves import draw_curves
from cuter.paper.figures.dependence import draw_dependence
from cuter.paper.figures.localisation import draw_localisation
from cuter.paper.figures.source import RowRuns, finished_rows
from cuter.paper.figures.throughput import draw_throughput
from cuter.paper.jobs import Job

FIGURES: dict[str, Callable[[Sequence[RowRuns]], Any]] = {
    "curves": draw_curves,
    "balance": draw_balance,
    "localisation": draw_localisation,
    "dependence": draw_dependence,
    "throughput": draw_throughput,
}


def draw_figures(names: Sequence[str], jobs: Sequence[Job], folder: Path) -> list[Path]:
    """Draw figures of the finished runs as NAME.svg and NAME.png; what has nothing to show is left out."""
    rows = finished_rows(jobs)
    files = []
    for name in names:
        figure = FIGURES[name](rows)
        if figure is not None:
            files += save(figure, folder / name)
    return files


def save(figure: Any, place: Path) -> list[Path]:
    """Write a figure twice; the same figure gives the same bytes."""
    import matplotlib

    files = [place.with_name(f"{place.name}.{ending}") for ending in ("svg", "png")]
    with matplotlib.rc_context({"svg.hashsalt": place.name}):
        figure.savefig(files[0], metadata={"Date": None})
        figure.savefig(files[1])
    return files
