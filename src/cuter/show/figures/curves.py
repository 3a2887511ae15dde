"""Curves over tasks, one per row: mAP (`fig: overall` of the paper), and how well the model cuts (`fig: detect`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cuter.runs.record import RunRecord
from cuter.show.figures.source import RowRuns
from cuter.show.style import Points, curve, name_at_right, new_figure, number_tasks, row_styles, tidy
from cuter.tables.suite import Row

PANELS = {
    "fiedler": ("average Fiedler value (lower: easier to cut)", 1),
    "ap50": ("AP50 of the cut-outs, percent", 100),
}


def map_after_tasks(record: RunRecord) -> dict[int, float | None]:
    """Return mAP over all classes seen so far, by task from 1."""
    return {result.task + 1: result.scores["map"] for result in record.results}


def draw_curves(rows: Sequence[RowRuns]) -> Any:
    """Draw mAP after each task, a curve per row."""
    found = {runs.row.name: points for runs in rows if (points := runs.by_task(map_after_tasks))}
    if not found:
        return None
    figure = new_figure(7, max(3.6, 0.28 * len(found) + 1))
    _panel(figure.subplots(), "mAP over all classes so far, percent", found, [runs.row for runs in rows])
    return figure


def draw_localisation(rows: Sequence[RowRuns]) -> Any:
    """Draw Fiedler value and AP50 after each task, a curve per row; AP50 only where the data set has boxes."""
    panels = {}
    for name, (title, factor) in PANELS.items():
        found = {runs.row.name: points for runs in rows if (points := _localisation(runs, name, factor))}
        if found:
            panels[title] = found
    if not panels:
        return None
    figure = new_figure(5 * len(panels), max(3.2, 0.2 * max(map(len, panels.values())) + 1))
    for axes, (title, found) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
        _panel(axes, title, found, [runs.row for runs in rows], from_zero=True)
    return figure


def _localisation(runs: RowRuns, name: str, factor: float) -> Points:
    return runs.by_task(
        lambda record: {task: factor * value for task, value in record.localisation.get(name, {}).items()}
    )


def _panel(axes: Any, title: str, found: Mapping[str, Points], rows: Sequence[Row], *, from_zero: bool = False) -> None:
    """Draw curves with their names; from zero, a small change looks small."""
    styles = row_styles(rows)
    ends = [(curve(axes, points, styles[name]), name, styles[name]) for name, points in found.items()]
    if from_zero:
        axes.set_ylim(0, 1.1 * axes.get_ylim()[1])
    number_tasks(axes, round(max(max(points) for points in found.values())))
    tidy(axes, title, xlabel="after task")
    name_at_right(axes, ends)
