"""Carries out runs, several at a time, each in a process of its own; one that fails does not stop the others."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol, TextIO

from cuter.experiment.config import dump_config
from cuter.experiment.stopping import Interrupted, stop_on_signals
from cuter.paper.claims import claim, owner, write_owner
from cuter.paper.jobs import Job
from cuter.paper.version import version
from cuter.storage import write_text

PROGRAM = (sys.executable, "-m", "cuter")
PAUSE = 0.2  # seconds between two looks at what goes on
SHOWN_LINES = 5  # of the log of a run that failed


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

    def waits(self, job: Job, other: str) -> None:
        """A run is carried out by somebody else."""

    def stops(self, jobs: list[Job]) -> None:
        """Runs were asked to stop."""


@dataclass(frozen=True)
class _Process:
    job: Job
    popen: subprocess.Popen[bytes]
    lock: TextIO
    since: float


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def carry_out(jobs: Sequence[Job], at_once: int, watcher: Watcher) -> list[Failure]:
    """Carry out what is not finished, in this order, and return what failed.

    Asked to stop, it asks its runs to stop, waits for their checkpoints and raises `Interrupted`.
    """
    pending: dict[Path, Job] = {}
    for job in jobs:
        if job.summary is None:
            pending.setdefault(job.folder, job)  # rows may share a run
    at_once = min(at_once, len(pending))  # few runs have more cores each
    running: list[_Process] = []
    failures: list[Failure] = []
    waiting: set[Path] = set()
    with stop_on_signals() as stop:
        try:
            while (pending or running) and not stop.asked:
                _start_more(pending, running, at_once, waiting, watcher)
                for process in list(running):
                    if process.popen.poll() is None:
                        watcher.moved(process.job)
                    else:
                        running.remove(process)
                        failures += _end(process, watcher)
                time.sleep(PAUSE)
        finally:  # also when something goes wrong here: no run is left without somebody who watches it
            _stop(running, watcher)
        if stop.asked:
            raise Interrupted
    return failures


def _start_more(
    pending: dict[Path, Job], running: list[_Process], at_once: int, waiting: set[Path], watcher: Watcher
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
            continue
        del pending[folder]
        if job.summary is not None:  # somebody else has finished it meanwhile
            _free_room(job)
            lock.close()
            watcher.finished(job, 0)
            continue
        running.append(_Process(job, _launch(job, lock, max(1, cores() // at_once)), lock, time.monotonic()))
        watcher.began(job)


def _launch(job: Job, lock: TextIO, threads: int) -> subprocess.Popen[bytes]:
    """Start a run, or let it go on where it stopped, with its output in a log."""
    command = [*PROGRAM, "run"]
    if job.begun:
        # The folder was found by what decides the result; device and workers may be others than it began with.
        write_text(job.folder / "config.yaml", dump_config(job.config))
        command += ["--resume", str(job.folder)]
    else:
        for leftover in job.folder.glob(".config.yaml.*"):  # of a kill in the very first moment
            leftover.unlink()
        write_text(job.file("yaml"), dump_config(job.config))
        command += ["--config", str(job.file("yaml")), "--out", str(job.folder)]
    now = f"{datetime.now():%Y-%m-%d %H:%M:%S}"
    with job.file("launches").open("a", encoding="utf-8") as launches:
        launches.write(f"{now} cuter {version()}\n")  # a table may take days, and the code may change meanwhile
    with job.file("log").open("a", encoding="utf-8") as log:
        log.write(f"--- {now} {job.name}: {shlex.join(command)}\n")
        log.flush()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={"OMP_NUM_THREADS": str(threads)} | os.environ,  # what the user says goes before it
            start_new_session=True,  # Ctrl-C in the terminal reaches a run once, through us, not twice
            pass_fds=(lock.fileno(),),  # a run holds its lock itself, should this process be killed
        )
    write_owner(lock, process.pid)
    return process


def _end(process: _Process, watcher: Watcher) -> list[Failure]:
    """Note how a run ended and give it free."""
    job = process.job
    try:
        if job.summary is not None:
            _free_room(job)
            watcher.finished(job, time.monotonic() - process.since)
            return []
        lines = job.file("log").read_text(encoding="utf-8", errors="replace").splitlines()
        failure = Failure(job, process.popen.returncode, [line for line in lines if line.strip()][-SHOWN_LINES:])
        watcher.failed(failure)
        return [failure]
    finally:
        process.lock.close()


def _free_room(job: Job) -> None:
    """Leave one checkpoint of a finished run: the one before it was there for a kill during the last."""
    for older in sorted((job.folder / "checkpoints").glob("step-*"))[:-1]:
        shutil.rmtree(older)


def _stop(running: list[_Process], watcher: Watcher) -> None:
    """Ask runs to stop as Ctrl-C does, and wait until they have written their checkpoints."""
    if running:
        watcher.stops([process.job for process in running])
    for process in running:
        process.popen.send_signal(signal.SIGINT)
    for process in running:
        process.popen.wait()
        if process.job.summary is not None:
            _free_room(process.job)
        process.lock.close()
