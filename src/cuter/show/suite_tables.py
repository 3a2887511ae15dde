"""The tables of a suite: figures, differences to a row of reference, orderings; and what must be said of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from cuter.show.narrow import FoldedTable
from cuter.show.table import NOTHING, Cell, Table, latex, make_row, markdown, mean_and_std, plain_table, terminal
from cuter.tables.columns import COLUMNS
from cuter.tables.orderings import COLUMNS as ORDERED
from cuter.tables.orderings import Ordering, orderings
from cuter.tables.results import Results
from cuter.tables.statistics import Difference, half_width
from cuter.tables.suite import Row

BEST = "Best in bold, second underlined; bounds take no part, and where all are level none is best."
VERDICTS = (
    "*Not separable*: the interval of the difference holds 0. A published ordering is within its own noise if "
    "Welch's t-test over the paper's five repeats does not tell the two rows apart at the same level. Of 100 "
    "differences that are nothing but chance 5 pass for one."
)


def figure(results: Results, row: Row, column: str) -> str:
    """Return mean ± standard deviation over the seeds of a row."""
    return mean_and_std(results.spread(row, column), COLUMNS[column])


def figure_table(results: Results, head: Sequence[str] = ("", "seeds")) -> Table:
    """Return the table of all figures, with the best two of each column marked and published figures beside."""
    suite = results.suite

    def cells(one: Row) -> list[Cell]:
        names = [Cell(one.name), Cell(_seeds(results, one))][: len(head)]
        return names + [
            Cell(figure(results, one, name), results.places(name).get(one.name, 0), suite.published(one, name))
            for name in suite.columns
        ]

    rows = [make_row(*cells(one), section=one.kind) for one in results.rows]
    caption = "Below ours, dim: what the paper has." if any(one.published for one in results.rows) else ""
    labels = (COLUMNS[name].label for name in suite.columns)
    title = f"{suite.title}, scale {results.scale}"
    return Table((*head, *labels), tuple(rows), title, caption, keeps_names=True)


def _seeds(results: Results, one: Row) -> str:
    """Return how many seeds of a row are finished, and of how many if not all are."""
    done = results.finished(one)
    return str(done) if done == results.seeds else f"{done}/{results.seeds}"


def difference_table(results: Results, columns: Sequence[str]) -> Table | None:
    """Return each row's differences to the row of reference, seed by seed; None if there are none."""
    reference = results.suite.row(results.suite.reference)
    rows = [
        [one.name, *(change(results.difference(one, reference, name)) for name in columns)]
        for one in results.rows
        if one.name != reference.name
    ]
    rows = [cells for cells in rows if any(cell != NOTHING for cell in cells[1:])]
    head = [f"minus {reference.name}", *(COLUMNS[name].label for name in columns)]
    return plain_table(head, rows) if rows else None


def change(difference: Difference | None) -> str:
    """Return a difference with its interval, if it has one."""
    if difference is None:
        return NOTHING
    interval = "" if difference.interval is None else " [{:+.1f}, {:+.1f}]".format(*difference.interval)
    return f"{difference.mean:+.1f}{interval}"


def ordering_table(results: Results) -> Table | None:
    """Return each ordering that the paper claims, what we have, and whether it holds; None if there are none."""
    rows = [
        [COLUMNS[one.column].label, _published_ordering(one), change(one.ours), one.verdict]
        for one in orderings(results)
        if one.ours is not None
    ]
    head = ["", "published ordering", "ours (difference)", "holds?"]
    return plain_table(head, rows, text_columns=len(head)) if rows else None


def _published_ordering(ordering: Ordering) -> str:
    sign = ">" if ordering.published > 0 else "<" if ordering.published < 0 else "="
    noise = ", within its own noise" if ordering.clear is False else ""
    return f"{ordering.row} {sign} {ordering.other} by {abs(ordering.published):.2f}{noise}"


def explanations(results: Results) -> list[str]:
    """Return what must be said under a table: definitions, what stands in brackets, what was set."""
    suite = results.suite
    texts = [f"{COLUMNS[column].label}: {COLUMNS[column].definition}." for column in suite.columns]
    if any(row.published for row in results.rows):
        texts.append("Small or in brackets: what the paper has, mean of five repeats with its backbone on all images.")
    if results.backbones:
        data = "" if results.data is None else f"; data {results.data}"
        texts.append(f"Backbone {', '.join(results.backbones)}{data}.")
    if results.surroundings:
        several = ", so that they can't be compared" if len(results.surroundings) > 1 else ""
        texts.append(f"Speeds were measured on {'; and on '.join(results.surroundings)}{several}.")
    if results.settings:
        chosen = ", ".join(f"{name} {value}" for name, value in results.settings.items())
        texts.append(f"Set for all rows in place of the suite's: {chosen}.")
    texts += suite.notes
    if results.seeds > 1:
        texts.append(f"mean ± standard deviation (n - 1) over {results.seeds} seeds, or as many as are finished.")
    return texts


def interval_caution(results: Results) -> str:
    """Return what the intervals of differences can and cannot say with so few seeds."""
    few = "Differences of one seed say nothing about chance; intervals are given from two seeds on."
    counts = results.compared_seeds
    count = min((count for count in counts if count > 1), default=None)
    if count is None:
        return few
    text = (
        "Differences are seed by seed, in brackets the 95 % interval of their mean by Student's t: with "
        f"{count} seeds {half_width(count):.1f} standard errors to each side. It speaks of other orders and draws of "
        "the same images, not of other images, data sets or backbones; and of twenty intervals one leaves out 0 by "
        "chance."
    )
    return text if min(counts) > 1 else f"{text} {few}"


def suite_headline(results: Results) -> str:
    """Say which rows are first and second in the first column that has a better."""
    if not results.ranked:
        return results.suite.title
    column = results.ranked[0]
    label = COLUMNS[column].label
    figures = {one.name: f"{one.name} {figure(results, one, column)}" for one in results.rows}
    places = results.places(column)
    if not places:
        level = [figures[one.name] for one in results.rows if one.kind != "bound" and results.spread(one, column)]
        said = f"{label}: {' and '.join(level)}{', all level' if len(level) > 1 else ''}."
        return said if level else "Nothing that could be ranked is finished yet."
    first, second = (" and ".join(figures[name] for name, one in places.items() if one == place) for place in (1, 2))
    return f"{label}: {first} first" + (f", then {second}." if second else ".")


def suite_markdown(results: Results) -> str:
    """Return everything that a reader wants to know: figures, differences, orderings, and how to read them."""
    suite = results.suite
    parts = [
        f"# {suite.title}",
        f"Suite `{suite.name}`, scale `{results.scale}`.",
        markdown(figure_table(results)),
        *([BEST] if results.ranked else []),
        "\n".join(f"- {text}" for text in explanations(results)),
    ]
    if differences := difference_table(results, results.ranked):
        parts += [f"## Differences to {suite.reference}", markdown(differences), interval_caution(results)]
    if found := ordering_table(results):
        parts += ["## Orderings", markdown(found), VERDICTS]
    return "\n\n".join(parts) + "\n"


def suite_latex(results: Results) -> str:
    """Return a table for booktabs: the best in bold, the second underlined, published figures small in brackets."""
    head = [f"{results.suite.title}; suite {results.suite.name}, scale {results.scale}", *explanations(results)]
    return "\n".join([*(f"% {text}" for text in head), *latex(figure_table(results, head=["Method"]))]) + "\n"


def suite_terminal(results: Results) -> list[FoldedTable]:
    """Return the table, with published figures below ours, the differences and the orderings."""
    ordered = [column for column in ORDERED if column in results.suite.columns]
    tables = [figure_table(results), difference_table(results, ordered), ordering_table(results)]
    return [terminal(table) for table in tables if table is not None]


def suite_csv(results: Results) -> str:
    """Return one line per row and column, with all that belongs to it, for other programs; nothing is rounded."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([
        "row", "method", "kind", "column", "seeds", "mean", "std", "published_mean", "published_std",
        "difference", "difference_error", "difference_low", "difference_high",
    ])  # fmt: skip
    reference = results.suite.row(results.suite.reference)
    for one in results.rows:
        for column in results.suite.columns:
            spread, published = results.spread(one, column), results.suite.published(one, column)
            difference = results.difference(one, reference, column) if one.name != reference.name else None
            low, high = (difference and difference.interval) or (None, None)
            writer.writerow([
                one.name, one.method, one.kind, column,
                spread.seeds if spread else 0, spread and spread.mean, spread and spread.std,
                published and published.mean, published and published.std,
                difference and difference.mean, difference and difference.error, low, high,
            ])  # fmt: skip
    return text.getvalue()
