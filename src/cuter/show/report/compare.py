"""The runs beside each other: a table of their figures, the best of each, and means over seeds."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from cuter.show.report.run_labels import NamedRun

Figures = dict[str, float | None]


@dataclass(frozen=True)
class Column:
    """A figure of the table; `better` is max or min, or None where neither is."""

    key: str
    group: str
    name: str
    better: str | None = "max"
    decimals: int = 1

    def text(self, value: float | None) -> str:
        """Write a value."""
        return "–" if value is None else f"{value:z,.{self.decimals}f}"  # z: no sign before 0.0


COLUMNS = (
    Column("average map", "mAP", "average"),
    Column("last map", "mAP", "last"),
    Column("average cf1_mean@0.8", "CF1", "average"),
    Column("last cf1_mean@0.8", "CF1", "last"),
    Column("average of1@0.8", "OF1", "average"),
    Column("last of1@0.8", "OF1", "last"),
    Column("forgetting", "Forgetting", "mean", better="min"),
    Column("speed", "Speed", "images/s", better=None),
    Column("items", "Memory", "items", better=None, decimals=0),
)
QUALITY = tuple(column.key for column in COLUMNS if column.better)


@dataclass(frozen=True)
class Cell:
    """A number as it is shown."""

    text: str
    is_best: bool = False
    deviation: str = ""


@dataclass(frozen=True)
class Row:
    """A run in the table; where its figures mean something else than those of the others, `status` tells why."""

    run: NamedRun
    cells: tuple[Cell, ...]
    is_compared: bool
    status: str


@dataclass(frozen=True)
class SeedRow:
    """Means and standard deviations over runs that differ in nothing but their seed."""

    group: str
    seeds: int
    cells: tuple[Cell, ...]


def figures(run: NamedRun) -> Figures:
    """Return the figures of a run by column; None where there is none yet."""
    facts, summary = run.facts, run.facts.summary
    found: Figures = dict.fromkeys(QUALITY)
    if summary is not None:
        found |= {f"average {name}": value for name, value in summary.average.items()}
        found |= {f"last {name}": value for name, value in summary.last.items()}
        found["forgetting"] = summary.mean_forgetting
    return found | {"speed": facts.images_per_second, "items": facts.memory_items}


def compared(runs: Sequence[NamedRun]) -> list[NamedRun]:
    """Return the most runs whose figures mean the same: tested on as many images of the same classes, task by task."""
    tested = [run for run in runs if run.facts.results]
    often = Counter(measured_on(run) for run in tested)
    if not often:
        return []
    chosen = max(often, key=lambda test: (often[test], len(test)))
    return [run for run in tested if measured_on(run) == chosen]


def measured_on(run: NamedRun) -> tuple[Hashable, ...]:
    """Return what the figures of a run were measured on, task by task: runs with the same compare."""
    return tuple((frozenset(result.classes), result.images) for result in run.facts.results)


def summary_rows(runs: Sequence[NamedRun], among: Sequence[NamedRun] | None = None) -> list[Row]:
    """Return a row a run, with the best of those that compare marked; of a single one nothing is best.

    `among` are those that compare, by default the most that do.
    """
    among = compared(runs) if among is None else among
    found = {run.label: figures(run) for run in runs}
    best = {column.key: _best(column, [found[run.label] for run in among]) for column in COLUMNS}
    rows = []
    for run in runs:
        competes = len(among) > 1 and run in among
        texts = {column.key: column.text(found[run.label][column.key]) for column in COLUMNS}
        cells = tuple(Cell(text, competes and text == best[key]) for key, text in texts.items())
        rows.append(Row(run, cells, run in among, _status(run, among)))
    return rows


def _best(column: Column, found: Sequence[Figures]) -> str | None:
    """Return the best number as it is shown: what looks equal is equally good, and where all do none is best."""
    values = [value for one in found if (value := one[column.key]) is not None]
    if column.better is None or len({column.text(value) for value in values}) < 2:
        return None
    return column.text(max(values) if column.better == "max" else min(values))


def _status(run: NamedRun, among: Sequence[NamedRun]) -> str:
    tasks = len(run.facts.results)
    if not run.facts.is_finished:
        return f"unfinished, {tasks} task{'' if tasks == 1 else 's'} tested" if tasks else "not tested yet"
    return "" if run in among else "other classes or test images"


def seed_rows(runs: Sequence[NamedRun]) -> list[SeedRow]:
    """Return mean ± standard deviation for every group with several seeds that compare."""
    among = compared(runs)
    rows = []
    for group in dict.fromkeys(run.group for run in among):
        members = [figures(run) for run in among if run.group == group]
        if len(members) > 1:
            cells = tuple(_mean_cell(column, [one[column.key] for one in members]) for column in COLUMNS)
            rows.append(SeedRow(group, len(members), cells))
    return rows


def _mean_cell(column: Column, values: Sequence[float | None]) -> Cell:
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return Cell("–")
    return Cell(column.text(statistics.mean(known)), deviation=f"± {statistics.stdev(known):,.1f}")


def headline(runs: Sequence[NamedRun]) -> str:
    """Say in a sentence or two how the runs compare, and not more than they show."""
    among = compared(runs)
    if not among:
        return "No run has been tested yet."
    means: dict[str, list[float]] = {}
    for run in among:
        if (value := figures(run)["average map"]) is not None:
            means.setdefault(run.group, []).append(value)
    ranked = sorted(((statistics.mean(values), group) for group, values in means.items()), reverse=True)
    if not ranked:
        return "No class of the tests has an example, so there is nothing to measure."
    (first, leader), *others = ranked
    if not others:
        last = statistics.mean(value for run in among if (value := figures(run)["last map"]) is not None)
        return f"{leader} reaches a mAP of {first:.1f} % averaged over the tasks, and {last:.1f} % after the last one."
    second, follower = others[0]
    said = f"Highest mAP averaged over the tasks: {leader} with {first:.1f} %, then {follower} with {second:.1f} %."
    if f"{first:.1f}" == f"{second:.1f}":
        said = f"Highest mAP averaged over the tasks: {leader} and {follower}, both with {first:.1f} %."
    if all(len(values) > 1 for values in means.values()):
        return said
    ran = "Each" if all(len(values) == 1 for values in means.values()) else "Some"
    return f"{said} {ran} ran with one seed, so small differences may be chance."
