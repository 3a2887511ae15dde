"""Carries out runs, several at a time, on whatever executor; one that fails does not stop the others."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TextIO

from cuter.lock import claim, owner
from cuter.runs.stopping import Interrupted, stop_on_signals
from cuter.tables.jobs import Job
from cuter.tables.notes import last_lines, note, note_config

PAUSE = 0.2  # seconds between two looks at what goes on
RETRIES = 3  # of a run that its executor has lost


@dataclass(frozen=True)
class Failure:
    """A run that did not come to its end, and the last that it said."""

    job: Job
    code: int
    lines: list[str]


class Watcher(Protocol):
    """Who wants to know how it goes."""

    def began(self, job: Job) -> None:
        """A run was started, or goes on."""

    def moved(self, job: Job) -> None:
        """A run may have come further."""

    def finished(self, job: Job, seconds: float) -> None:
        """A run came to its end, `seconds` after this command had started it."""

    def failed(self, failure: Failure) -> None:
        """A run ended without a result."""

    def lost(self, job: Job, why: str) -> None:
        """A run was lost by its executor, and is started again."""

    def waits(self, job: Job, other: str) -> None:
        """A run is carried out by somebody else."""

    def stops(self, jobs: list[Job]) -> None:
        """Runs were asked to stop."""


class Lost(Exception):
    """A run ended for a reason that is not its own, as with the machine that it was on."""


class StartedRun(Protocol):
    """A run that was started."""

    def poll(self) -> int | None:
        """Return the code that it ended with, or None while it goes on; raise `Lost` if it is worth another try."""

    def ask_to_stop(self) -> None:
        """Let it write a checkpoint and end; `poll` says when it has."""


class Executor(Protocol):
    """Starts runs: on this machine, or on a cluster."""

    @property
    def cores(self) -> int:
        """How many cores there are."""

    @property
    def room(self) -> int:
        """How many runs are carried out at a time unless the user says a number."""

    def start(self, job: Job, lock: TextIO, at_once: int) -> StartedRun:
        """Start a run, one of so many at a time, or let it go on where it stopped."""


@dataclass
class _Running:
    job: Job
    run: StartedRun
    lock: TextIO
    since: float
    losses: int = 0


def carry_out(
    jobs: Sequence[Job], at_once: int, executor: Executor, watcher: Watcher, *, alone: bool = False
) -> list[Failure]:
    """Carry out what is not finished, in this order, and return what failed.

    With `alone` nothing is started beside a run of theirs that somebody else is at: one that goes on after its command
    was killed, or that of another command. Asked to stop, it asks its runs to stop, waits for their checkpoints and
    raises `Interrupted`.
    """
    pending: dict[Path, Job] = {}
    for job in jobs:
        if job.summary is None:
            pending.setdefault(job.folder, job)  # rows may share a run
    at_once = min(at_once, len(pending))  # few runs have more cores each
    running: list[_Running] = []
    failures: list[Failure] = []
    waiting: set[Path] = set()
    with stop_on_signals() as stop:
        try:
            while (pending or running) and not stop.asked:
                _start_more(pending, running, at_once, waiting, executor=executor, watcher=watcher, alone=alone)
                for one in list(running):
                    if (code := _poll(one, at_once, executor, watcher)) is None:
                        watcher.moved(one.job)
                    else:
                        running.remove(one)
                        failures += _end(one, code, watcher)
                time.sleep(PAUSE)
        finally:  # also when something goes wrong here: no run is left without somebody who watches it
            _stop(running, watcher)
        if stop.asked:
            raise Interrupted
    return failures


def _start_more(
    pending: dict[Path, Job],
    running: list[_Running],
    at_once: int,
    waiting: set[Path],
    *,
    executor: Executor,
    watcher: Watcher,
    alone: bool,
) -> None:
    """Start the next runs for which there is room and that nobody else is at."""
    for folder, job in list(pending.items()):
        if len(running) >= at_once:
            return
        lock = claim(job.file("lock"))
        if lock is None:
            if folder not in waiting:
                waiting.add(folder)
                watcher.waits(job, owner(job.file("lock")))
            if alone:
                return
            continue
        del pending[folder]
        if job.summary is not None:  # somebody else has finished it meanwhile
            _free_room(job)
            lock.close()
            watcher.finished(job, 0)
            continue
        note_config(job)
        running.append(_Running(job, executor.start(job, lock, at_once), lock, time.monotonic()))
        watcher.began(job)


def _poll(one: _Running, at_once: int, executor: Executor, watcher: Watcher) -> int | None:
    """Return the code of a run that has ended. What its executor has lost is started again, a few times."""
    try:
        return one.run.poll()
    except Lost as loss:
        one.losses += 1
        note(one.job, f"--- {loss}")
        if one.losses > RETRIES:
            note(one.job, f"--- lost {one.losses} times: given up")
            return -signal.SIGKILL
        watcher.lost(one.job, str(loss))
        one.run = executor.start(one.job, one.lock, at_once)
        return None


def _end(one: _Running, code: int, watcher: Watcher) -> list[Failure]:
    """Note how a run ended and give it free."""
    job = one.job
    try:
        if job.summary is not None:
            _free_room(job)
            watcher.finished(job, time.monotonic() - one.since)
            return []
        failure = Failure(job, code, last_lines(job))
        watcher.failed(failure)
        return [failure]
    finally:
        one.lock.close()


def _free_room(job: Job) -> None:
    """Leave one checkpoint of a finished run: the one before it was there for a kill during the last."""
    for older in sorted((job.folder / "checkpoints").glob("step-*"))[:-1]:
        shutil.rmtree(older)


def _stop(running: list[_Running], watcher: Watcher) -> None:
    """Ask runs to stop as Ctrl-C does, and wait until they have written their checkpoints."""
    if running:
        watcher.stops([one.job for one in running])
    for one in running:
        one.run.ask_to_stop()
    for one in running:
        with suppress(Lost):
            while one.run.poll() is None:
                time.sleep(PAUSE)
        if one.job.summary is not None:
            _free_room(one.job)
        one.lock.close()
