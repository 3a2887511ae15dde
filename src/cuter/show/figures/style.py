"""The look of all figures: colours that colour-blind people and printers can tell apart, names beside their lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cuter.show.figures.source import Points, centre_and_range
from cuter.show.fonts import writable
from cuter.show.run_pictures import (
    BLUE,
    DARK,
    GREEN,
    GREY,
    LARGE,
    MEDIUM,
    ORANGE,
    PURPLE,
    SKY,
    SMALL,
    VERMILION,
)
from cuter.tables.suite import Row

LINE = 1.25  # lines of text between the names of two curves
BASELINES = (VERMILION, GREEN, ORANGE, PURPLE, SKY, DARK)
MARKERS = "s^DvPXo"  # one more than colours, so that a pair of both is not soon met again
BAND = 0.15  # opacity of what seeds cover


@dataclass(frozen=True)
class Look:
    """How a row is drawn, the same in all panels of a figure."""

    colour: str
    marker: str
    dashes: str
    width: float


def looks(rows: Sequence[Row]) -> dict[str, Look]:
    """Give each row its look: ours in strong blue, bounds grey and dashed, the rest in colours with their own marks."""
    found = {}
    counts = {"ours": 0, "baseline": 0, "bound": 0}
    for row in rows:
        number = counts[row.kind]
        counts[row.kind] += 1
        marker = MARKERS[number % len(MARKERS)]
        if row.kind == "ours" and counts["ours"] == 1:
            found[row.name] = Look(BLUE, "o", "-", 2.4)
        elif row.kind == "bound":
            found[row.name] = Look(GREY, marker, "--", 1.2)
        else:
            number += len(BASELINES) // 2 if row.kind == "ours" else 0
            found[row.name] = Look(BASELINES[number % len(BASELINES)], marker, "-", 1.2)
    return found


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure; sizes are in inches, a column of print is about 3.3 wide and a page 7."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=200, layout="constrained")


def plain(axes: Any, title: str, xlabel: str = "", ylabel: str = "") -> None:
    """Take away what tells nothing, and name what is shown."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=SMALL)
    axes.set_title(writable(title), loc="left", fontsize=LARGE - 2, parse_math=False)
    axes.set_xlabel(xlabel, fontsize=MEDIUM)
    axes.set_ylabel(ylabel, fontsize=MEDIUM)


def curve(axes: Any, points: Points, look: Look) -> float:
    """Draw means over seeds with a band from the lowest to the highest seed; return the height of the last point."""
    places, means, ends = centre_and_range(points)
    if (ends[:, 0] < ends[:, 1]).any():
        axes.fill_between(places, ends[:, 0], ends[:, 1], color=look.colour, alpha=BAND, linewidth=0)
    axes.plot(
        places,
        means,
        look.dashes,
        marker=look.marker,
        markersize=4,
        color=look.colour,
        linewidth=look.width,
        zorder=3 if look.width > 2 else 2,
    )
    return float(means[-1])


def name_at_right(axes: Any, ends: Sequence[tuple[float, str, Look]]) -> None:
    """Write the names of curves beside their ends, moved apart where they would meet; the axes have their limits."""
    low, high = axes.get_ylim()
    inches = axes.figure.get_figheight() * 0.75  # what titles and labels leave of it, about
    line = LINE * MEDIUM / 72 * (high - low) / inches
    places = lowered(spread_out([height for height, _, _ in ends], line), line, high)
    right = axes.get_xlim()[1]
    for (height, name, look), place in zip(ends, places, strict=True):
        leader = {
            "arrowstyle": "-",
            "color": look.colour,
            "linewidth": 0.5,
            "shrinkA": 1,
            "shrinkB": 2,
            "relpos": (0, 0.5),
        }
        axes.annotate(
            writable(name),
            (right, height),
            (1.03, (place - low) / (high - low)),
            textcoords="axes fraction",
            va="center",
            fontsize=MEDIUM,
            color=look.colour if look.colour != GREY else DARK,
            fontweight="bold" if look.width > 2 else "normal",
            arrowprops=leader,
            annotation_clip=False,
            parse_math=False,
        )


def spread_out(heights: Sequence[float], gap: float) -> list[float]:
    """Move heights apart until no two are nearer than `gap`, each group around its own middle; their order stays."""
    order = sorted(range(len(heights)), key=lambda place: heights[place])
    groups: list[list[int]] = []
    for place in order:
        groups.append([place])
        while len(groups) > 1 and _bottom(groups[-1], heights, gap) - _top(groups[-2], heights, gap) < gap:
            groups[-2:] = [groups[-2] + groups[-1]]
    found = [0.0] * len(heights)
    for group in groups:
        bottom = _bottom(group, heights, gap)
        for number, place in enumerate(group):
            found[place] = bottom + number * gap
    return found


def lowered(heights: Sequence[float], gap: float, highest: float) -> list[float]:
    """Move heights down as far as it takes to keep all below `highest`, and `gap` apart: a title is above it."""
    found, limit = list(heights), highest
    for place in sorted(range(len(found)), key=lambda place: -found[place]):
        found[place] = min(found[place], limit)
        limit = found[place] - gap
    return found


def _middle(group: Sequence[int], heights: Sequence[float]) -> float:
    return sum(heights[place] for place in group) / len(group)


def _bottom(group: Sequence[int], heights: Sequence[float], gap: float) -> float:
    return _middle(group, heights) - gap * (len(group) - 1) / 2


def _top(group: Sequence[int], heights: Sequence[float], gap: float) -> float:
    return _middle(group, heights) + gap * (len(group) - 1) / 2
