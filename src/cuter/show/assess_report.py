"""The results of an assessment as a table, as Markdown and as a plot."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from cuter.show.fonts import writable
from cuter.show.narrow import FoldedTable
from cuter.show.pictures import Box, first_free
from cuter.show.style import BLUE, new_figure
from cuter.show.table import Table, make_row, markdown, terminal

NEAREST = 8  # points from a point to its label


def assessment_table(report: dict[str, Any]) -> FoldedTable:
    """Show one row per backbone, the lowest Fiedler value first, then the boxes that look at nothing."""
    return terminal(_table(report), boxed=True)


def assessment_markdown(report: dict[str, Any]) -> str:
    """Return the same table as Markdown."""
    table = _table(report)
    notes = "\n".join(f"- {note}" for note in table.caption.split("\n"))
    return f"# {table.title}\n\n{markdown(table)}\n\n{notes}\n"


def _table(report: dict[str, Any]) -> Table:
    boxed = bool(report["reference"])
    rows = []
    for one in report["rows"]:
        interval = one["fiedler_interval"]
        reach = f" ({interval[0]:.4f} – {interval[1]:.4f})" if interval else ""
        shares = [_percent(one["corloc"]), _percent(one["ap50"])] if boxed else []
        rows.append(make_row(one["name"], one["settings"]["features"], f"{one['fiedler']:.4f}{reach}", *shares))
    references = report["reference"].items()
    rows += [make_row(name, "", "", _percent(share), "", section="references") for name, share in references]
    head = ("backbone", "features", "Fiedler value (95 % CI)", *(["CorLoc", "AP50"] if boxed else []))
    return Table(head, tuple(rows), _title(report), "\n".join(_notes(report)), text_columns=2)


def _title(report: dict[str, Any]) -> str:
    return f"{report['rows'][0]['images']} images of {report['dataset']}, {report['split']} split"


def _notes(report: dict[str, Any]) -> list[str]:
    notes = [f"Fiedler value: average, of 1 at most, sigma {report['sigma']:g}; the lower, the easier to cut."]
    if report["reference"]:
        notes.append(
            f"In percent: CorLoc of the first region, AP50 of {report['rounds']} regions, "
            f"over {report['rows'][0]['boxed_images']} images with boxes."
        )
    for figure, value in report["spearman"].items():
        name = {"ap50": "AP50", "corloc": "CorLoc"}[figure]
        notes.append(f"Spearman correlation of Fiedler value and {name}: {value:+.2f} (n = {len(report['rows'])}).")
    if report["unreadable"]:
        notes.append(f"{len(report['unreadable'])} unreadable images were skipped; assessment.json names them.")
    return notes


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def plot(rows: Sequence[dict[str, Any]]) -> Any:
    """Return a figure of matplotlib: AP50 over the average Fiedler value, with a label for each row."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = new_figure(8, 5.5, dpi=150)
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    bars = [row["fiedler_interval"] or [row["fiedler"]] * 2 for row in rows]
    for row, (low, high) in zip(rows, bars, strict=True):
        reach = [[row["fiedler"] - low], [high - row["fiedler"]]]
        axes.errorbar(row["fiedler"], 100 * row["ap50"], xerr=reach, fmt="o", color=BLUE, capsize=4)
    axes.set_xlabel("average Fiedler value with its 95 % confidence interval (lower: easier to cut)")
    axes.set_ylabel("AP50 of the cut-outs, percent")
    axes.margins(0.25)
    # From 0, else two backbones that cut equally well would look far apart; with room for labels above.
    axes.set_ylim(0, max(130 * row["ap50"] for row in rows) or 1)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.draw_without_rendering()  # fixes the layout: from here on places on the page are known
    taken: list[Box] = []
    for row, bar in zip(rows, bars, strict=True):
        (x1, y), (x2, _) = axes.transData.transform([(end, 100 * row["ap50"]) for end in bar])
        taken.append((x1 - 8, y - 8, x2 + 8, y + 8))
    for row in rows:
        taken.append(_label_point(axes, row, taken))
    return figure


def _label_point(axes: Any, row: dict[str, Any], taken: Sequence[Box]) -> Box:
    """Write a label where nothing is yet, as near to its point as possible, with a line to it if that is not near."""
    point = (row["fiedler"], 100 * row["ap50"])
    label = writable(f"{row['name']} {row['settings']['features']}")
    ground = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1}  # hides lines of other labels
    text = axes.annotate(label, point, (0, 0), textcoords="offset points", fontsize=9, bbox=ground, zorder=4)
    room = axes.get_window_extent().extents

    def places() -> Iterator[Box]:
        for distance, turn in itertools.product(range(NEAREST, 200, 12), range(12)):
            angle = math.pi / 2 - turn * math.pi / 6  # above first, since error bars are on the sides
            x, y = distance * math.cos(angle), distance * math.sin(angle)
            text.set(position=(x, y), ha=_beyond(x, "left", "right"), va=_beyond(y, "bottom", "top"))
            place: Box = tuple(text.get_window_extent().padded(4).extents)
            if room[0] <= place[0] and room[1] <= place[1] and place[2] <= room[2] and place[3] <= room[3]:
                yield place

    place = first_free(places(), taken) or tuple(text.get_window_extent().padded(4).extents)
    offset = text.get_position()
    if math.hypot(*offset) > NEAREST + 1:
        line = {"arrowstyle": "-", "color": "0.6", "linewidth": 0.8, "shrinkA": 0, "shrinkB": 5}
        axes.annotate("", point, offset, textcoords="offset points", arrowprops=line, zorder=3)
    return place


def _beyond(offset: float, positive: str, negative: str) -> str:
    return "center" if abs(offset) < 1 else positive if offset > 0 else negative
