"""How the figures depend on a setting, the others as they are: `fig: sensitivity` of the paper, and any sweep."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from cuter.experiment.run_pictures import BLUE, SMALL, VERMILION
from cuter.learn.regularisers import WEIGHTS
from cuter.paper.figures.source import Points, RowRuns
from cuter.paper.figures.style import BASELINES, MARKERS, Look, curve, new_figure, plain
from cuter.paper.jobs import WITHOUT_EFFECT

FIGURES = {"average": ("average mAP", BLUE, "-"), "last": ("last mAP", VERMILION, "--")}
WIDE = 20  # times the smallest value: from here on the axis is logarithmic
ACROSS = 3  # panels in a line


def draw_dependence(rows: Sequence[RowRuns]) -> Any:
    """Draw a panel for each numeric setting in which rows differ, a pair of curves for rows that differ in it alone."""
    panels = dependences(rows)
    if not panels:
        return None
    across = min(len(panels), ACROSS)
    down = -(-len(panels) // ACROSS)
    figure = new_figure(3.4 * across, 3 * down)
    grid = figure.subplots(down, across, squeeze=False)
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_visible(False)
    for axes, (field, series) in zip(grid.flat, panels.items(), strict=False):
        for number, points in enumerate(series.values()):
            for name, (label, colour, dashes) in FIGURES.items():
                shade = colour if len(series) == 1 else BASELINES[number % len(BASELINES)]
                curve(axes, points[name], Look(shade, MARKERS[number % len(MARKERS)], dashes, 1.5))
                axes.lines[-1].set_label(label if len(series) == 1 else f"{list(series)[number]}, {label}")
        places = [place for points in series.values() for place in points["average"]]
        if min(places) > 0 and max(places) >= WIDE * min(places):
            axes.set_xscale("log")
        plain(axes, field, ylabel="mAP, percent" if axes in grid[:, 0] else "")
        axes.legend(frameon=False, fontsize=SMALL)
    return figure


def dependences(rows: Sequence[RowRuns]) -> dict[str, dict[str, dict[str, Points]]]:
    """Find settings with at least two numeric values in rows that are the same otherwise.

    Returned by field, then by what a group of rows has in common and other groups have not; then average and last mAP.
    """
    settings = {runs.row.name: _settings(runs) for runs in rows}
    fields = list(dict.fromkeys(field for values in settings.values() for field in values))
    differing = [field for field in fields if len({_text(values.get(field)) for values in settings.values()}) > 1]
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
            shared = [json.loads(key) for key in groups]
            telling = [other for other in shared[0] if len({_text(one[other]) for one in shared}) > 1]
            found[field] = {
                ", ".join(f"{other} {one[other]}" for other in telling): _points(group, field, settings)
                for one, group in zip(shared, groups.values(), strict=True)
            }
    return found


def _points(group: Sequence[RowRuns], field: str, settings: dict[str, dict[str, Any]]) -> dict[str, Points]:
    points: dict[str, Points] = {name: {} for name in FIGURES}
    for runs in group:
        place = float(settings[runs.row.name][field])
        for job in runs.jobs:
            for name in FIGURES:
                if job.summary and job.summary[name]["map"] is not None:
                    points[name].setdefault(place, []).append(job.summary[name]["map"])
    return points


def _settings(runs: RowRuns) -> dict[str, Any]:
    values = runs.jobs[0].config.model_dump(mode="json", exclude={*WITHOUT_EFFECT, "seed"})
    if values["alpha"] is None:
        values["alpha"] = WEIGHTS.get(values["regulariser"])  # what a regulariser has unless told otherwise
    return values


def _numeric(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
