"""What happens on a node of a Ray cluster: one run, in the folder of the command or in a scratch folder.

Knows nothing of Ray, and imports little: a node does so for every run.
"""

from __future__ import annotations

import importlib.metadata
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from cuter.errors import ConfigError, CuterError
from cuter.lock import locked
from cuter.tables.execute import watchdog
from cuter.tables.execute.archive import newest_checkpoint, pack, unpack
from cuter.tables.execute.launching import command_of
from cuter.tables.version import version

INTERVAL = 1.0  # seconds between two updates
SURVIVOR = 60  # seconds that a run waits for one of an earlier attempt, which is about to end


@dataclass(frozen=True)
class RemoteJob:
    """What a node must know of a run."""

    folder: str  # where the command wants it
    config: str
    program: tuple[str, ...]
    threads: str
    token: str  # a file that is there on machines that see the command's folder
    needs: tuple[str, ...]  # files and folders
    version: str
    archive: bytes | None = None  # what there is of the run already, for a node that does not see the folder


@dataclass(frozen=True)
class Start:
    """Where and how a run was started."""

    host: str
    process: int  # of Ray's
    version: str
    command: list[str]


@dataclass(frozen=True)
class Update:
    """News of a run."""

    start: Start | None = None
    log: bytes = b""  # since the last update
    archive: bytes | None = None  # the run with a new checkpoint, or at its end; None where the folder is shared


def run_task(job: RemoteJob, queue: Any, key: str) -> int:
    """Carry out a run as a Ray task; what goes to the queue has a key, because runs share it."""
    return run_job(job, lambda update: queue.put((key, update)))


def run_job(job: RemoteJob, send: Callable[[Update], None]) -> int:
    """Carry out a run and return its exit code. `KeyboardInterrupt` asks it to stop as Ctrl-C does.

    Raises:
        CuterError: This node lacks something that the run needs.
    """
    _require(job)
    shared = Path(job.token).is_file()
    with tempfile.TemporaryDirectory(prefix="cuter-") as scratch:
        folder = Path(job.folder) if shared else Path(scratch, Path(job.folder).name)
        if shared:
            _wait_for_survivor(folder)
        elif job.archive is not None:
            unpack(job.archive, folder)
        config, log = Path(scratch, "config.yaml"), Path(scratch, "log")
        config.write_text(job.config, encoding="utf-8")
        command = command_of(folder, config, job.program)
        send(Update(Start(socket.gethostname(), os.getpid(), version(), command)))
        with log.open("wb") as output, log.open("rb") as said:
            run = subprocess.Popen(
                [sys.executable, watchdog.__file__, str(os.getpid()), *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=os.environ | {"OMP_NUM_THREADS": job.threads},
                start_new_session=True,
            )
            try:
                _watch(run, folder, shared, said, send)
            except KeyboardInterrupt:
                run.send_signal(signal.SIGINT)
                run.wait()
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(run.pid, signal.SIGKILL)  # also what it has started
                run.wait()
            last = Update(None, said.read(), None if shared else pack(folder))
        try:
            send(last)
        except KeyboardInterrupt:  # asked to stop when it had ended already
            send(last)
    return run.returncode


def _require(job: RemoteJob) -> None:
    host, installed = socket.gethostname(), importlib.metadata.version("cuter")
    if installed != job.version:
        raise CuterError(f"node {host} has cuter {installed}, this command is {job.version}: install one on all nodes")
    if missing := [path for path in job.needs if not Path(path).exists()]:
        raise CuterError(
            f"node {host} has no {', '.join(missing)}: data and backbone must be at the same place on every node"
        )


def _wait_for_survivor(folder: Path) -> None:
    """Wait until nobody holds the folder: a run whose node was lost may take a moment to end."""
    end = time.monotonic() + SURVIVOR
    while (folder / "config.yaml").is_file() and time.monotonic() < end:
        with suppress(ConfigError), locked(folder):
            return
        time.sleep(INTERVAL)


def _watch(
    run: subprocess.Popen[bytes], folder: Path, shared: bool, said: BinaryIO, send: Callable[[Update], None]
) -> None:
    """Send what a run says until it ends, and its folder whenever it has a new checkpoint."""
    sent = newest_checkpoint(folder)
    while True:
        with suppress(subprocess.TimeoutExpired):
            run.wait(INTERVAL)
            return
        newest, archive = newest_checkpoint(folder), None
        if not shared and newest != sent and (archive := pack(folder)) is not None:
            sent = newest
        log = said.read()
        if log or archive is not None:
            send(Update(None, log, archive))
