"""How well all classes so far are known after each task: `fig: overall` of the paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from cuter.runs.history import Line, tested
from cuter.show.figures.source import RowRuns
from cuter.show.figures.style import curve, looks, name_at_right, new_figure, plain


def map_after_tasks(lines: Sequence[Line]) -> dict[int, float | None]:
    """Return mAP over all classes seen so far, by task from 1."""
    return {number: line["test"]["scores"]["map"] for number, line in tested(lines)}


def draw_curves(rows: Sequence[RowRuns]) -> Any:
    """Draw mAP after each task, a curve a row."""
    found = {runs.row.name: runs.by_task(map_after_tasks) for runs in rows}
    found = {name: points for name, points in found.items() if points}
    if not found:
        return None
    look = looks([runs.row for runs in rows])
    figure = new_figure(7, max(3.6, 0.28 * len(found) + 1))
    axes = figure.subplots()
    ends = [(curve(axes, points, look[name]), name, look[name]) for name, points in found.items()]
    last = round(max(max(points) for points in found.values()))
    axes.set_xlim(0.8, last + 0.1)
    axes.set_xticks(range(1, last + 1, math.ceil(last / 20)))
    plain(axes, "mAP over all classes so far, percent", xlabel="after task")
    name_at_right(axes, ends)
    return figure
