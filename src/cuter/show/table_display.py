"""What a person sees while the runs of a table are carried out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

from rich.console import Console
from rich.progress import TaskID

from cuter.errors import CuterError
from cuter.lock import claim
from cuter.runs.record import read_position
from cuter.show.narrow import FoldedTable
from cuter.show.progress_line import ProgressLine
from cuter.show.table import plain_table, terminal
from cuter.tables.execute.execute import Failure
from cuter.tables.jobs import Job

LOOK = 1.0  # seconds between two looks into the folder of a run


class TableDisplay(ProgressLine):
    """A bar over all runs and one for each run under way; without a terminal a line for each event."""

    def __init__(
        self, console: Console, jobs: Sequence[Job], steps: Sequence[int], keep: Callable[[Job], None] | None = None
    ):
        super().__init__(console, width=30)
        self.keep = keep  # is given each run that is finished
        self.steps = {job.folder: count for job, count in zip(jobs, steps, strict=True)}
        done = {job.folder: self.steps[job.folder] for job in jobs if job.summary is not None}
        self.done: dict[Path, int] = done | {
            folder: read_position(folder).steps for folder in self.steps if folder not in done
        }
        self.ended = len(done)
        self.begin = (time.monotonic(), sum(self.done.values()))
        self.set_total(sum(self.steps.values()), done=0)
        self.rows: dict[Path, TaskID] = {}
        self.looked: dict[Path, float] = {}
        self._show_all()

    def began(self, job: Job) -> None:
        """Show a line for a run."""
        how = "goes on" if job.begun else "begins"
        self.say(f"{job.name} {how}: {job.folder}")
        self.rows[job.folder] = self.bar.add_task(f"  {job.name}", total=self.steps[job.folder], facts="loading")

    def moved(self, job: Job) -> None:
        """Show how far a run is, once in a while."""
        if time.monotonic() - self.looked.get(job.folder, 0) < LOOK:
            return
        self.looked[job.folder] = time.monotonic()
        where = read_position(job.folder)
        total = self.steps[job.folder]
        facts = f"task {where.task + 1}, step {where.steps}/{total}" if 0 < where.steps < total else "last test"
        if where.last_map is not None:
            facts += f", mAP {where.last_map:.1f} after task {where.task}"
        facts = facts if where.steps else "loading"
        self.done[job.folder] = where.steps
        self.bar.update(self.rows[job.folder], completed=where.steps, facts=facts)
        self._show_all()

    def finished(self, job: Job, seconds: float) -> None:
        """Print the result of a run."""
        self.ended += 1
        self.done[job.folder] = self.steps[job.folder]
        self._remove(job)
        summary = job.summary or {}
        took = f" in {timedelta(seconds=round(seconds))}" if seconds else " by another process"
        average, last = (f"{summary[when]['map'] or 0:.1f}" for when in ("average", "last"))
        self.say(f"{job.name} finished{took}: mAP {average} average, {last} last ({self._standing()})")
        if self.keep is not None:
            try:
                self.keep(job)
            except CuterError as error:  # the others go on; at the end it is reported again
                self.say(f"error: {error}")

    def failed(self, failure: Failure) -> None:
        """Print that a run failed; the end of its log is shown later."""
        self._remove(failure.job)
        self.say(f"{failure.job.name} failed with code {failure.code}, see {failure.job.file('log')}")

    def lost(self, job: Job, why: str) -> None:
        """Print that a run is started again."""
        self.say(f"{job.name} is started again: {why}")

    def waits(self, job: Job, other: str) -> None:
        """Print that somebody else carries out a run."""
        self.say(f"{job.name} is carried out by {other}")

    def stops(self, jobs: list[Job]) -> None:
        """Print why it takes a moment to stop."""
        self.say(f"stopping {len(jobs)} runs; they write their checkpoints")

    def _remove(self, job: Job) -> None:
        if job.folder in self.rows:
            self.bar.remove_task(self.rows.pop(job.folder))
        self._show_all()

    def _show_all(self) -> None:
        self.bar.update(self.row, completed=sum(self.done.values()), description="all runs", facts=self._standing())

    def _standing(self) -> str:
        start, before = self.begin
        learned = sum(self.done.values()) - before
        left = sum(self.steps.values()) - sum(self.done.values())
        seconds = left * (time.monotonic() - start) / learned if learned > 0 else None
        time_left = "" if seconds is None else f", about {timedelta(seconds=round(seconds))} left"
        return f"{self.ended} of {len(self.steps)} runs{time_left}"

    def say(self, text: str) -> None:
        """Print a line as it is, with no line break inside a path."""
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)


def states_table(jobs: Sequence[Job]) -> FoldedTable:
    """Return a table of rows and seeds that shows how far each run is."""
    seeds = sorted({job.seed for job in jobs})
    head = ["row", *(f"seed {seed}" for seed in seeds), "folder of the first"]
    rows = []
    for name in dict.fromkeys(job.row.name for job in jobs):
        own = [job for job in jobs if job.row.name == name]
        rows.append([name, *map(_state, own), own[0].folder.name])
    return terminal(plain_table(head, rows, title="runs", text_columns=len(head)), boxed=True)


def _state(job: Job) -> str:
    if job.summary is not None:
        return "finished"
    lock = claim(job.file("lock")) if job.file("lock").exists() else None
    taken = lock is None and job.file("lock").exists()
    if lock is not None:
        lock.close()
    done = read_position(job.folder).steps
    if taken:
        return f"under way, step {done}"
    return f"begun, step {done}" if job.begun else "to do"
