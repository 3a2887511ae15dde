"""What figures are drawn from: the finished runs of a table, row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cuter.runs.history import Line
from cuter.tables.jobs import Job
from cuter.tables.suite import Row

Points = dict[float, list[float]]  # figures of all seeds, by task or by the value of a setting


@dataclass(frozen=True)
class RowRuns:
    """The finished runs of a row, one a seed."""

    row: Row
    jobs: tuple[Job, ...]

    @cached_property
    def histories(self) -> list[list[Line]]:
        """What each run noted after its tasks."""
        return [job.tests for job in self.jobs]

    def by_task(self, read: Callable[[Sequence[Line]], dict[int, float | None]]) -> Points:
        """Collect a figure after each task over seeds; `read` gives it for one run, by task from 1."""
        found: Points = {}
        for lines in self.histories:
            for task, value in read(lines).items():
                if value is not None:
                    found.setdefault(task, []).append(value)
        return found


def finished_rows(jobs: Sequence[Job]) -> list[RowRuns]:
    """Group finished runs by row, in the order of the table; rows without any are left out."""
    rows: dict[str, list[Job]] = {}
    for job in jobs:
        if job.summary is not None:
            rows.setdefault(job.row.name, []).append(job)
    return [RowRuns(own[0].row, tuple(own)) for own in rows.values()]


def centre_and_range(points: Points) -> tuple[list[float], NDArray[np.float64], NDArray[np.float64]]:
    """Return where points are, in order, their means over seeds, and the lowest and highest of each."""
    places = sorted(points)
    means = np.array([np.mean(points[place]) for place in places])
    ends = np.array([[min(points[place]), max(points[place])] for place in places])
    return places, means, ends
