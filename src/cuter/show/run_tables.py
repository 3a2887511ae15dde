"""Tables of runs: after each task, by class, and runs beside each other with the best of each figure."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

from cuter.measure.metrics import FIGURES
from cuter.measure.protocol import Summary, TaskResult
from cuter.show.narrow import FoldedTable
from cuter.show.run_labels import NamedRun
from cuter.show.table import Cell, Table, TableRow, make_row, markdown, number, plain_table, signed, terminal
from cuter.tables.columns import COLUMNS, FORGETTING, RUN_COLUMNS, SHOWN, Column, Figures, read_figures
from cuter.tables.statistics import Spread

DEFINITIONS = "; ".join(FIGURES[figure] for figure in SHOWN)
CAPTION = (
    "In percent, over all classes seen so far. Average: of the tests after each task; last: after the last one. "
    f"{DEFINITIONS}. Forgetting: {FORGETTING}; the lower, the better."
)
# All but how many items memory holds: a terminal of 80 letters has no room for it.
TERMINAL_COLUMNS = tuple(name for name in RUN_COLUMNS if name != "items")


def task_table(results: Sequence[TaskResult]) -> FoldedTable:
    """Show one row per task and the average over the tasks."""
    summary = Summary.of(results)
    regions = summary.with_regions
    shown = [*SHOWN.values(), *(["mAP with regions"] if regions else [])]
    rows = []
    for result in summary.tasks:
        figures = [number(result.scores[figure]) for figure in SHOWN]
        figures += [number(result.region_scores["map"])] if regions and result.region_scores else []
        rows.append(make_row(result.name, str(result.images), str(len(result.classes)), *figures))
    means = [*(summary.average[figure] for figure in SHOWN), *([regions.average["map"]] if regions else [])]
    rows.append(make_row("average", "", "", *map(number, means), section="mean"))
    title, caption = "After each task, over all classes seen so far", f"In percent. {DEFINITIONS}."
    return terminal(Table(("task", "images", "classes", *shown), tuple(rows), title, caption), boxed=True)


def class_table(summary: Summary) -> FoldedTable:
    """Show the average precision of each class after each task, and what was forgotten."""
    rows = [
        make_row(name, *(number(result.ap.get(name)) for result in summary.tasks), number(forgotten))
        for name, forgotten in summary.forgetting.items()
    ]
    means = (number(result.scores["map"]) for result in summary.tasks)
    rows.append(make_row("mean", *means, number(summary.mean_forgetting), section="mean"))
    head = ("class", *(result.name for result in summary.tasks), "forgetting")
    caption = "In percent. Forgetting: best earlier AP minus the last AP."
    return terminal(Table(head, tuple(rows), "AP of each class after each task", caption), boxed=True)


def summary_markdown(summary: Summary) -> str:
    """Return every figure with its definition, averaged over the tasks and after the last one, as Markdown."""
    rows = [
        [f"{text}{suffix}", number(found.average[key]), number(found.last[key])]
        for found, suffix in ((summary, ""), (summary.with_regions, ", with regions"))
        if found is not None
        for key, text in FIGURES.items()
    ]
    forgetting = "forgetting, mean over classes of best earlier AP minus last AP"
    rows.append([forgetting, "", number(summary.mean_forgetting)])
    return markdown(plain_table(["figure (percent)", "average", "last"], rows)).replace("|  |", "| |") + "\n"


def comparison_table(
    runs: Sequence[NamedRun],
    among: Sequence[NamedRun] | None = None,
    to_first: Mapping[str, Figures] | None = None,
) -> FoldedTable:
    """Show runs beside each other on a terminal; see `summary_table`."""
    return terminal(summary_table(runs, among, to_first, columns=TERMINAL_COLUMNS))


def summary_table(
    runs: Sequence[NamedRun],
    among: Sequence[NamedRun] | None = None,
    to_first: Mapping[str, Figures] | None = None,
    columns: Sequence[str] = RUN_COLUMNS,
) -> Table:
    """Return one row per run, with the best of each figure marked; of a single run nothing is best.

    Args:
        runs: The runs.
        among: Those whose figures compare, by default the most that do.
        to_first: Differences to the first run, by the labels of the others; they get a row of their own.
        columns: Which figures.
    """
    among = compared(runs) if among is None else among
    found = {run.label: read_figures(run.record, RUN_COLUMNS) for run in runs}
    best = {name: _best(COLUMNS[name], [found[run.label][name] for run in among]) for name in columns}
    rows: list[TableRow] = []
    for run in runs:
        competes = len(among) > 1 and run in among
        texts = {name: _text(COLUMNS[name], found[run.label][name]) for name in columns}
        cells = [Cell(text, int(competes and text == best[name])) for name, text in texts.items()]
        name = Cell(run.label, note=_status(run, among), run=run)
        rows.append(make_row(name, *cells, is_apart=run not in among))
        differences = (to_first or {}).get(run.label, {})
        if any(value is not None for value in differences.values()):
            rows.append(make_row("  to first", *(signed(differences[name]) for name in columns), section="differences"))
    head = ("\nrun", *("\n".join(COLUMNS[name].head) for name in columns))
    return Table(head, tuple(rows), caption=CAPTION)


def seed_rows(runs: Sequence[NamedRun]) -> list[TableRow]:
    """Return mean ± standard deviation for every group with several seeds that compare."""
    among = compared(runs)
    rows = []
    for group in dict.fromkeys(run.group for run in among):
        members = [read_figures(run.record, RUN_COLUMNS) for run in among if run.group == group]
        if len(members) > 1:
            cells = [_mean(COLUMNS[name], [one[name] for one in members]) for name in RUN_COLUMNS]
            note = f"mean ± standard deviation of {len(members)} seeds"
            rows.append(make_row(Cell(group, note=note), *cells, section="seeds"))
    return rows


def _mean(column: Column, values: Sequence[float | None]) -> Cell:
    spread = Spread.of({place: value for place, value in enumerate(values) if value is not None})
    if spread is None or spread.std is None:
        return Cell(_text(column, None))
    return Cell(_text(column, spread.mean), note=f"± {spread.std:,.1f}")


def _text(column: Column, value: float | None) -> str:
    return column.text(value, thousands=",")


def _best(column: Column, values: Sequence[float | None]) -> str | None:
    """Return the best number as it is shown: what looks equal is equally good, and where all do none is best."""
    known = [value for value in values if value is not None]
    if column.better is None or len({_text(column, value) for value in known}) < 2:
        return None
    return _text(column, max(known) if column.better == "max" else min(known))


def _status(run: NamedRun, among: Sequence[NamedRun]) -> str:
    tasks = len(run.record.results)
    if not run.record.is_finished:
        return f"unfinished, {tasks} task{'' if tasks == 1 else 's'} tested" if tasks else "not tested yet"
    return "" if run in among else "other classes or test images"


def compared(runs: Sequence[NamedRun]) -> list[NamedRun]:
    """Return the most runs whose figures mean the same: tested on as many images of the same classes, task by task."""
    tested = [run for run in runs if run.record.results]
    often = Counter(measured_on(run) for run in tested)
    if not often:
        return []
    chosen = max(often, key=lambda test: (often[test], len(test)))
    return [run for run in tested if measured_on(run) == chosen]


def measured_on(run: NamedRun) -> tuple[Hashable, ...]:
    """Return what the figures of a run were measured on, task by task: runs with the same compare."""
    return tuple((frozenset(result.classes), result.images) for result in run.record.results)


def headline(runs: Sequence[NamedRun]) -> str:
    """Say in a sentence or two how the runs compare, and not more than they show."""
    among = compared(runs)
    if not among:
        return "No run has been tested yet."
    means: dict[str, list[float]] = {}
    for run in among:
        if (value := COLUMNS["average.map"].read(run.record)) is not None:
            means.setdefault(run.group, []).append(value)
    ranked = sorted(((statistics.mean(values), group) for group, values in means.items()), reverse=True)
    if not ranked:
        return "No class of the tests has an example, so there is nothing to measure."
    (first, leader), *others = ranked
    if not others:
        last = statistics.mean(value for run in among if (value := COLUMNS["last.map"].read(run.record)) is not None)
        return f"{leader} reaches a mAP of {first:.1f} % averaged over the tasks, and {last:.1f} % after the last one."
    second, follower = others[0]
    said = f"Highest mAP averaged over the tasks: {leader} with {first:.1f} %, then {follower} with {second:.1f} %."
    if f"{first:.1f}" == f"{second:.1f}":
        said = f"Highest mAP averaged over the tasks: {leader} and {follower}, both with {first:.1f} %."
    if all(len(values) > 1 for values in means.values()):
        return said
    ran = "Each" if all(len(values) == 1 for values in means.values()) else "Some"
    return f"{said} {ran} ran with one seed, so small differences may be chance."
