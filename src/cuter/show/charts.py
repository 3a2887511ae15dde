"""Charts as SVG. Colours are classes of the style sheet, so that a chart is right on light and on dark ground.

Every chart comes in two widths, since text in a picture that shrinks would become too small to read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from cuter.show.run_labels import NamedRun
from cuter.show.scales import LINE, TEXT, Frame, nice_ticks, tick_text
from cuter.show.style import spread_labels
from cuter.show.svg import drawing, fitted, tag, text_width

WIDE, NARROW = 880, 340
NAMES_WIDE, NAMES_NARROW = 0.3, 0.48  # of the width for names at the ends of lines, at most
GAP = 18  # between lines and names


@dataclass(frozen=True)
class Chart:
    """The same chart for a wide and for a narrow page."""

    wide: Markup
    narrow: Markup


@dataclass(frozen=True)
class Curve:
    """Figures of a run by task."""

    run: NamedRun
    points: dict[int, float]


def line_chart(
    curves: Sequence[Curve], width: float, height: float, label: str, *, decimals: int = 1, from_zero: bool = False
) -> Markup:
    """Draw one line a run over the tasks, with its last value and its name at its end."""
    values = [value for curve in curves for value in curve.points.values()]
    ticks = nice_ticks(0 if from_zero else min(values), max(values))
    last_task = max(max(curve.points) for curve in curves)
    numbers = [f"{curve.points[max(curve.points)]:.{decimals}f} " for curve in curves]
    ends = [text_width(f"{number}{curve.run.label}", TEXT) for curve, number in zip(curves, numbers, strict=True)]
    room = min(max(ends) + 4, (NAMES_WIDE if width > 2 * NARROW else NAMES_NARROW) * width)
    left = max(text_width(tick_text(tick, ticks), TEXT) for tick in ticks) + 10
    height = max(height, LINE * len(curves) + 50)
    frame = Frame(left, 12, width - room - GAP, height - 40, (1, last_task), (ticks[0], ticks[-1]))
    heights = [frame.y(curve.points[max(curve.points)]) for curve in curves]
    places = spread_labels(heights, LINE, frame.top, frame.bottom)
    parts = [*_grid(frame, ticks), *_task_axis(frame, last_task), *(_curve(frame, curve, decimals) for curve in curves)]
    parts += [_end(frame, *one, room=room) for one in zip(curves, numbers, places, strict=True)]
    return drawing(width, height, label, *parts)


def _grid(frame: Frame, ticks: Sequence[float]) -> list[Markup]:
    parts = []
    for tick in ticks:
        y = frame.y(tick)
        parts.append(tag("line", x1=frame.left, x2=frame.right, y1=y, y2=y, class_="grid"))
        parts.append(tag("text", tick_text(tick, ticks), x=frame.left - 8, y=y + 4, class_="tick end"))
    return parts


def _task_axis(frame: Frame, tasks: int) -> list[Markup]:
    room = max(1, int((frame.right - frame.left) // 24))  # numbers that fit
    every = math.ceil(tasks / room)
    numbered = [task for task in range(1, tasks + 1) if (tasks - task) % every == 0]
    parts = [tag("text", str(task), x=frame.x(task), y=frame.bottom + 18, class_="tick middle") for task in numbered]
    middle = (frame.left + frame.right) / 2
    return [*parts, tag("text", "after task", x=middle, y=frame.bottom + 35, class_="tick middle")]


def _curve(frame: Frame, curve: Curve, decimals: int) -> Markup:
    places = [(frame.x(task), frame.y(value)) for task, value in sorted(curve.points.items())]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    markers = [
        marker(curve.run.shape, *place, title=f"{curve.run.label}, after task {task}: {value:.{decimals}f}")
        for place, (task, value) in zip(places, sorted(curve.points.items()), strict=True)
    ]
    return tag("g", tag("path", d=path, class_="curve"), *markers, class_=look(curve.run))


def _end(frame: Frame, curve: Curve, number: str, y: float, room: float) -> Markup:
    """Write a value and a name beside the end of a line, with a thin line between where they are apart."""
    task = max(curve.points)
    x, height = frame.x(task), frame.y(curve.points[task])
    start = frame.right + GAP
    leader = []
    if abs(y - height) > 3 or start - x > 2 * GAP:
        leader = [tag("path", d=f"M{x + 6:.1f} {height:.1f}L{start - 4:.1f} {y:.1f}", class_="leader")]
    name = fitted(curve.run.label, TEXT, room - text_width(number, TEXT))
    text = tag("text", tag("tspan", number, class_="strong"), name, x=start, y=y + 4)
    return tag("g", *leader, text, class_=look(curve.run))


def look(run: NamedRun) -> str:
    """Return the classes that give a run its colour and its kind of line."""
    return f"c{run.colour}" + (f" d{run.dash}" if run.dash else "")


# A marker of about the same area each, around the origin.
_MARKERS = (
    "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z",
    "M-4 -4h8v8h-8z",
    "M0 -5.4L5 3.6H-5z",
    "M0 -5.6L5.6 0L0 5.6L-5.6 0z",
    "M0 5.4L5 -3.6H-5z",
    "M-1.6 -5h3.2v3.4h3.4v3.2h-3.4v3.4h-3.2v-3.4h-3.4v-3.2h3.4z",
    "M-5 -2.5L0 -5.5L5 -2.5V2.5L0 5.5L-5 2.5z",
)


def marker(shape: int, x: float, y: float, title: str | None = None) -> Markup:
    """Return the marker of a run; shapes differ, so that colour is not all that tells runs apart."""
    name = [tag("title", title)] if title else []
    return tag("path", *name, d=_MARKERS[shape % len(_MARKERS)], transform=f"translate({x:.1f} {y:.1f})", class_="mark")
