"""What is written beside the folder of a run: its settings, when and by which code it was started, what it says."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import datetime

from cuter.runs.config import dump_config
from cuter.storage import write_text
from cuter.tables.jobs import Job

SHOWN_LINES = 5  # of the log of a run that failed


def note_config(job: Job) -> None:
    """Write what a run is to be started with."""
    if job.begun:
        # The folder was found by what decides the result; device and workers may be others than it began with.
        write_text(job.folder / "config.yaml", dump_config(job.config))
    else:
        write_text(job.file("yaml"), dump_config(job.config))


def note_launch(job: Job, command: Sequence[str], code: str, where: str = "") -> None:
    """Note that a run is started, by which version of the code: a table may take days, and the code may change."""
    now, where = f"{datetime.now():%Y-%m-%d %H:%M:%S}", where and f" on {where}"
    with job.file("launches").open("a", encoding="utf-8") as launches:
        launches.write(f"{now} cuter {code}{where}\n")
    note(job, f"--- {now} {job.name}{where}: {shlex.join(command)}")


def note(job: Job, line: str) -> None:
    """Add a line to the log of a run."""
    with job.file("log").open("a", encoding="utf-8") as log:
        log.write(line + "\n")


def last_lines(job: Job) -> list[str]:
    """Return the end of the log of a run."""
    lines = job.file("log").read_text(encoding="utf-8", errors="replace").splitlines()
    return [line for line in lines if line.strip()][-SHOWN_LINES:]
