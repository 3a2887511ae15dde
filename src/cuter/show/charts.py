"""Charts of a page: drawn by matplotlib, as SVG that takes its colours and its font from the style sheet.

Every chart comes in two widths, since text in a picture that shrinks would become too small to read.
"""

from __future__ import annotations

import io
import itertools
import math
import re
import unicodedata
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import matplotlib
import numpy as np
from markupsafe import Markup

from cuter.runs.record import Selection
from cuter.show.run_labels import COLOURS, NamedRun
from cuter.show.style import new_figure, spread_labels

WIDE, NARROW = 880, 340  # pixels
TEXT = 13  # pixels, as the style sheet has it
LINE = 16  # pixels from one label to the next
GAP = 18  # pixels between lines and names
NAMES_WIDE, NAMES_NARROW = 0.3, 0.48  # of the width for names at the ends of lines, at most
MARKERS = "os^DvPh"  # shapes differ, so that colour is not all that tells runs apart
MARKER = 9  # pixels
DASHES: tuple[Any, ...] = ("-", (0, (3.2, 1.8)), (0, (0.9, 1.8)))  # in widths of a line
OUTCOMES = 8  # as many colours as the style sheet has for outcomes

# Variables of the style sheet. A chart is drawn in colours that stand for them and that nothing else has.
VARIABLES = ("ink", "muted", "rule", "paper", *(f"c{n}" for n in range(COLOURS)), *(f"o{n}" for n in range(OUTCOMES)))
PLACEHOLDERS = {f"#0a{number:02x}b7": name for number, name in enumerate(VARIABLES)}
COLOUR = {name: placeholder for placeholder, name in PLACEHOLDERS.items()}

SVG, XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"


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
    """Draw one line per run over the tasks, with its last value and its name at its end.

    Args:
        curves: The runs, each with at least one figure.
        width: Of the chart, in pixels.
        height: Of the chart, at least, in pixels.
        label: What a screen reader calls it.
        decimals: Of values.
        from_zero: Whether the axis begins at 0, so that a small change looks small.
    """
    values = [value for curve in curves for value in curve.points.values()]
    ticks = nice_ticks(0 if from_zero else min(values), max(values))
    last_task = max(max(curve.points) for curve in curves)
    ends = [f"{curve.points[max(curve.points)]:.{decimals}f} {curve.run.label}" for curve in curves]
    share = NAMES_WIDE if width > 2 * NARROW else NAMES_NARROW
    left = max(text_width(f"{tick:g}") for tick in ticks) + 10
    room = min(max(text_width(end) for end in ends) + 4, share * width)
    axes = new_axes(width, max(height, LINE * len(curves) + 50), left=left, right=room + GAP, top=12, bottom=40)
    axes.set(xlim=(1, last_task) if last_task > 1 else (0, 2), ylim=(ticks[0], ticks[-1]), yticks=ticks)
    axes.ticklabel_format(axis="y", useOffset=False, style="plain")
    axes.grid(axis="y", color=COLOUR["rule"], linewidth=1, clip_on=False)
    every = math.ceil(last_task / max(1, (width - room - GAP - left) // 24))  # as many numbers as fit
    axes.set_xticks([task for task in range(1, last_task + 1) if (last_task - task) % every == 0])
    axes.set_xlabel("after task", fontsize=TEXT - 1, color=COLOUR["muted"])
    titles = {}
    for number, curve in enumerate(curves):
        tasks = sorted(curve.points)
        titles[f"curve-{number}"] = [
            f"{curve.run.label}, after task {task}: {curve.points[task]:.{decimals}f}" for task in tasks
        ]
        axes.plot(
            tasks,
            [curve.points[task] for task in tasks],
            color=COLOUR[f"c{curve.run.colour}"],
            linestyle=DASHES[curve.run.dash % len(DASHES)],
            linewidth=2.2,
            marker=MARKERS[curve.run.shape % len(MARKERS)],
            markersize=MARKER,
            markeredgecolor=COLOUR["paper"],
            markeredgewidth=1.2,
            clip_on=False,
            gid=f"curve-{number}",
        )
    _name_ends(axes, curves, ends, width - room)
    return to_svg(axes.figure, label, titles)


def _name_ends(axes: Any, curves: Sequence[Curve], ends: Sequence[str], left: float) -> None:
    """Write values and names beside the ends of lines, with thin lines between where they are apart."""
    from matplotlib.lines import Line2D

    figure, (width, height) = axes.figure, axes.figure.bbox.size
    points = [axes.transData.transform((task, curve.points[task])) for curve in curves for task in [max(curve.points)]]
    top, bottom = height - axes.bbox.y1, height - axes.bbox.y0
    depths = spread_labels([height - y for _, y in points], LINE, top, max(bottom, top + LINE * (len(points) - 1)))
    places = [height - depth for depth in depths]
    for number, (curve, end, (x, y), place) in enumerate(zip(curves, ends, points, places, strict=True)):
        text = fitted(end, width - left)
        figure.text(left / width, place / height, text, fontsize=TEXT, gid=f"end-{number}", **_PLAIN_TEXT)
        if abs(place - y) > 3 or left - x > 2 * GAP:
            line = [(x + 6) / width, (left - 4) / width], [y / height, place / height]
            colour = COLOUR[f"c{curve.run.colour}"]
            figure.add_artist(Line2D(*line, color=colour, linewidth=1, alpha=0.6, transform=figure.transFigure))


def share_chart(selection: Selection, outcomes: Sequence[str], width: float, label: str) -> Markup:
    """Draw what became of the cut-outs as layers of a hundred percent over the steps.

    An outcome has the colour of its place among `outcomes`, whichever of them a run knows.
    """
    names = [name for name, total in selection.totals.items() if total]
    room = min(max(map(text_width, names)) + 14, 0.34 * width)
    axes = new_axes(width, 262, left=46, right=room, top=26, bottom=36)
    figure, first, last = axes.figure, selection.edges[0], selection.edges[-1]
    axes.set(xlim=(first, last), ylim=(0, 100), yticks=[0, 50, 100], yticklabels=["0 %", "50 %", "100 %"])
    axes.set_xticks([first, last], [f"step {selection.starts[0] + 1}", f"step {last:.0f}"])
    for text, side in zip(axes.get_xticklabels(), ("left", "right"), strict=True):
        text.set_horizontalalignment(side)
    draw_shares(
        axes,
        selection,
        lambda name: {"color": COLOUR[outcome_class(name, outcomes)], "gid": f"layer-{name}", "clip_on": False},
    )
    middles = [axes.transData.transform((0, middle))[1] for middle in _middles(selection, names)]
    for name, y in zip(names, spread_labels(middles, LINE, axes.bbox.y0 + 4, axes.bbox.y1 - 4), strict=True):
        place = ((width - room + 10) / width, y / axes.figure.bbox.height)
        figure.text(*place, fitted(name, room - 14), fontsize=TEXT, **_PLAIN_TEXT)
    for start in selection.starts[1:]:
        axes.axvline(start, color=COLOUR["paper"], linewidth=2, clip_on=False)
    for number, x in number_tasks(selection, 52 * (last - first) / axes.bbox.width):
        axes.text(x, 103, f"task {number}", ha="center", fontsize=TEXT - 1, color=COLOUR["muted"])
    return to_svg(figure, label, {f"layer-{name}": [name] for name in names})


def draw_shares(axes: Any, selection: Selection, look: Any) -> None:
    """Draw the share of each outcome as a layer; `look` returns how an outcome is drawn."""
    tops = selection.shares.cumsum(axis=1)
    for place, (name, total) in enumerate(selection.totals.items()):
        if total:
            base = tops[:, place] - selection.shares[:, place]
            axes.stairs(tops[:, place], selection.edges, baseline=base, fill=True, **look(name))


def _middles(selection: Selection, names: Sequence[str]) -> list[float]:
    """Return the middle of each layer in the last bin that has any cut-outs."""
    shares = selection.shares[~np.isnan(selection.shares).any(axis=1)][-1]
    tops = dict(zip(selection.totals, zip(shares.cumsum(), shares, strict=True), strict=True))
    return [top - share / 2 for top, share in (tops[name] for name in names)]


def number_tasks(selection: Selection, room: float) -> list[tuple[int, float]]:
    """Return the numbers of tasks, from 1, and their middles in steps, where there is so much room for them."""
    found: list[tuple[int, float]] = []
    ends = itertools.pairwise([*selection.starts, float(selection.edges[-1])])
    for number, middle in enumerate(((first + last) / 2 for first, last in ends), start=1):
        if not found or middle - found[-1][1] >= room:
            found.append((number, middle))
    return found


def outcome_class(name: str, outcomes: Sequence[str]) -> str:
    """Return the class that gives an outcome its colour."""
    return f"o{list(outcomes).index(name) % OUTCOMES}"


def marker(shape: int) -> Markup:
    """Return the marker of a run around the origin, for a key."""
    from matplotlib.markers import MarkerStyle

    style = MarkerStyle(MARKERS[shape % len(MARKERS)])
    corners: Any = style.get_path().transformed(style.get_transform()).to_polygons()[0]
    path = "L".join(f"{MARKER * x:.1f} {-MARKER * y:.1f}" for x, y in corners)
    return Markup(f'<path d="M{path}z" class="mark"/>')


def nice_ticks(low: float, high: float) -> list[float]:
    """Return round numbers, evenly spaced, that enclose the values."""
    from matplotlib.ticker import MaxNLocator

    if high - low <= 1e-6 * max(abs(low), abs(high), 1e-3):  # round-off is no difference
        low, high = (high - max(abs(high), 1e-3) / 4, high) if high > 0 else (low, low + max(abs(low), 1))
    return list(map(float, MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)))


def text_width(text: str) -> float:
    """Estimate how wide a text is: fonts of readers differ. Rather too wide than too narrow."""
    wide = {letter: unicodedata.east_asian_width(letter) in "WF" for letter in set(text)}
    return TEXT * sum(0 if unicodedata.combining(letter) else 1 if wide[letter] else 0.6 for letter in text)


def fitted(text: str, room: float) -> str:
    """Return a text without its end if there is no room for all of it."""
    if text_width(text) <= room:
        return text
    kept = text
    while kept and text_width(f"{kept}…") > room:
        kept = kept[:-1]
    return f"{kept.rstrip(' ,')}…"


_PLAIN_TEXT: dict[str, Any] = {"color": COLOUR["ink"], "va": "center_baseline", "parse_math": False}


def new_axes(width: float, height: float, *, left: float, right: float, top: float, bottom: float) -> Any:
    """Return axes without a frame in a new figure of one pixel per point, with margins in pixels."""
    figure = new_figure(width / 72, height / 72, dpi=72)
    figure.set_layout_engine("none")
    place = (left / width, bottom / height, (width - left - right) / width, (height - top - bottom) / height)
    axes = figure.add_axes(place)
    for patch in (figure.patch, axes.patch, *axes.spines.values()):
        patch.set_visible(False)
    axes.tick_params(length=0, pad=7, labelsize=TEXT - 1, labelcolor=COLOUR["muted"])
    return axes


def to_svg(figure: Any, label: str, titles: Mapping[str, Sequence[str]]) -> Markup:
    """Return a figure as SVG for a page: named for screen readers, in the colours and the font of the page.

    Args:
        figure: The figure; nothing in it is clipped.
        label: What a screen reader calls it.
        titles: What is shown where the pointer is: of the markers of an artist, by its gid, or of its only shape.
    """
    width, height = figure.bbox.size
    file = io.BytesIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": f"{label} {width}"}), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the browser has letters that the font of matplotlib lacks
        figure.savefig(file, format="svg", metadata={"Date": None})
    root = ElementTree.fromstring(file.getvalue())
    for child in [child for child in root if child.tag != f"{SVG}g"]:
        root.remove(child)  # metadata, and a style that would be that of the whole page
    used = {one.get(f"{XLINK}href", "")[1:] for one in root.iter(f"{SVG}use")}
    for element in list(root.iter()):
        gid = element.get("id", "")
        if gid not in used:
            element.attrib.pop("id", None)
        element.attrib.pop("transform", None)  # a turn by nothing
        for name in {"d", "x", "y"}.intersection(element.keys()):
            rounded = re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.1f}", element.attrib[name])
            element.set(name, " ".join(rounded.split()))
        shapes = list(element.iter(f"{SVG}use")) or list(element.iter(f"{SVG}path"))
        for shape, title in zip(shapes, titles.get(gid, ()), strict=False):
            ElementTree.SubElement(shape, f"{SVG}title").text = title
        if gid.startswith("layer-"):
            element.set("class", "layer")
        if gid.startswith("end-"):
            _embolden_number(element[0])
    root.attrib = {"viewBox": f"0 0 {width:g} {height:g}", "width": f"{width:g}", "height": f"{height:g}"}
    root.attrib |= {"role": "img", "aria-label": label}
    for prefix, name in (("", SVG), ("xlink", XLINK)):
        ElementTree.register_namespace(prefix, name[1:-1])
    text = ElementTree.tostring(root, encoding="unicode")
    text = re.sub(r" font-family: [^;]*;|<g ?/>", "", text)
    for placeholder, name in PLACEHOLDERS.items():
        text = text.replace(placeholder, f"var(--{name})")
    return Markup(text)


def _embolden_number(text: ElementTree.Element) -> None:
    """Set the first word of a text in bold."""
    number, _, name = (text.text or "").partition(" ")
    text.text = None
    strong = ElementTree.SubElement(text, f"{SVG}tspan", {"class": "strong"})
    strong.text, strong.tail = f"{number} ", name
