"""Which classes fill memory at the end: `fig: balance` of the paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cuter.show.figures.source import RowRuns
from cuter.show.run_pictures import class_label
from cuter.show.style import DARK, SMALL, SMALLEST, new_figure, row_styles, tidy

NAMED = 40  # classes that have room for their names
ACROSS = 3  # panels in a line
LETTER = 0.06  # inches of a name


def draw_balance(rows: Sequence[RowRuns]) -> Any:
    """Draw items of each class in memory, a panel per row, all with the same classes in the same order."""
    found = {runs.row.name: _mean_counts(runs) for runs in rows}
    found = {name: counts for name, counts in found.items() if any(counts.values())}
    if not found:
        return None
    first = next(iter(found.values()))
    classes = sorted(first, key=lambda name: -first[name])  # of the first row, so that others show what they change
    look = row_styles([runs.row for runs in rows])
    down = math.ceil(len(found) / ACROSS)
    across = min(len(found), ACROSS)
    labels = [class_label(name) for name in classes] if len(classes) <= NAMED else []
    figure = new_figure(3.3 * across, 1.9 * down + 0.3 + LETTER * max(map(len, labels), default=0))
    grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    for axes, (row, counts) in zip(grid.flat, found.items(), strict=False):
        heights = np.array([counts.get(name, 0) for name in classes])
        if labels:
            axes.bar(range(len(classes)), heights, width=0.8, color=look[row].colour)
        else:  # bars without room between them, as one shape: thousands of shapes take minutes
            axes.stairs(heights, np.arange(len(classes) + 1) - 0.5, fill=True, color=look[row].colour)
        axes.axhline(heights.mean(), color=DARK, linewidth=0.8, linestyle=":")
        tidy(axes, row)
        axes.text(1, 1.02, _most_to_least(heights), transform=axes.transAxes, ha="right", fontsize=SMALL, color=DARK)
        if labels:
            axes.set_xticks(range(len(classes)), labels, rotation=90, fontsize=SMALLEST, parse_math=False)
        else:
            axes.set_xticks([])
    for axes in list(grid.flat)[len(found) :]:
        axes.set_visible(False)
    for column in range(across):  # the lowest panel of a column that is not full has the names
        used = [axes for axes in grid[:, column] if axes.get_visible()]
        used[-1].tick_params(labelbottom=True)
    figure.supylabel("items (dotted: an even share)", fontsize=SMALL)
    return figure


def _mean_counts(runs: RowRuns) -> dict[str, float]:
    """Return items of each class after the last task, mean over seeds."""
    last = [record.memory[max(record.memory)] for record in runs.records if record.memory]
    names = dict.fromkeys(name for counts in last for name in counts)
    return {name: float(np.mean([counts.get(name, 0) for counts in last])) for name in names}


def _most_to_least(heights: np.ndarray[Any, Any]) -> str:
    most, least = heights.max(), heights.min()
    ratio = f" = {most / least:.1f}" if least else ""
    return f"most : least {most:,.0f} : {least:,.0f}{ratio}"
