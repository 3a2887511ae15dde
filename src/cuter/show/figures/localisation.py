"""Whether the model still cuts well while it learns: `fig: detect` of the paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from cuter.runs.history import localisation_after_tasks
from cuter.show.figures.source import RowRuns
from cuter.show.figures.style import curve, looks, name_at_right, new_figure, plain

PANELS = {
    "fiedler": ("average Fiedler value (lower: easier to cut)", 1),
    "ap50": ("AP50 of the cut-outs, percent", 100),
}


def draw_localisation(rows: Sequence[RowRuns]) -> Any:
    """Draw Fiedler value and AP50 after each task, a curve a row; AP50 only where the data set has boxes."""
    panels = {}
    for name, (title, factor) in PANELS.items():
        found = {runs.row.name: _points(runs, name, factor) for runs in rows}
        if any(found.values()):
            panels[title] = {row: points for row, points in found.items() if points}
    if not panels:
        return None
    look = looks([runs.row for runs in rows])
    most = max(map(len, panels.values()))
    figure = new_figure(5 * len(panels), max(3.2, 0.2 * most + 1))
    for axes, (title, found) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
        ends = [(curve(axes, points, look[name]), name, look[name]) for name, points in found.items()]
        last = round(max(max(points) for points in found.values()))
        axes.set_xlim(0.8, last + 0.1)
        axes.set_ylim(0, 1.1 * axes.get_ylim()[1])  # from 0, so that a small change looks small
        axes.set_xticks(range(1, last + 1, math.ceil(last / 20)))
        plain(axes, title, xlabel="after task")
        name_at_right(axes, ends)
    return figure


def _points(runs: RowRuns, name: str, factor: float) -> dict[float, list[float]]:
    return runs.by_task(
        lambda lines: {
            task: factor * figures[name] for task, figures in localisation_after_tasks(lines).items() if name in figures
        }
    )
