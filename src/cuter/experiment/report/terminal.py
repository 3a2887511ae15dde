"""The table of the page, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from cuter.experiment.report.compare import COLUMNS, Cell, Row, summary_rows
from cuter.experiment.report.names import NamedRun
from cuter.measure.metrics import FIGURES
from cuter.measure.tables import SHOWN

# All but how many items memory holds: a terminal of 80 letters has no room for it.
PLACES = [place for place, column in enumerate(COLUMNS) if column.key != "items"]
CAPTION = (
    "In percent, over all classes seen so far. Average: of the tests after each task; last: after the last one. "
    + "; ".join(FIGURES[figure] for figure in SHOWN)
    + ". Forgetting: mean over classes of the best earlier AP minus the last AP; the lower, the better."
)


def comparison_table(runs: Sequence[NamedRun]) -> Table:
    """Show one row a run, with the best of each figure in bold."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), caption=CAPTION, caption_justify="left")
    table.add_column("\nrun")
    for column in (COLUMNS[place] for place in PLACES):
        table.add_column(f"{column.group}\n{column.name}", justify="right")
    for row, cells in _rows(runs):
        shown = [Text(cell.text, style="bold" if cell.is_best else "") for cell in cells]
        table.add_row(Text(_name(row)), *shown)  # Text, because a name with brackets must not be read as markup
    return table


def _rows(runs: Sequence[NamedRun]) -> Iterator[tuple[Row, list[Cell]]]:
    for row in summary_rows(runs):
        yield row, [row.cells[place] for place in PLACES]


def _name(row: Row) -> str:
    return f"{row.run.label} ({row.status})" if row.status else row.run.label
