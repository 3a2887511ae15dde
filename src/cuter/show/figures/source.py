"""What figures are drawn from: the finished runs of a table, row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cuter.runs.record import RunRecord
from cuter.show.style import Points
from cuter.tables.jobs import Job
from cuter.tables.suite import Row


@dataclass(frozen=True)
class RowRuns:
    """The finished runs of a row, one per seed."""

    row: Row
    jobs: tuple[Job, ...]
    records: tuple[RunRecord, ...]

    def by_task(self, read: Callable[[RunRecord], dict[int, float | None]]) -> Points:
        """Collect a figure after each task over seeds; `read` gives it for one run, by task from 1."""
        found: Points = {}
        for record in self.records:
            for task, value in read(record).items():
                if value is not None:
                    found.setdefault(task, []).append(value)
        return found


def finished_rows(jobs: Sequence[Job]) -> list[RowRuns]:
    """Group finished runs by row, in the order of the table; rows without any are left out."""
    rows: dict[str, list[Job]] = {}
    for job in jobs:
        if job.summary is not None:
            rows.setdefault(job.row.name, []).append(job)
    return [RowRuns(own[0].row, tuple(own), tuple(job.record for job in own)) for own in rows.values()]
