"""How many images of the stream a method learns in a second: part of `fig: detect&throughput` of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cuter.show.figures.source import RowRuns
from cuter.show.fonts import writable
from cuter.show.style import DARK, MEDIUM, SMALL, new_figure, row_styles, tidy


def draw_throughput(rows: Sequence[RowRuns]) -> Any:
    """Draw a bar per row, with its share of the fastest, which says more than images per second of one machine."""
    speeds = {runs.row.name: [record.images_per_second or 0.0 for record in runs.records] for runs in rows}
    if not speeds:
        return None
    means = {name: float(np.mean(values)) for name, values in speeds.items()}
    fastest = max(means.values())
    look = row_styles([runs.row for runs in rows])
    order = sorted(means, key=lambda name: means[name])
    figure = new_figure(7, 0.3 * len(order) + 0.9)
    axes = figure.subplots()
    places = range(len(order))
    axes.barh(places, [means[name] for name in order], color=[look[name].colour for name in order], height=0.7)
    axes.set_yticks(places, [writable(name) for name in order], parse_math=False)
    for place, name in enumerate(order):
        low, high = min(speeds[name]), max(speeds[name])
        if low < high:
            axes.plot([low, high], [place, place], color=DARK, linewidth=1)
        text = f"{means[name]:.1f}   {100 * means[name] / fastest:.0f} %"
        axes.annotate(text, (high, place), (5, 0), textcoords="offset points", va="center", fontsize=SMALL, color=DARK)
    tidy(axes, "Images learned a second, and as a share of the fastest")
    axes.set_xlim(0, 1.2 * max(max(values) for values in speeds.values()))
    axes.tick_params(axis="y", length=0, labelsize=MEDIUM)
    return figure
