"""The table of a suite as Markdown, CSV and LaTeX, and for the terminal."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.text import Text

from cuter.show.narrow import FoldedTable
from cuter.tables import cells
from cuter.tables.columns import COLUMNS
from cuter.tables.orderings import COLUMNS as ORDERED
from cuter.tables.orderings import orderings
from cuter.tables.results import Results
from cuter.tables.suite import Row

BEST = "Best in bold, second underlined; bounds take no part, and where all are level none is best."
_NARROW: Any = {"box": box.SIMPLE_HEAD, "pad_edge": False, "padding": (0, 1, 0, 0)}  # six columns in 80 letters


def markdown(results: Results) -> str:
    """Return everything that a reader wants to know: figures, differences, orderings, and how to read them."""
    suite = results.suite
    parts = [
        f"# {suite.title}",
        f"Suite `{suite.name}`, scale `{results.scale}`.",
        _markdown_table(
            ["", "seeds", *(COLUMNS[column].label for column in suite.columns)],
            [[row.name, cells.seeds(results, row), *_markdown_cells(results, row)] for row in results.rows],
        ),
        *([BEST] if results.ranked else []),
        "\n".join(f"- {text}" for text in cells.explanations(results)),
    ]
    if differences := difference_rows(results, results.ranked):
        labels = [COLUMNS[column].label for column in results.ranked]
        table = _markdown_table([f"minus {suite.reference}", *labels], differences)
        parts += [f"## Differences to {suite.reference}", table, cells.interval_caution(results)]
    if found := ordering_rows(results):
        parts += [
            "## Orderings",
            _markdown_table(["", "published ordering", "ours (difference)", "holds?"], found, align="---"),
            cells.verdict_caution(),
        ]
    return "\n\n".join(parts) + "\n"


def comma_separated(results: Results) -> str:
    """Return one line a row and column, with all that belongs to it, for other programs."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([
        "row", "method", "kind", "column", "seeds", "mean", "std", "published_mean", "published_std",
        "difference", "difference_error", "difference_low", "difference_high",
    ])  # fmt: skip
    reference = results.suite.row(results.suite.reference)
    for row in results.rows:
        for column in results.suite.columns:
            spread, published = results.spread(row, column), results.suite.published(row, column)
            difference = results.difference(row, reference, column) if row.name != reference.name else None
            low, high = (difference and difference.interval) or (None, None)
            writer.writerow([
                row.name, row.method, row.kind, column,
                spread.seeds if spread else 0, spread and spread.mean, spread and spread.std,
                published and published.mean, published and published.std,
                difference and difference.mean, difference and difference.error, low, high,
            ])  # fmt: skip
    return text.getvalue()


def latex(results: Results) -> str:
    """Return a table for booktabs: the best in bold, the second underlined, published figures small in brackets."""
    suite = results.suite
    labels = " & ".join(_escape(COLUMNS[column].label) for column in suite.columns)
    lines = [
        f"% {suite.title}; suite {suite.name}, scale {results.scale}",
        *(f"% {text}" for text in cells.explanations(results)),
        f"\\begin{{tabular}}{{l{'r' * len(suite.columns)}}}",
        "\\toprule",
        f"Method & {labels} \\\\",
        "\\midrule",
    ]
    for before, row in zip((None, *results.rows), results.rows, strict=False):
        if before is not None and before.kind != row.kind:
            lines.append("\\midrule")
        shown = (_latex_cell(results, row, column) for column in suite.columns)
        lines.append(f"{_escape(row.name)} & {' & '.join(shown)} \\\\")
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"]) + "\n"


def terminal(results: Results) -> list[FoldedTable]:
    """Return the table, with published figures below ours, and the orderings."""
    suite = results.suite
    caption = "Below ours, dim: what the paper has." if any(row.published for row in results.rows) else None
    table = FoldedTable(title=f"{suite.title}, scale {results.scale}", caption=caption, **_NARROW)
    table.add_column("", no_wrap=True)
    for label in ("seeds", *(COLUMNS[column].label for column in suite.columns)):
        table.add_column(label, justify="right", overflow="fold")
    for row in results.rows:
        figures = (_terminal_cell(results, row, column) for column in suite.columns)
        table.add_row(Text(row.name), cells.seeds(results, row), *figures)
    tables = [table]
    if differences := difference_rows(results, [column for column in ORDERED if column in suite.columns]):
        labels = [COLUMNS[column].label for column in ORDERED if column in suite.columns]
        tables.append(_plain_table([f"minus {suite.reference}", *labels], differences))
    if found := ordering_rows(results):
        tables.append(_plain_table(["", "published ordering", "ours", "holds?"], found))
    return tables


def _markdown_cells(results: Results, row: Row) -> list[str]:
    found = []
    for column in results.suite.columns:
        text = cells.figure(results.spread(row, column), column)
        place = results.places(column).get(row.name)
        text = f"**{text}**" if place == 1 else f"<u>{text}</u>" if place == 2 else text
        published = results.suite.published(row, column)
        found.append(text if published is None else f"{text} ({published.mean:.2f})")
    return found


def _latex_cell(results: Results, row: Row, column: str) -> str:
    text = cells.figure(results.spread(row, column), column, sign="$\\pm$").replace(cells.NOTHING, "--")
    place = results.places(column).get(row.name)
    text = f"\\textbf{{{text}}}" if place == 1 else f"\\underline{{{text}}}" if place == 2 else text
    published = results.suite.published(row, column)
    return text if published is None else f"{text} {{\\scriptsize({published.mean:.2f})}}"


def _terminal_cell(results: Results, row: Row, column: str) -> Text:
    place = results.places(column).get(row.name)
    style = "bold" if place == 1 else "underline" if place == 2 else ""
    text = (cells.figure(results.spread(row, column), column, sign="±"), style)
    published = results.suite.published(row, column)
    if published is None:
        return Text.assemble(text)
    deviation = "" if published.std is None else f"±{published.std:.1f}"
    return Text.assemble(text, (f"\n{published.mean:.1f}{deviation}", "dim"))


def difference_rows(results: Results, columns: Sequence[str]) -> list[list[str]]:
    """Return each row's differences to the reference, seed by seed, as text."""
    reference = results.suite.row(results.suite.reference)
    rows = [row for row in results.rows if row.name != reference.name]

    def compare(row: Row) -> list[str]:
        return [row.name, *(cells.change(results.difference(row, reference, column)) for column in columns)]

    found = [compare(row) for row in rows]
    return [line for line in found if any(cell != cells.NOTHING for cell in line[1:])]


def ordering_rows(results: Results) -> list[list[str]]:
    """Return each ordering that the paper claims, what we have, and whether it holds, as text."""
    return [
        [
            COLUMNS[ordering.column].label,
            cells.published_ordering(ordering),
            cells.change(ordering.ours),
            ordering.verdict,
        ]
        for ordering in orderings(results)
        if ordering.ours is not None
    ]


def _markdown_table(head: Sequence[str], lines: Sequence[Sequence[str]], align: str = "---:") -> str:
    rows = ["| " + " | ".join(line) + " |" for line in (head, *lines)]
    return "\n".join([rows[0], "|---|" + f"{align}|" * (len(head) - 1), *rows[1:]])


def _plain_table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> FoldedTable:
    table = FoldedTable(**_NARROW)
    for label in head:
        table.add_column(label)
    for line in lines:
        table.add_row(*map(Text, line))
    return table


def _escape(text: str) -> str:
    for sign in "&%$#_":
        text = text.replace(sign, f"\\{sign}")
    return text
