"""Tables as data, and their writers: terminal, Markdown and LaTeX. Pages write them by a macro of parts.html."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.text import Text

from cuter.show.narrow import FoldedTable
from cuter.tables.columns import Column
from cuter.tables.statistics import Spread
from cuter.tables.suite import Published

NOTHING = "–"
PLUS_MINUS = " ± "


@dataclass(frozen=True)
class Cell:
    """One cell of a table.

    Args:
        text: What it says.
        rank: 1 for the best of its column, 2 for the second, 0 for others.
        published: The figure of the paper, to stand beside.
        note: More about it, in small letters.
        run: The run whose mark stands before the text in a page.
    """

    text: str
    rank: int = 0
    published: Published | None = None
    note: str = ""
    run: Any = None


@dataclass(frozen=True)
class TableRow:
    """A row: its name and its other cells. Rows of different sections are divided by a line; some are set apart."""

    cells: tuple[Cell, ...]
    section: str = ""
    is_apart: bool = False

    @property
    def name(self) -> str:
        """The text of its first cell."""
        return self.cells[0].text


@dataclass(frozen=True)
class Table:
    """A table, whatever it is written to.

    Args:
        head: A text for each column; 'mAP\\naverage' where columns have groups.
        rows: Its rows.
        title: What it shows.
        caption: How to read it.
        text_columns: How many columns from the left hold text; the others hold numbers.
        keeps_names: Whether names in the first column are never broken into lines.
    """

    head: tuple[str, ...]
    rows: tuple[TableRow, ...]
    title: str = ""
    caption: str = ""
    text_columns: int = 1
    keeps_names: bool = False

    @property
    def sections(self) -> list[list[TableRow]]:
        """The rows, section by section."""
        return [list(rows) for _, rows in itertools.groupby(self.rows, lambda row: row.section)]

    @property
    def groups(self) -> list[tuple[str, list[str]]]:
        """The groups of columns behind the first one, each with the names of its columns; none without groups."""
        if not any("\n" in text for text in self.head):
            return []
        pairs = [text.split("\n") for text in self.head[1:]]
        return [(group, [name for _, name in own]) for group, own in itertools.groupby(pairs, lambda pair: pair[0])]

    @property
    def group_starts(self) -> set[int]:
        """The numbers of columns that begin a group."""
        sizes = [len(names) for _, names in self.groups]
        return set(itertools.accumulate([1, *sizes[:-1]])) if sizes else set()


def make_row(*cells: str | Cell, section: str = "", is_apart: bool = False) -> TableRow:
    """Return a row of texts and cells."""
    made = tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in cells)
    return TableRow(made, section, is_apart)


def plain_table(head: Sequence[str], rows: Iterable[Sequence[str]], **options: Any) -> Table:
    """Return a table of texts."""
    return Table(tuple(head), tuple(make_row(*cells) for cells in rows), **options)


def mean_and_std(spread: Spread | None, column: Column, *, thousands: str = "") -> str:
    """Write mean ± standard deviation; the mean alone of one seed, and of whole numbers."""
    if spread is None:
        return NOTHING
    std = "" if spread.std is None or not column.digits else f"{PLUS_MINUS}{spread.std:.{column.digits}f}"
    return column.text(spread.mean, thousands=thousands) + std


def number(value: float | None, digits: int = 1) -> str:
    """Write a figure, or that there is none."""
    return NOTHING if value is None else f"{value:,.{digits}f}"


def signed(value: float | None, unknown: str = NOTHING) -> str:
    """Write a change to a tenth, with its sign unless it is nothing."""
    if value is None:
        return unknown
    text = f"{value:+.1f}"
    return "0.0" if float(text) == 0 else text.replace("-", "−")


def terminal(table: Table, *, boxed: bool = False) -> FoldedTable:
    """Return a table for a terminal of any width, with lines around it or without."""
    plain = {"box": box.SIMPLE_HEAD, "pad_edge": False, "padding": (0, 1, 0, 0)}
    look: Any = {} if boxed else plain
    caption = Text(table.caption, style="table.caption") if table.caption else None
    shown = FoldedTable(title=table.title or None, caption=caption, caption_justify="left", **look)
    for place, text in enumerate(table.head):
        justify = "left" if place < table.text_columns else "right"
        no_wrap = table.keeps_names and place == 0
        shown.add_column(Text(text), justify=justify, overflow="fold", no_wrap=no_wrap)  # type: ignore[arg-type]
    for section in table.sections:
        if boxed and section is not table.sections[0]:
            shown.add_section()
        for one in section:
            shown.add_row(*map(_terminal_cell, one.cells), style="dim" if one.section == "differences" else "")
    return shown


def _terminal_cell(cell: Cell) -> Text:
    """Return a cell as Text, because a name with brackets must not be read as markup."""
    text = (f"{cell.text} ({cell.note})" if cell.note else cell.text).replace(PLUS_MINUS, "±")
    shown = Text(text, style=("", "bold", "underline")[cell.rank])
    if cell.published is not None:
        std = "" if cell.published.std is None else f"±{cell.published.std:.1f}"
        shown = Text.assemble((text, shown.style), (f"\n{cell.published.mean:.1f}{std}", "dim"))
    return shown


def markdown(table: Table) -> str:
    """Return a table as Markdown."""
    rule = ["---"] * table.text_columns + ["---:"] * (len(table.head) - table.text_columns)
    lines = [f"| {' | '.join(table.head)} |", f"|{'|'.join(rule)}|"]
    lines += [f"| {' | '.join(map(_markdown_cell, one.cells))} |" for one in table.rows]
    return "\n".join(lines)


def _markdown_cell(cell: Cell) -> str:
    text = ("{}", "**{}**", "<u>{}</u>")[cell.rank].format(cell.text)
    return text if cell.published is None else f"{text} ({cell.published.mean:.2f})"


def latex(table: Table) -> Iterator[str]:
    """Yield the lines of a table for booktabs."""
    yield f"\\begin{{tabular}}{{{'l' * table.text_columns}{'r' * (len(table.head) - table.text_columns)}}}"
    yield "\\toprule"
    yield f"{' & '.join(map(_latex_escape, table.head))} \\\\"
    for section in table.sections:
        yield "\\midrule"
        yield from (f"{' & '.join(map(_latex_cell, one.cells))} \\\\" for one in section)
    yield from ("\\bottomrule", "\\end{tabular}")


def _latex_cell(cell: Cell) -> str:
    text = _latex_escape(cell.text).replace(PLUS_MINUS, "$\\pm$").replace(NOTHING, "--")
    text = ("{}", "\\textbf{{{}}}", "\\underline{{{}}}")[cell.rank].format(text)
    return text if cell.published is None else f"{text} {{\\scriptsize({cell.published.mean:.2f})}}"


def _latex_escape(text: str) -> str:
    for sign in "&%$#_":
        text = text.replace(sign, f"\\{sign}")
    return text
