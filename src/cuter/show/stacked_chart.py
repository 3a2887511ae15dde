"""What became of the cut-outs, as a chart of layers that make a hundred percent."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from cuter.runs.record import Selection
from cuter.show.scales import LINE, TEXT, Frame
from cuter.show.style import spread_labels
from cuter.show.svg import drawing, fitted, tag, text_width

COLOURS = 8  # as many as the style sheet has for outcomes


def share_chart(selection: Selection, outcomes: Sequence[str], width: float, label: str) -> Markup:
    """Draw what became of the cut-outs as layers of a hundred percent over the steps.

    An outcome has the colour of its place among `outcomes`, whichever of them a run knows.
    """
    names = [name for name, total in selection.totals.items() if total]
    room = min(max(text_width(name, TEXT) for name in names) + 14, 0.34 * width)
    edges = selection.edges.tolist()
    frame = Frame(46, 26, width - room, 226, (edges[0], edges[-1]), (0, 100))
    parts: list[Markup] = []
    tops = [0.0] * len(selection.shares)
    middles = []
    for name in names:
        shares = selection.shares[:, list(selection.totals).index(name)].tolist()
        path = _layer(frame, edges, tops, shares)
        tops = [top + (0 if math.isnan(share) else share) for top, share in zip(tops, shares, strict=True)]
        parts.append(tag("path", tag("title", name), d=path, class_=f"layer {outcome_class(name, outcomes)}"))
        middles.append(_middle_of_the_end(frame, tops, shares))
    for name, y in zip(names, spread_labels(middles, LINE, frame.top + 4, frame.bottom - 2), strict=True):
        parts.append(tag("text", fitted(name, TEXT, room - 14), x=frame.right + 10, y=y + 4))
    parts += [*_percent_axis(frame), *_step_axis(frame, selection)]
    return drawing(width, 262, label, *parts)


def _layer(frame: Frame, edges: Sequence[float], below: Sequence[float], shares: Sequence[float]) -> str:
    """Return a path around the shares of one outcome, a box for each bin, upon what lies below."""
    boxes = []
    for left, right, base, share in zip(edges, edges[1:], below, shares, strict=False):
        if share > 0:  # not a number where a bin has no cut-outs
            x1, x2, y1, y2 = frame.x(left), frame.x(right), frame.y(base + share), frame.y(base)
            boxes.append(f"M{x1:.1f} {y1:.1f}H{x2:.1f}V{y2:.1f}H{x1:.1f}z")
    return "".join(boxes)


def _middle_of_the_end(frame: Frame, tops: Sequence[float], shares: Sequence[float]) -> float:
    """Return the height of a layer's middle in the last bin that has any."""
    for top, share in zip(reversed(tops), reversed(shares), strict=True):
        if not math.isnan(share):
            return frame.y(top - share / 2)
    return frame.bottom


def _percent_axis(frame: Frame) -> list[Markup]:
    return [
        tag("text", f"{share} %", x=frame.left - 6, y=frame.y(share) + 4, class_="tick end") for share in (0, 50, 100)
    ]


def _step_axis(frame: Frame, selection: Selection) -> list[Markup]:
    parts = []
    ends = [*selection.starts[1:], float(selection.edges[-1])]
    free = -math.inf
    for number, (first, last) in enumerate(zip(selection.starts, ends, strict=True), start=1):
        if number > 1:
            x = frame.x(first)
            parts.append(tag("line", x1=x, x2=x, y1=frame.top, y2=frame.bottom, class_="parting"))
        middle = frame.x((first + last) / 2)
        if middle - 26 >= free:
            parts.append(tag("text", f"task {number}", x=middle, y=frame.top - 9, class_="tick middle"))
            free = middle + 26
    parts.append(tag("text", f"step {selection.starts[0] + 1}", x=frame.left, y=frame.bottom + 18, class_="tick"))
    end = f"step {selection.edges[-1]:.0f}"
    return [*parts, tag("text", end, x=frame.right, y=frame.bottom + 18, class_="tick end")]


def outcome_class(name: str, outcomes: Sequence[str]) -> str:
    """Return the class that gives an outcome its colour."""
    return f"o{list(outcomes).index(name) % COLOURS}"
