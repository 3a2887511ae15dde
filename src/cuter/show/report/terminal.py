"""The table of the page, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich import box
from rich.text import Text

from cuter.measure.metrics import FIGURES
from cuter.show.narrow import FoldedTable
from cuter.show.report.classes import signed
from cuter.show.report.compare import COLUMNS, Cell, Figures, Row, summary_rows
from cuter.show.report.run_labels import NamedRun
from cuter.show.run_tables import SHOWN

# All but how many items memory holds: a terminal of 80 letters has no room for it.
PLACES = [place for place, column in enumerate(COLUMNS) if column.key != "items"]
FORGETTING = "mean over classes of the best earlier AP minus the last AP"
CAPTION = (
    "In percent, over all classes seen so far. Average: of the tests after each task; last: after the last one. "
    + "; ".join(FIGURES[figure] for figure in SHOWN)
    + f". Forgetting: {FORGETTING}; the lower, the better."
)


def comparison_table(
    runs: Sequence[NamedRun],
    among: Sequence[NamedRun] | None = None,
    to_first: Mapping[str, Figures] | None = None,
) -> FoldedTable:
    """Show one row a run, with the best of each figure in bold, among those that compare.

    `to_first` are differences to the first run, by the labels of the others; they get a row of their own.
    """
    table = FoldedTable(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), caption=CAPTION, caption_justify="left")
    table.add_column("\nrun", overflow="fold")
    columns = [COLUMNS[place] for place in PLACES]
    for column in columns:
        table.add_column(f"{column.group}\n{column.name}", justify="right")
    for row, cells in _rows(runs, among):
        shown = [Text(cell.text, style="bold" if cell.is_best else "") for cell in cells]
        table.add_row(Text(_name(row)), *shown)  # Text, because a name with brackets must not be read as markup
        differences = (to_first or {}).get(row.run.label, {})
        if any(value is not None for value in differences.values()):
            table.add_row("  to first", *(signed(differences[column.key]) for column in columns), style="dim")
    return table


def _rows(runs: Sequence[NamedRun], among: Sequence[NamedRun] | None) -> Iterator[tuple[Row, list[Cell]]]:
    for row in summary_rows(runs, among):
        yield row, [row.cells[place] for place in PLACES]


def _name(row: Row) -> str:
    return f"{row.run.label} ({row.status})" if row.status else row.run.label
