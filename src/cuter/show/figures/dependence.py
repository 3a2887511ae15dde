"""How the figures depend on a setting, the others as they are: `fig: sensitivity` of the paper, and any sweep."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Sequence
from typing import Any

from cuter.learn.regularisers import REGULARISERS
from cuter.settings import flattened
from cuter.show import style
from cuter.show.figures.source import RowRuns
from cuter.show.fonts import writable
from cuter.show.style import SMALL, LineStyle, Points
from cuter.tables.columns import COLUMNS

FIGURES = {"average": ("average mAP", style.BLUE, "-"), "last": ("last mAP", style.VERMILION, "--")}
DECADE = 10  # times the smallest value: from here on the axis is logarithmic
ACROSS = 3  # panels in a line
WIDTH, HEIGHT = 3.4, 2.7  # inches of a panel, without its legend
LABEL = 40  # letters in a line of a legend that is as wide as its panel
NO_BREAK = "\N{NO-BREAK SPACE}"
NUMBERS = 2.2 * SMALL  # points below an axis that its numbers take
NEAR = 0.16  # of an axis: numbers of values that are nearer than this would meet

Series = dict[str, dict[str, Points]]  # by the name of a group of rows, then by figure


def draw_dependence(rows: Sequence[RowRuns]) -> Any:
    """Draw a panel per numeric setting in which rows differ, a pair of curves for rows that differ in it alone."""
    from matplotlib.transforms import ScaledTranslation

    panels = dependences(rows)
    if not panels:
        return None
    across = min(len(panels), ACROSS)
    legends = [_legend(series) for series in panels.values()]
    lines = [sum(label.count("\n") + 1 for _, label in entries) for entries in legends]
    rooms = [max(lines[start : start + across]) * style.LINE * SMALL / 72 for start in range(0, len(lines), across)]
    heights = [HEIGHT + room for room in rooms]
    figure = style.new_figure(WIDTH * across, sum(heights))
    grid = figure.subplots(len(heights), across, squeeze=False, height_ratios=heights)
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_visible(False)
    for axes, (field, series), entries in zip(grid.flat, panels.items(), legends, strict=False):
        for number, points in enumerate(series.values()):
            for name in FIGURES:
                if points[name]:
                    style.curve(axes, points[name], _style(name, number if len(series) > 1 else None))
        if places := sorted({place for points in series.values() for name in FIGURES for place in points[name]}):
            _scale(axes, places)
        style.tidy(axes, field, ylabel="mAP, percent" if axes in grid[:, 0] else "")
        handles, labels = zip(*entries, strict=True)
        below = axes.transAxes + ScaledTranslation(0, -NUMBERS / 72, figure.dpi_scale_trans)
        place = {"loc": "upper left", "bbox_to_anchor": (0, 0), "bbox_transform": below, "borderaxespad": 0}
        look = {"fontsize": SMALL, "frameon": False, "handlelength": 2.8, "labelspacing": style.LINE - 1}
        axes.legend(handles, labels, **look, **place)  # no place inside the panel is sure to be free
    return figure


def _style(name: str, group: int | None) -> LineStyle:
    """Return how a curve is drawn: a single pair by its two figures, several pairs each in a colour of its own."""
    _, colour, dashes = FIGURES[name]
    if group is None:
        return LineStyle(colour, style.MARKERS[0], dashes)
    return LineStyle(style.BASELINES[group % len(style.BASELINES)], style.MARKERS[group % len(style.MARKERS)], dashes)


def _legend(series: Series) -> list[tuple[Any, str]]:
    """Return a sample and a label for each figure and, where there are several, for each pair of curves."""
    from matplotlib.lines import Line2D

    def sample(one: LineStyle, dashes: str) -> Any:
        return Line2D([], [], color=one.colour, marker=one.marker, markersize=4, linestyle=dashes)

    if len(series) == 1:
        found = [(sample(_style(name, None), FIGURES[name][2]), FIGURES[name][0]) for name in FIGURES]
    else:
        found = [(sample(LineStyle(style.DARK), dashes), label) for label, _, dashes in FIGURES.values()]
        found += [(sample(_style("average", number), "none"), name) for number, name in enumerate(series)]
    return [(handle, _broken(writable(label))) for handle, label in found]


def _broken(label: str) -> str:
    """Break a label into lines, but no value from its field."""
    bound = label.replace(" ", NO_BREAK).replace(f",{NO_BREAK}", ", ")
    return textwrap.fill(bound, LABEL, subsequent_indent="  ").replace(NO_BREAK, " ")


def _scale(axes: Any, places: Sequence[float]) -> None:
    """Make an axis logarithmic where values span a decade or more, and number the values that were tried."""
    is_wide = places[0] > 0 and DECADE * places[0] <= places[-1]
    if is_wide:
        axes.set_xscale("log")
    heights = [math.log(place) if is_wide else place for place in places]
    gap = NEAR * (heights[-1] - heights[0])
    numbered = [0]
    for number, height in enumerate(heights):
        if height - heights[numbered[-1]] >= gap > 0:
            numbered.append(number)
    axes.set_xticks([places[number] for number in numbered], [f"{places[number]:g}" for number in numbered])
    axes.set_xticks(places, [""] * len(places), minor=True)


def dependences(rows: Sequence[RowRuns]) -> dict[str, Series]:
    """Find settings with at least two numeric values in rows that are the same otherwise.

    Returns:
        By field, then by what a group of rows has in common and other groups have not: average and last mAP.
    """
    settings = {runs.row.name: _settings(runs) for runs in rows}
    fields = list(dict.fromkeys(field for values in settings.values() for field in values))
    differing = [field for field in fields if len({_text(values.get(field)) for values in settings.values()}) > 1]
    chosen = {"method", "backbone", *(field for runs in rows for field in runs.row.options)}
    found: dict[str, Series] = {}
    for field in differing:
        groups: dict[str, list[RowRuns]] = {}
        for runs in rows:
            own = settings[runs.row.name]
            if isinstance(own.get(field), int | float) and not isinstance(own[field], bool):
                others = {other: own.get(other) for other in differing if other != field}
                groups.setdefault(_text(others), []).append(runs)
        groups = {key: group for key, group in groups.items() if len(group) > 1}
        if groups:
            names = _names([json.loads(key) for key in groups], chosen)
            points = [_points([(float(settings[one.row.name][field]), one) for one in own]) for own in groups.values()]
            found[field] = dict(zip(names, points, strict=True))
    return found


def _names(groups: Sequence[dict[str, Any]], chosen: set[str]) -> list[str]:
    """Name groups of rows by the settings in which they differ: by those that somebody chose, if these suffice."""
    differing = [field for field in groups[0] if len({_text(one[field]) for one in groups}) > 1]
    for fields in ([field for field in differing if field in chosen], differing):
        names = [", ".join(f"{field} {_value(one[field])}" for field in fields) for one in groups]
        if len(set(names)) == len(groups):
            break
    return names


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _points(rows: Sequence[tuple[float, RowRuns]]) -> dict[str, Points]:
    """Return the figures of all seeds of rows, each row with its value of a setting."""
    points: dict[str, Points] = {name: {} for name in FIGURES}
    for place, runs in rows:
        for record in runs.records:
            for name in FIGURES:
                if (value := COLUMNS[f"{name}.map"].read(record)) is not None:
                    points[name].setdefault(place, []).append(value)
    return points


def _settings(runs: RowRuns) -> dict[str, Any]:
    values = flattened(runs.jobs[0].config.dump(deciding=True))
    del values["seed"]
    if "regulariser.weight" in values and values["regulariser.weight"] is None:
        values["regulariser.weight"] = REGULARISERS[values["regulariser"]].weight  # what it has by default
    return values


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
