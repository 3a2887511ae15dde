"""Runs as processes of this machine, which share its cores."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import TextIO

from cuter.learn.devices import choose_device
from cuter.lock import write_owner
from cuter.tables.execute import launching
from cuter.tables.jobs import Job
from cuter.tables.notes import note_launch
from cuter.tables.version import version


class ThisMachine:
    """Where runs are carried out unless the user names another place."""

    def __init__(self, device: str):
        self.device = device

    @property
    def cores(self) -> int:
        """How many cores this process may use."""
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    @property
    def room(self) -> int:
        """A run for each core; on a GPU one at a time."""
        return self.cores if choose_device(self.device).type == "cpu" else 1

    def start(self, job: Job, lock: TextIO, at_once: int) -> LocalRun:
        """Start a run with its share of the cores and its output in a log."""
        command = launching.command_of(job.folder, job.file("yaml"), launching.PROGRAM)
        note_launch(job, command, version())
        # The run holds its lock also when this process is killed. On Windows, where no descriptors are inherited, the
        # lock that a run has on its folder does the same.
        inherited = () if os.name == "nt" else (lock.fileno(),)
        with job.file("log").open("a", encoding="utf-8") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # what the user says goes before it
                env={"OMP_NUM_THREADS": str(max(1, self.cores // at_once))} | os.environ,
                start_new_session=True,  # Ctrl-C in the terminal reaches a run once, through us, not twice
                pass_fds=inherited,
            )
        write_owner(lock, process.pid)
        return LocalRun(process)


class LocalRun:
    """A run as a process of this machine."""

    def __init__(self, process: subprocess.Popen[bytes]):
        self.process = process

    def poll(self) -> int | None:
        """Return the code that the process ended with."""
        return self.process.poll()

    def ask_to_stop(self) -> None:
        """Do as Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)
