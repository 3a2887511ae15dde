"""Figures as text, the same in every format of a table."""

from __future__ import annotations

from cuter.tables.columns import COLUMNS
from cuter.tables.orderings import Ordering
from cuter.tables.results import Results
from cuter.tables.statistics import Difference, Spread, half_width
from cuter.tables.suite import Row

NOTHING = "–"


def figure(spread: Spread | None, column: str, sign: str = " ± ") -> str:
    """Return mean ± std, or the mean alone of one seed."""
    if spread is None:
        return NOTHING
    digits = COLUMNS[column].digits
    deviation = "" if spread.std is None or digits == 0 else f"{sign}{spread.std:.{digits}f}"
    return f"{spread.mean:.{digits}f}{deviation}"


def change(difference: Difference | None, digits: int = 1) -> str:
    """Return a difference with its interval, if it has one."""
    if difference is None:
        return NOTHING
    text = f"{difference.mean:+.{digits}f}"
    if difference.interval is None:
        return text
    return f"{text} [{difference.interval[0]:+.{digits}f}, {difference.interval[1]:+.{digits}f}]"


def published_ordering(ordering: Ordering) -> str:
    """Return what the paper says of two rows."""
    sign = ">" if ordering.published > 0 else "<" if ordering.published < 0 else "="
    noise = ", within its own noise" if ordering.clear is False else ""
    return f"{ordering.row} {sign} {ordering.other} by {abs(ordering.published):.2f}{noise}"


def seeds(results: Results, row: Row) -> str:
    """Return how many seeds of a row are finished, and of how many if not all are."""
    done = results.finished(row)
    return str(done) if done == results.seeds else f"{done}/{results.seeds}"


def explanations(results: Results) -> list[str]:
    """Return what must be said under a table: definitions, what stands in brackets, what an interval can tell."""
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


def verdict_caution() -> str:
    """Tell what the verdicts on orderings mean."""
    return (
        "*Not separable*: the interval of the difference holds 0. A published ordering is within its own noise if "
        "Welch's t-test over the paper's five repeats does not tell the two rows apart at the same level. Of 100 "
        "differences that are nothing but chance 5 pass for one."
    )


def interval_caution(results: Results) -> str:
    """Tell what the intervals of differences can and cannot say with so few seeds."""
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
