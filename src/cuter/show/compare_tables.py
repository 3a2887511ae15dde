"""What tells runs apart, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from cuter.show.compare import ClassPrecision, Comparison, listed
from cuter.show.narrow import FoldedTable
from cuter.show.report.provenance import value_table
from cuter.show.run_tables import CAPTION, comparison_table
from cuter.show.table import number, plain_table, signed, terminal

MOST_CLASSES = 30  # rows of AP
MOST_COUNTS = 10  # rows of what memory holds by class
CHANCE = " To first: the difference to the first run. Each is one run, so small differences may be chance."

# Sentences stand below tables, not in their captions, which would be as narrow as the tables.
Parts = Iterator[FoldedTable | Text]


def compare_tables(found: Comparison) -> Parts:
    """Yield tables and sentences in the order to be read: settings, figures, classes, memory."""
    yield from _settings(found)
    yield from _figures(found)
    yield from _classes(found)
    yield from _memory(found)


def _settings(found: Comparison) -> Parts:
    labels = [run.label for run in found.runs]
    if not found.settings:
        yield Text("No setting differs.")
    for heading, rows in (("Settings that differ", found.settings), ("Surroundings that differ", found.surroundings)):
        if rows:
            yield _heading(heading)
            values = [{name: by_run[label] for name, by_run in rows.items() if label in by_run} for label in labels]
            yield _without_edge(terminal(value_table(labels, list(rows), values)))
    yield from (Text(f"{label}: {note.rstrip('.')}.") for label, notes in found.notes.items() for note in notes)


def _figures(found: Comparison) -> Parts:
    yield _heading("Figures")
    yield _without_edge(comparison_table(found.runs, found.compared, found.differences))
    yield Text(CAPTION + CHANCE, style="dim")
    for label, one in found.obstacles.items():
        what = "no figure but speed is compared" if one.also_last else "averages and forgetting are not compared"
        said = [f"{label}: {what} with the first run's, because {one.reason}."]
        said += [f"Only it was tested on {listed(one.only_here)}."] if one.only_here else []
        said += [f"Only the first run was tested on {listed(one.only_there)}."] if one.only_there else []
        yield Text(" ".join(said))


def _classes(found: Comparison) -> Parts:
    yield _heading("AP by class at the end")
    if not found.classes:
        yield Text("Nothing to compare: no run had the same last test as the first.")
        return
    labels = list(found.classes[0].ap)
    if not any(one.largest for one in found.classes):
        yield Text(f"The same for all {len(found.classes):,} classes in every run that compares with the first.")
        return
    columns = ["class", "task", f"AP\n{labels[0]}", *(f"to first\n{label}" for label in labels[1:])]
    rows = [[one.name, _task(one), *_precision(one)] for one in found.classes[:MOST_CLASSES]]
    yield _table(columns, rows, numbers_from=2)
    rest = found.classes[MOST_CLASSES:]
    others = f" The other {len(rest):,} classes differ by at most {rest[0].largest or 0:.1f}." if rest else ""
    yield Text(f"In percent, the largest difference first.{others}", style="dim")


def _precision(one: ClassPrecision) -> list[str]:
    ap = next(iter(one.ap.values()))
    return [number(ap), *map(signed, one.difference.values())]


def _task(one: ClassPrecision) -> str:
    """Return the task that a class came with, or one per run where it did not come with the same."""
    tasks = list(one.task.values())
    return tasks[0] if len(set(tasks)) == 1 else " / ".join(tasks)


def _memory(found: Comparison) -> Parts:
    memory = found.memory
    yield _heading("Memory")
    shared = [f"also in\n{memory.reference}"] if memory.reference else []
    rows = []
    for label, held in memory.runs.items():
        total = (held.cut_outs or 0) + (held.whole_images or 0)
        parts = [_part(held.cut_outs, total), _part(held.whole_images, total)]
        rows.append([label, _count(held.items), *parts, _count(held.images), *(_count(held.shared) for _ in shared)])
    yield _table(["run", "items", "cut-outs", "whole\nimages", "source\nimages", *shared], rows, numbers_from=1)
    yield from (Text(f"{label}: {held.note.rstrip('.')}.") for label, held in memory.runs.items() if held.note)
    yield _heading("Items in memory by class, where runs differ most")
    if memory.classes:
        counts = [[name, *map(_count, row.values())] for name, row in memory.classes.items()]
        yield _table(["class", *memory.counted], counts[:MOST_COUNTS], numbers_from=1)
        if (more := len(counts) - MOST_COUNTS) > 0:
            yield Text(f"{more:,} more {'class differs' if more == 1 else 'classes differ'} by as much or less.", "dim")
    elif len(memory.counted) > 1:
        yield Text("Memory holds as many items of each class in all runs that keep some.")
    else:
        yield Text("Nothing to compare: less than two runs keep items and noted of which classes.")


def _part(count: int | None, total: int) -> str:
    return "–" if count is None or not total else f"{count:,} ({100 * count / total:.0f} %)"


def _count(count: int | None) -> str:
    return number(count, digits=0)


def _heading(text: str) -> Text:
    return Text(f"\n{text}\n", style="bold")


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], numbers_from: int) -> FoldedTable:
    return _without_edge(terminal(plain_table(columns, rows, text_columns=numbers_from)))


def _without_edge(table: FoldedTable) -> FoldedTable:
    table.caption, table.show_edge = None, False
    return table
