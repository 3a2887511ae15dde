"""Which rows the paper has above which, and whether that is so here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scipy import stats

from cuter.tables.results import Results
from cuter.tables.statistics import LEVEL, Difference
from cuter.tables.suite import REPEATS, Published, Row

COLUMNS = ("average.map", "last.map")


@dataclass(frozen=True)
class Ordering:
    """Two rows in one column: what the paper has, and what we have."""

    row: str
    other: str
    column: str
    published: float  # difference of the means, row - other
    published_p: float | None  # of Welch's t-test over the paper's repeats, which are not paired
    ours: Difference | None

    @property
    def clear(self) -> bool | None:
        """Whether the paper's own difference is more than its noise; None where it names no spread."""
        return None if self.published_p is None else self.published_p < 1 - LEVEL

    @property
    def verdict(self) -> str:
        """Whether the paper's ordering holds here."""
        if self.ours is None:
            return "not measured"
        if self.ours.separable is None:
            return "one seed cannot tell"
        if not self.ours.separable:
            return "not separable"
        return "holds" if self.ours.mean * self.published > 0 else "does not hold"


def orderings(results: Results) -> Iterator[Ordering]:
    """Compare each row with those that the paper compares it with, and each baseline with the reference."""
    shown = {row.name: row for row in results.rows}
    for row in results.rows:
        others = row.against
        if others is None:
            others = (results.suite.reference,) if row.kind == "baseline" else ()
        for other in others:
            if other == row.name or other not in shown:
                continue
            yield from _compare(results, row, shown[other])


def _compare(results: Results, row: Row, other: Row) -> Iterator[Ordering]:
    for column in COLUMNS:
        ours, theirs = results.suite.published(row, column), results.suite.published(other, column)
        if ours is not None and theirs is not None:
            difference = results.difference(row, other, column)
            yield Ordering(row.name, other.name, column, ours.mean - theirs.mean, _welch(ours, theirs), difference)


def _welch(one: Published, other: Published) -> float | None:
    """Return how likely chance alone has two published means at least so far apart."""
    if one.std is None or other.std is None:
        return None
    test = stats.ttest_ind_from_stats(one.mean, one.std, REPEATS, other.mean, other.std, REPEATS, equal_var=False)
    return float(test.pvalue)
