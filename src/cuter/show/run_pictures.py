"""Pictures of a run, finished or not: what became of its cut-outs, which classes fill memory, how well it still cuts.

All is drawn from metrics.jsonl alone, so that it can be drawn again, and elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cuter.learn.keepers.selection import KEPT
from cuter.runs.record import Array, RunRecord, read_metrics
from cuter.show import style
from cuter.show.charts import draw_shares, number_tasks
from cuter.show.fonts import families, writable
from cuter.show.style import LARGE, MEDIUM, SMALL, SMALLEST, new_figure

STRONGEST = 2  # doublings away from an even share that get the strongest colour
ROOM = 20  # tasks with room for numbers
NAME = 28  # letters of a class
PANEL = 2.3  # inches of the height of a panel of curves, about

REFUSED = (
    style.GREY,
    style.ORANGE,
    style.YELLOW,
    style.PURPLE,
    style.GREEN,
    style.SKY,
    style.VERMILION,
)  # neighbours differ in grey, too, as print may be


def draw_run(folder: Path, *, only_missing: bool = False) -> list[Path]:
    """Draw all pictures that the metrics of a run allow, or those that are missing, and return their files."""
    record = RunRecord(folder, lines=read_metrics(folder / "metrics.jsonl"))
    pictures = {"selection.png": draw_selection, "balance.png": draw_balance, "localisation.png": draw_localisation}
    wanted = {name: draw for name, draw in pictures.items() if not (only_missing and (folder / name).exists())}
    return [folder / name for name, draw in wanted.items() if _draw_whole(draw, record, folder / name)]


def _draw_whole(draw: Callable[[RunRecord, Path], bool], record: RunRecord, file: Path) -> bool:
    """Draw a file that is whole or not there, also on a full disk."""
    part = file.with_name(f".part-{file.name}")
    try:
        if is_drawn := draw(record, part):
            part.replace(file)
        return is_drawn
    finally:
        part.unlink(missing_ok=True)


def draw_selection(record: RunRecord, file: Path) -> bool:
    """Show what became of the cut-outs over time, kept or refused and why; False if there were none."""
    selection = record.selection
    if selection is None:
        return False
    names, edges, cut_outs = list(selection.totals), selection.edges, sum(selection.totals.values())

    def look(name: str) -> dict[str, Any]:
        total = selection.totals[name]
        refused = {"color": REFUSED[(names.index(name) - 1) % len(REFUSED)], "alpha": 0.7}
        label = f"{name}: {total:,} ({100 * total / cut_outs:.0f} %)"
        return ({"color": style.BLUE} if name == KEPT else refused) | {"label": label}

    figure = new_figure(9, 4)
    axes = figure.subplots()
    draw_shares(axes, selection, look)
    for top in selection.shares.cumsum(axis=1).T:
        axes.stairs(top, edges, baseline=None, color="white", linewidth=0.5)
    for start in selection.starts[1:]:
        axes.axvline(start, color="white", linewidth=1.5)
    axes.set(xlim=edges[[0, -1]], ylim=(0, 100), yticks=range(0, 101, 25), xlabel="step", ylabel="percent of cut-outs")
    axes.set_title("What became of the cut-outs", loc="left", pad=20, fontsize=LARGE)
    axes.spines[["top", "right"]].set_visible(False)
    above = {"textcoords": "offset points", "fontsize": SMALL, "color": style.DARK}
    axes.annotate("task", (0, 1), (-6, 5), xycoords="axes fraction", ha="right", **above)
    for number, middle in number_tasks(selection, (edges[-1] - edges[0]) / 40):
        axes.annotate(str(number), (middle, 1), (0, 5), xycoords=("data", "axes fraction"), ha="center", **above)
    handles, labels = axes.get_legend_handles_labels()
    beside = {"loc": "upper left", "bbox_to_anchor": (1.01, 1), "borderaxespad": 0, "frameon": False}
    axes.legend(handles[::-1], labels[::-1], handlelength=1, handleheight=1, **beside)  # in the order of the layers
    figure.savefig(file)
    return True


def draw_balance(record: RunRecord, file: Path) -> bool:
    """Show how many items of each class memory held after each task; False if that is not known, or nothing at last."""
    held = record.memory
    names = list(held[max(held)]) if held else []
    counts = np.array([[classes.get(name, math.nan) for classes in held.values()] for name in names])
    if not counts.size or not counts[:, -1].any():
        return False
    rows, tasks = counts.shape
    height = 1.3 + rows * (0.2 if rows <= 40 else 0.15)
    even = np.nanmean(counts, axis=0)
    if tasks == 1:
        figure = new_figure(6, height)
        at_last = figure.subplots()
    else:
        wide = max(2.6, tasks * (0.36 if tasks <= ROOM else 0.16))
        figure = new_figure(wide + 4, height)
        over_time, at_last = figure.subplots(1, 2, sharey=True, width_ratios=[wide, 2.6])
        _draw_shares(over_time, counts, even)
        over_time.set_xticks(range(tasks), [number if _has_room(number, tasks) else "" for number in held])
        over_time.set_xlabel("after task", loc="left", fontsize=MEDIUM)
    _draw_counts(at_last, counts[:, -1], even[-1])
    at_last.set_xlabel(f"items after task {max(held)}\nline: an even share", loc="left", fontsize=MEDIUM)
    for axes in figure.axes:
        axes.xaxis.set_label_position("top")
        axes.tick_params(length=0, labelsize=SMALL, labeltop=True, labelbottom=False)
        axes.spines[:].set_visible(False)
        axes.set_ylim(rows - 0.5, -0.5)
    labels = [class_label(name) for name in names]
    figure.axes[0].set_yticks(range(rows), labels, family=families("".join(labels)), parse_math=False)
    most, least = counts[:, -1].max(), counts[:, -1].min()
    ratio = f"{most:,.0f} : {least:,.0f}" + (f" = {most / least:.1f}" if least else "")
    figure.suptitle(f"Classes in memory, most to least frequent {ratio}", x=0.01, ha="left", fontsize=LARGE)
    figure.savefig(file)
    return True


def class_label(name: str) -> str:
    """Return the name of a class as it can be written, shortened in its middle to what a picture has room for."""
    name = writable(name)
    return name if len(name) <= NAME else f"{name[: NAME - 10]}…{name[-9:]}"


def _has_room(number: int, of: int) -> bool:
    """Return whether a task among so many is numbered."""
    return of <= ROOM or number == 1 or number % 5 == 0


def _draw_shares(axes: Any, counts: Array, even: Array) -> None:
    """Colour how far each class was from an even share after each task: counts alone fall as more classes come."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Patch

    with np.errstate(divide="ignore", invalid="ignore"):  # no item of a class; no item at all
        doublings = np.log2(counts / even).clip(-STRONGEST, STRONGEST)
    rows, tasks = counts.shape
    scale = {
        "cmap": LinearSegmentedColormap.from_list("", [style.ORANGE, style.PALE, style.BLUE]),
        "vmin": -STRONGEST,
        "vmax": STRONGEST,
    }
    mesh = axes.pcolormesh(range(tasks), range(rows), doublings, edgecolors="white", linewidth=1, **scale)
    if tasks <= ROOM:
        for (row, column), count in np.ndenumerate(np.nan_to_num(counts, nan=-1)):
            if count >= 0:
                look = {"color": "white" if doublings[row, column] > 1.4 else style.TEXT, "fontsize": SMALLEST}
                axes.text(column, row, f"{count:.0f}", ha="center", va="center_baseline", **look)
    steps = {"¼ or less": -2, "½": -1, "an even share": 0, "2 ×": 1, "4 × or more": 2}
    patches = [Patch(color=mesh.to_rgba(step), label=label) for label, step in steps.items()]
    below = {"loc": "outside lower left", "frameon": False, "fontsize": SMALL}
    axes.figure.legend(handles=patches, ncols=len(steps), handlelength=1, handleheight=1, columnspacing=1, **below)


def _draw_counts(axes: Any, counts: Array, even: float) -> None:
    axes.barh(range(len(counts)), counts, height=0.75, color=style.GREY)
    axes.axvline(even, color=style.TEXT, linewidth=0.8)
    look = {"va": "center_baseline", "fontsize": SMALLEST, "color": style.TEXT}
    ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}  # hides the line behind a number
    for row, count in enumerate(counts):
        axes.annotate(f"{count:,.0f}", (count, row), (3, 0), textcoords="offset points", bbox=ground, **look)
    axes.set_xticks([])
    axes.set_xlim(0, 1.15 * counts.max())


def draw_localisation(record: RunRecord, file: Path) -> bool:
    """Show how well the model cut after each task; False if that was not measured."""
    measured = record.localisation
    if "fiedler" not in measured:
        return False
    fiedler = measured["fiedler"]
    corloc, ap50 = (
        {number: 100 * value for number, value in measured.get(name, {}).items()} for name in ("corloc", "ap50")
    )
    figure = new_figure(9 if corloc else 5, 3.2)
    panels = figure.subplots(1, 2 if corloc else 1, squeeze=False)[0]
    _draw_curves(panels[0], "Average Fiedler value (lower: easier to cut)", {"": (style.BLUE, fiedler)}, "{:.3f}")
    if corloc:
        curves = {"CorLoc": (style.BLUE, corloc), "AP50": (style.VERMILION, ap50)}
        _draw_curves(panels[1], "Objects found by the cut, percent", curves, "{:.1f}")
    figure.savefig(file)
    return True


def _draw_curves(axes: Any, title: str, curves: dict[str, tuple[str, dict[int, float]]], form: str) -> None:
    """Draw figures over tasks, from 0 so that a small change looks small, with their first and last values."""
    top = 1.2 * max(max(points.values()) for _, points in curves.values()) or 1
    ends = [list(points.values())[-1] for _, points in curves.values()]
    heights = style.spread_labels(ends, top * 1.3 * MEDIUM / 72 / PANEL, low=0)
    for (name, (colour, points)), height in zip(curves.items(), heights, strict=True):
        tasks, values = list(points), list(points.values())
        axes.plot(tasks, values, "o-", color=colour, markersize=4, clip_on=False)
        look = {"textcoords": "offset points", "va": "center", "color": colour, "fontsize": MEDIUM}
        axes.annotate(f"{form.format(values[-1])} {name}", (tasks[-1], height), (8, 0), annotation_clip=False, **look)
        if len(tasks) > 1:
            away = -10 if values[1] > values[0] else 10  # from the line
            axes.annotate(form.format(values[0]), (tasks[0], values[0]), (-4, away), **look)
    last = max(tasks)
    axes.set_xlim(0.5, last + 0.5)
    axes.set_xticks([number for number in range(1, last + 1) if _has_room(number, last)])
    axes.set_ylim(0, top)
    axes.set_xlabel("after task")
    axes.set_title(title, loc="left", fontsize=LARGE)
    axes.spines[["top", "right"]].set_visible(False)
