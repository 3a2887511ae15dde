"""Reliability diagrams of a page: what was said beside what was observed, and how often it was said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from cuter.measure.calibration import Bin
from cuter.show.charts import COLOUR, DASHES, MARKER, MARKERS, TEXT, new_axes, to_svg


@dataclass(frozen=True)
class Reliability:
    """Bins of one kind of probability and its error; colour, shape and dash are numbers, as those of a run."""

    name: str
    bins: Sequence[Bin]
    error: str
    colour: int
    shape: int
    dash: int


def reliability_chart(kinds: Sequence[Reliability], width: float, label: str) -> Markup:
    """Draw the observed share over the mean probability of each bin; on the diagonal both agree."""
    axes = _axes(width)
    axes.set(ylim=(0, 100), yticks=range(0, 101, 20))
    axes.plot([0, 100], [0, 100], color=COLOUR["muted"], linewidth=1, linestyle=DASHES[1])
    titles = {}
    for number, kind in enumerate(kinds):
        filled = [one for one in kind.bins if one.count]
        points = [(100 * (one.probability or 0), 100 * (one.frequency or 0)) for one in filled]
        titles[f"kind-{number}"] = [
            f"{kind.name} {said:.1f} %: observed {seen:.1f} % of {one.count:,}"
            for one, (said, seen) in zip(filled, points, strict=True)
        ]
        _line(axes, kind, points, number)
    return to_svg(axes.figure, label, titles)


def count_chart(kinds: Sequence[Reliability], width: float, label: str) -> Markup:
    """Draw the share of all pairs of image and class that fall into each bin, on a logarithmic axis."""
    axes = _axes(width)
    axes.set(yscale="log", ylim=(0.01, 100))
    axes.set_yticks([0.01, 0.1, 1, 10, 100], ["0.01", "0.1", "1", "10", "100"])
    axes.minorticks_off()
    titles = {}
    for number, kind in enumerate(kinds):
        total = sum(one.count for one in kind.bins)
        filled = [one for one in kind.bins if one.count]
        points = [(50 * (one.low + one.high), max(100 * one.count / total, 0.01)) for one in filled]
        titles[f"kind-{number}"] = [
            f"{kind.name} {100 * one.low:.0f} to {100 * one.high:.0f} %: {one.count:,} predictions" for one in filled
        ]
        _line(axes, kind, points, number)
    return to_svg(axes.figure, label, titles)


def _axes(width: float) -> Any:
    """Return axes whose horizontal one is the probability; what the other shows is the heading of the chart."""
    axes = new_axes(width, width * 0.82, left=40, right=14, top=14, bottom=44)
    axes.set(xlim=(0, 100), xticks=range(0, 101, 20))
    axes.grid(color=COLOUR["rule"], linewidth=1, clip_on=False)
    axes.set_xlabel("probability, percent", fontsize=TEXT - 1, color=COLOUR["muted"])
    return axes


def _line(axes: Any, kind: Reliability, points: Sequence[tuple[float, float]], number: int) -> None:
    axes.plot(
        [x for x, _ in points],
        [y for _, y in points],
        color=COLOUR[f"c{kind.colour}"],
        linestyle=DASHES[kind.dash],
        linewidth=2.2,
        marker=MARKERS[kind.shape],
        markersize=MARKER,
        markeredgecolor=COLOUR["paper"],
        markeredgewidth=1.2,
        clip_on=False,
        gid=f"kind-{number}",
    )
