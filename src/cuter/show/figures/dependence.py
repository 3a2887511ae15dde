"""How the figures depend on a setting, the others as they are: `fig: sensitivity` of the paper, and any sweep."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cuter.learn.regularisers import WEIGHTS
from cuter.show.figures.source import RowRuns
from cuter.show.fonts import writable
from cuter.show.style import (
    BASELINES,
    BLUE,
    DARK,
    LINE,
    MARKERS,
    SMALL,
    VERMILION,
    LineStyle,
    Points,
    curve,
    new_figure,
    tidy,
)
from cuter.tables.columns import COLUMNS
from cuter.tables.jobs import WITHOUT_EFFECT

FIGURES = {"average": ("average mAP", BLUE, "-"), "last": ("last mAP", VERMILION, "--")}
DECADE = 10  # times the smallest value: from here on the axis is logarithmic
ACROSS = 3  # panels in a line
WIDTH, HEIGHT = 3.4, 2.7  # inches of a panel, without its legend
LABEL = 40  # letters in a line of a legend that is as wide as its panel
NO_BREAK = "\N{NO-BREAK SPACE}"
NUMBERS = 2.2 * SMALL  # points below an axis that its numbers take
NEAR = 0.16  # of an axis: numbers of values that are nearer than this would meet


def draw_dependence(rows: Sequence[RowRuns]) -> Any:
    """Draw a panel for each numeric setting in which rows differ, a pair of curves for rows that differ in it alone."""
    from matplotlib.transforms import ScaledTranslation

    panels = dependences(rows)
    if not panels:
        return None
    across = min(len(panels), ACROSS)
    legends = [_legend(series) for series in panels.values()]
    lines = [sum(label.count("\n") + 1 for _, label in entries) for entries in legends]
    legend_heights = [max(lines[start : start + across]) * LINE * SMALL / 72 for start in range(0, len(lines), across)]
    figure = new_figure(WIDTH * across, HEIGHT * len(legend_heights) + sum(legend_heights))
    heights = [HEIGHT + height for height in legend_heights]
    grid = figure.subplots(len(heights), across, squeeze=False, height_ratios=heights)
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_visible(False)
    for axes, (field, series), entries in zip(grid.flat, panels.items(), legends, strict=False):
        for look, points in zip(_looks(len(series)), series.values(), strict=True):
            for name in FIGURES:
                if points[name]:
                    curve(axes, points[name], look[name])
        if places := sorted({place for points in series.values() for name in FIGURES for place in points[name]}):
            _scale(axes, places)
        tidy(axes, field, ylabel="mAP, percent" if axes in grid[:, 0] else "")
        handles, labels = zip(*entries, strict=True)
        below_numbers = axes.transAxes + ScaledTranslation(0, -NUMBERS / 72, figure.dpi_scale_trans)
        place = {"loc": "upper left", "bbox_to_anchor": (0, 0), "bbox_transform": below_numbers, "borderaxespad": 0}
        axes.legend(
            handles, labels, fontsize=SMALL, frameon=False, handlelength=2.8, labelspacing=LINE - 1, **place
        )  # no place inside the panel is sure to be free
    return figure


def _looks(count: int) -> list[dict[str, LineStyle]]:
    """Return how each pair of curves is drawn; a single pair by its two figures, several each in a colour."""
    if count == 1:
        return [{name: LineStyle(colour, MARKERS[0], dashes, 1.5) for name, (_, colour, dashes) in FIGURES.items()}]
    return [
        {
            name: LineStyle(BASELINES[number % len(BASELINES)], MARKERS[number % len(MARKERS)], dashes, 1.5)
            for name, (_, _, dashes) in FIGURES.items()
        }
        for number in range(count)
    ]


def _legend(series: dict[str, dict[str, Points]]) -> list[tuple[Any, str]]:
    """Return a sample and a label for each figure and, where there are several, for each pair of curves."""
    from matplotlib.lines import Line2D

    looks = _looks(len(series))
    if len(series) == 1:
        figures = {FIGURES[name][0]: look for name, look in looks[0].items()}
        pairs = {}
    else:
        figures = {label: LineStyle(DARK, "", dashes, 1.5) for label, _, dashes in FIGURES.values()}
        pairs = {name: replace(look["average"], dashes="") for name, look in zip(series, looks, strict=True)}
    return [
        (
            Line2D([], [], color=look.colour, marker=look.marker, markersize=4, linestyle=look.dashes or "none"),
            _broken(writable(label)),
        )
        for label, look in (figures | pairs).items()
    ]


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


def dependences(rows: Sequence[RowRuns]) -> dict[str, dict[str, dict[str, Points]]]:
    """Find settings with at least two numeric values in rows that are the same otherwise.

    Returned by field, then by what a group of rows has in common and other groups have not; then average and last mAP.
    """
    settings = {runs.row.name: _settings(runs) for runs in rows}
    fields = list(dict.fromkeys(field for values in settings.values() for field in values))
    differing = [field for field in fields if len({_text(values.get(field)) for values in settings.values()}) > 1]
    chosen = {"method", "backbone", *(field for runs in rows for field in runs.row.options)}
    found: dict[str, dict[str, dict[str, Points]]] = {}
    for field in differing:
        groups: dict[str, list[RowRuns]] = {}
        for runs in rows:
            own = settings[runs.row.name]
            if _numeric(own.get(field)):
                others = {other: own.get(other) for other in differing if other != field}
                groups.setdefault(_text(others), []).append(runs)
        groups = {key: group for key, group in groups.items() if len(group) > 1}
        if groups:
            names = _names([json.loads(key) for key in groups], chosen)
            found[field] = {
                name: _points(group, field, settings) for name, group in zip(names, groups.values(), strict=True)
            }
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


def _points(group: Sequence[RowRuns], field: str, settings: dict[str, dict[str, Any]]) -> dict[str, Points]:
    points: dict[str, Points] = {name: {} for name in FIGURES}
    for runs in group:
        place = float(settings[runs.row.name][field])
        for record in runs.records:
            for name in FIGURES:
                if (value := COLUMNS[f"{name}.map"].read(record)) is not None:
                    points[name].setdefault(place, []).append(value)
    return points


def _settings(runs: RowRuns) -> dict[str, Any]:
    values = runs.jobs[0].config.model_dump(mode="json", exclude={*WITHOUT_EFFECT, "seed"})
    if values["alpha"] is None:
        values["alpha"] = WEIGHTS.get(values["regulariser"])  # what a regulariser has by default
    return values


def _numeric(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
