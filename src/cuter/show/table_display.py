"""What a person sees while the runs of a table are carried out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.text import Text

from cuter.errors import CuterError
from cuter.lock import claim
from cuter.show.narrow import FoldedTable
from cuter.tables.execute.execute import Failure
from cuter.tables.jobs import Job
from cuter.tables.progress import position

LOOK = 1.0  # seconds between two looks into the folder of a run


class PaperDisplay:
    """A bar over all runs and one for each run under way; without a terminal a line for each event."""

    def __init__(
        self, console: Console, jobs: Sequence[Job], steps: Sequence[int], keep: Callable[[Job], None] | None = None
    ):
        self.console = console
        self.keep = keep  # is given each run that is finished
        self.steps = {job.folder: count for job, count in zip(jobs, steps, strict=True)}
        done = {job.folder: self.steps[job.folder] for job in jobs if job.summary is not None}
        self.done: dict[Path, int] = done | {
            folder: position(folder).steps for folder in self.steps if folder not in done
        }
        self.ended = len(done)
        self.begin = (time.monotonic(), sum(self.done.values()))
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.percentage:>3.0f}%  {task.fields[facts]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self.all = self.bar.add_task("", total=sum(self.steps.values()), facts="")
        self.rows: dict[Path, TaskID] = {}
        self.looked: dict[Path, float] = {}
        self._show_all()

    def began(self, job: Job) -> None:
        """Show a line for a run."""
        how = "goes on" if job.begun else "begins"
        self._line(f"{job.name} {how}: {job.folder}")
        self.rows[job.folder] = self.bar.add_task(f"  {job.name}", total=self.steps[job.folder], facts="loading")

    def moved(self, job: Job) -> None:
        """Show how far a run is, once in a while."""
        if time.monotonic() - self.looked.get(job.folder, 0) < LOOK:
            return
        self.looked[job.folder] = time.monotonic()
        where = position(job.folder)
        total = self.steps[job.folder]
        facts = f"task {where.task + 1}, step {where.steps}/{total}" if 0 < where.steps < total else "last test"
        if where.last_map is not None:
            facts += f", mAP {where.last_map:.1f} after task {where.task}"
        facts = facts if where.steps else "loading"
        self.done[job.folder] = where.steps
        self.bar.update(self.rows[job.folder], completed=where.steps, facts=facts)
        self._show_all()

    def finished(self, job: Job, seconds: float) -> None:
        """Tell the result of a run."""
        self.ended += 1
        self.done[job.folder] = self.steps[job.folder]
        self._remove(job)
        summary = job.summary or {}
        took = f" in {timedelta(seconds=round(seconds))}" if seconds else " by another process"
        average, last = (f"{summary[when]['map'] or 0:.1f}" for when in ("average", "last"))
        self._line(f"{job.name} finished{took}: mAP {average} average, {last} last ({self._standing()})")
        if self.keep is not None:
            try:
                self.keep(job)
            except CuterError as error:  # the others go on; at the end it is told again
                self._line(f"error: {error}")

    def failed(self, failure: Failure) -> None:
        """Tell that a run failed; what it said is shown at the end."""
        self._remove(failure.job)
        self._line(f"{failure.job.name} failed with code {failure.code}, see {failure.job.file('log')}")

    def lost(self, job: Job, why: str) -> None:
        """Tell that a run is started again."""
        self._line(f"{job.name} is started again: {why}")

    def waits(self, job: Job, other: str) -> None:
        """Tell that somebody else carries out a run."""
        self._line(f"{job.name} is carried out by {other}")

    def stops(self, jobs: list[Job]) -> None:
        """Tell why it takes a moment to stop."""
        self._line(f"stopping {len(jobs)} runs; they write their checkpoints")

    def _remove(self, job: Job) -> None:
        if job.folder in self.rows:
            self.bar.remove_task(self.rows.pop(job.folder))
        self._show_all()

    def _show_all(self) -> None:
        self.bar.update(self.all, completed=sum(self.done.values()), description="all runs", facts=self._standing())

    def _standing(self) -> str:
        start, before = self.begin
        learned = sum(self.done.values()) - before
        left = sum(self.steps.values()) - sum(self.done.values())
        seconds = left * (time.monotonic() - start) / learned if learned > 0 else None
        time_left = "" if seconds is None else f", about {timedelta(seconds=round(seconds))} left"
        return f"{self.ended} of {len(self.steps)} runs{time_left}"

    def _line(self, text: str) -> None:
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()


def states_table(jobs: Sequence[Job]) -> FoldedTable:
    """Return a table of rows and seeds that tells how far each run is."""
    seeds = sorted({job.seed for job in jobs})
    table = FoldedTable(title="runs")
    for label in ("row", *(f"seed {seed}" for seed in seeds), "folder of the first"):
        table.add_column(label)
    for name in dict.fromkeys(job.row.name for job in jobs):
        own = [job for job in jobs if job.row.name == name]
        table.add_row(Text(name), *map(_state, own), Text(own[0].folder.name))
    return table


def _state(job: Job) -> str:
    if job.summary is not None:
        return "finished"
    lock = claim(job.file("lock")) if job.file("lock").exists() else None
    taken = lock is None and job.file("lock").exists()
    if lock is not None:
        lock.close()
    done = position(job.folder).steps
    if taken:
        return f"under way, step {done}"
    return f"begun, step {done}" if job.begun else "to do"
