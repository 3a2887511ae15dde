"""One look for all figures: colours that colour-blind people and printers can tell apart, names beside their lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cuter.show.fonts import use_fonts, writable
from cuter.show.pictures import COLOURS, FAINT, INK
from cuter.tables.suite import Row

ORANGE, SKY, GREEN, YELLOW, VERMILION, PURPLE, DARK, TEXT = (
    "#{:02x}{:02x}{:02x}".format(*colour) for colour in (*COLOURS, FAINT, INK)
)
BLUE = "#0072b2"  # the one of Okabe and Ito's colours that boxes on photos do without
PALE, GREY = "#efefef", "#bebebe"
BASELINES = (VERMILION, GREEN, ORANGE, PURPLE, SKY, DARK)
MARKERS = "s^DvPXo"  # one more than colours, so that a pair of both is not soon met again
LARGE, MEDIUM, SMALL, SMALLEST = 12, 9, 8, 6.5  # points
LINE = 1.25  # lines of text between the names of two curves
BAND = 0.15  # opacity of what seeds cover

Points = dict[float, list[float]]  # figures of all seeds, by task or by the value of a setting


@dataclass(frozen=True)
class LineStyle:
    """How a curve is drawn, the same in all panels of a figure."""

    colour: str
    marker: str = ""
    dashes: str = "-"
    width: float = 1.5


def row_styles(rows: Sequence[Row]) -> dict[str, LineStyle]:
    """Return the style of each row: ours in strong blue, bounds grey and dashed, others in colours with own marks."""
    found = {}
    counts = {"ours": 0, "baseline": 0, "bound": 0}
    for row in rows:
        number = counts[row.kind]
        counts[row.kind] += 1
        marker = MARKERS[number % len(MARKERS)]
        if row.kind == "ours" and counts["ours"] == 1:
            found[row.name] = LineStyle(BLUE, "o", width=2.4)
        elif row.kind == "bound":
            found[row.name] = LineStyle(GREY, marker, "--", 1.2)
        else:
            number += len(BASELINES) // 2 if row.kind == "ours" else 0
            found[row.name] = LineStyle(BASELINES[number % len(BASELINES)], marker, width=1.2)
    return found


def new_figure(width: float, height: float, dpi: float = 200) -> Any:
    """Return an empty figure; sizes are in inches, a column of print is about 3.3 wide and a page 7."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=dpi, layout="constrained")


def save_figure(figure: Any, place: Path) -> list[Path]:
    """Write a figure as SVG and as PNG; the same figure gives the same bytes."""
    import matplotlib

    use_fonts(figure)
    files = [place.with_name(f"{place.name}.{ending}") for ending in ("svg", "png")]
    with matplotlib.rc_context({"svg.hashsalt": place.name}):
        figure.savefig(files[0], metadata={"Date": None})
        figure.savefig(files[1])
    return files


def tidy(axes: Any, title: str = "", xlabel: str = "", ylabel: str = "", size: float = LARGE - 2) -> None:
    """Take away what says nothing, and name what is shown."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=SMALL)
    axes.set_title(writable(title), loc="left", fontsize=size, parse_math=False)
    axes.set_xlabel(xlabel, fontsize=MEDIUM)
    axes.set_ylabel(ylabel, fontsize=MEDIUM)


def number_tasks(axes: Any, last: int) -> None:
    """Number the tasks below an axis, or some of them."""
    axes.set_xlim(0.8, last + 0.1)
    axes.set_xticks(range(1, last + 1, math.ceil(last / 20)))


def curve(axes: Any, points: Points, style: LineStyle) -> float:
    """Draw means over seeds with a band from the lowest to the highest seed; return the height of the last point."""
    places = sorted(points)
    means = [float(np.mean(points[place])) for place in places]
    lows, highs = ([end(points[place]) for place in places] for end in (min, max))
    if lows != highs:
        axes.fill_between(places, lows, highs, color=style.colour, alpha=BAND, linewidth=0)
    look = {"marker": style.marker, "markersize": 4, "color": style.colour, "linewidth": style.width}
    axes.plot(places, means, style.dashes, zorder=3 if style.width > 2 else 2, **look)
    return means[-1]


def name_at_right(axes: Any, ends: Sequence[tuple[float, str, LineStyle]]) -> None:
    """Write the names of curves beside their ends, moved apart where they would meet; the axes have their limits."""
    low, high = axes.get_ylim()
    inches = axes.figure.get_figheight() * 0.75  # what titles and labels leave of it, about
    line = LINE * MEDIUM / 72 * (high - low) / inches
    places = spread_labels([height for height, _, _ in ends], line, high=high)
    right = axes.get_xlim()[1]
    for (height, name, style), place in zip(ends, places, strict=True):
        leader = {"arrowstyle": "-", "color": style.colour, "linewidth": 0.5, "shrinkA": 1, "shrinkB": 2}
        axes.annotate(
            writable(name),
            (right, height),
            (1.03, (place - low) / (high - low)),
            textcoords="axes fraction",
            va="center",
            fontsize=MEDIUM,
            color=style.colour if style.colour != GREY else DARK,
            fontweight="bold" if style.width > 2 else "normal",
            arrowprops=leader | {"relpos": (0, 0.5)},
            annotation_clip=False,
            parse_math=False,
        )


def spread_labels(heights: Sequence[float], gap: float, low: float = -math.inf, high: float = math.inf) -> list[float]:
    """Move labels apart until no two are nearer than `gap`, each group around its own middle; their order stays.

    Args:
        heights: Where labels would be.
        gap: How far from each other they must be.
        low: Above which they stay, if there is room.
        high: Below which they stay.

    Returns:
        Where they are, in the order given.
    """
    order = sorted(range(len(heights)), key=lambda place: heights[place])
    groups: list[list[int]] = []

    def bottom(group: list[int]) -> float:
        return sum(heights[place] for place in group) / len(group) - gap * (len(group) - 1) / 2

    for place in order:
        groups.append([place])
        while len(groups) > 1 and bottom(groups[-1]) - bottom(groups[-2]) < gap * len(groups[-2]):
            groups[-2:] = [groups[-2] + groups[-1]]
    found = list(heights)
    for group in groups:
        for number, place in enumerate(group if len(group) > 1 else ()):
            found[place] = bottom(group) + number * gap
    for place in reversed(order):
        found[place] = min(found[place], high)
        high = found[place] - gap
    for place in order:
        found[place] = max(found[place], low)
        low = found[place] + gap
    return found
