"""What the finished runs of a table came to, row by row and seed by seed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuter.runs.config import field_names
from cuter.runs.record import RunRecord
from cuter.settings import Role, flattened
from cuter.tables.columns import COLUMNS, SPEED, read_figures
from cuter.tables.jobs import Job, Request
from cuter.tables.statistics import Difference, Spread, paired_difference
from cuter.tables.suite import Row, Suite


@dataclass(frozen=True)
class Results:
    """Figures of the rows that were asked for; what is not finished has none."""

    suite: Suite
    scale: str
    seeds: int
    rows: tuple[Row, ...]
    settings: Mapping[str, Any]  # of all rows, in place of the suite's
    figures: dict[tuple[str, int], dict[str, float | None]]  # by row and seed, then by column
    backbones: tuple[str, ...] = ()  # by their last names, as the data: a table is read elsewhere
    data: str | None = None
    surroundings: tuple[str, ...] = ()  # in which speeds were measured, if the table has any

    def by_seed(self, row: Row, column: str) -> dict[int, float]:
        """Return a figure of a row by seed."""
        found = {seed: figures[column] for (name, seed), figures in self.figures.items() if name == row.name}
        return {seed: value for seed, value in found.items() if value is not None}

    def finished(self, row: Row) -> int:
        """Return how many seeds of a row are finished."""
        return sum(name == row.name for name, _ in self.figures)

    def spread(self, row: Row, column: str) -> Spread | None:
        """Return mean and standard deviation of a figure over seeds."""
        return Spread.of(self.by_seed(row, column))

    def difference(self, row: Row, other: Row, column: str) -> Difference | None:
        """Compare two rows seed by seed."""
        return paired_difference(self.by_seed(row, column), self.by_seed(other, column))

    @property
    def compared_seeds(self) -> list[int]:
        """How many seeds each comparison rests on, with the reference or with what the paper compares: shared ones."""
        seeds = {row.name: {seed for name, seed in self.figures if name == row.name} for row in self.rows}
        pairs = [(row.name, other) for row in self.rows for other in (self.suite.reference, *(row.against or ()))]
        shared = [len(seeds[row] & seeds[other]) for row, other in pairs if other in seeds and other != row]
        return [count for count in shared if count]

    @property
    def ranked(self) -> list[str]:
        """The columns where more is better."""
        return [column for column in self.suite.columns if COLUMNS[column].is_ranked]

    def places(self, column: str) -> dict[str, int]:
        """Return which rows are first and second in a column, by the figures as they are shown.

        Bounds take no part. A column has no first where more is not better, or where all that take part are level.
        """
        if not COLUMNS[column].is_ranked:
            return {}
        rows = [row for row in self.rows if row.kind != "bound"]
        spreads = {row.name: spread for row in rows if (spread := self.spread(row, column))}
        means = {name: round(spread.mean, COLUMNS[column].digits) for name, spread in spreads.items()}
        best = sorted(set(means.values()), reverse=True)[:2]
        if len(best) < 2:
            return {}
        return {name: best.index(mean) + 1 for name, mean in means.items() if mean in best}


def collect(suite: Suite, request: Request, jobs: Sequence[Job]) -> Results:
    """Read the figures of all finished runs."""
    rows = tuple(dict.fromkeys(job.row.name for job in jobs))
    records = {(job.row.name, job.seed): job.record for job in jobs if job.summary is not None}
    figures = {run: read_figures(record, suite.columns) for run, record in records.items()}
    places, execution = field_names(Role.PLACE), field_names(Role.EXECUTION)
    settings = {
        name: Path(value).name if name in places and isinstance(value, str) else value
        for name, value in flattened(request.settings).items()
        if name not in execution
    }
    return Results(
        suite,
        request.scale,
        request.seeds,
        tuple(suite.row(name) for name in rows),
        settings,
        figures,
        backbones=tuple(_named(name, Path(backbone).name) for name, backbone in request.backbones.items()),
        data=None if request.data_root is None else request.data_root.resolve().name,
        surroundings=_surroundings(records.values()) if SPEED in suite.columns else (),
    )


def _named(name: str, backbone: str) -> str:
    return backbone if name in ("", backbone) else f"{name}={backbone}"


def _surroundings(records: Iterable[RunRecord]) -> tuple[str, ...]:
    """Return in what surroundings the finished runs were made, each once."""
    made = [record.environment for record in records]
    described = [f"{one['device']}, {one['threads']} of {one['cores']} cores, {one['platform']}" for one in made if one]
    return tuple(dict.fromkeys(described))
