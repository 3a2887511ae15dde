"""What happens on a node of a Ray cluster: one run, in the folder of the command or in a scratch folder of its own.

Knows nothing of Ray, and imports little: a node does so for every run.
"""

from __future__ import annotations

import importlib.metadata
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cuter.errors import CuterError
from cuter.lock import claim
from cuter.tables.execute import watchdog as guard
from cuter.tables.execute.archive import newest_checkpoint, pack, unpack
from cuter.tables.execute.launching import command_of
from cuter.tables.version import version

LOOK = 1.0  # seconds that a look waits for the end of the run
CHUNK = 1 << 25  # bytes of a parcel that are sent at once
LOG = 1 << 16  # bytes of a log that are sent at once: below what Ray takes for a large object


@dataclass(frozen=True)
class Errand:
    """What a node must know of a run."""

    folder: str  # where the command wants it
    config: str
    program: tuple[str, ...]
    threads: str
    token: str  # a file that is there on machines that see the command's folder
    lock: str
    needs: tuple[str, ...]  # files and folders
    version: str


@dataclass(frozen=True)
class Host:
    """Where a run has come to."""

    name: str
    process: int
    version: str
    shared: bool  # whether it sees the command's folder


@dataclass(frozen=True)
class Look:
    """How a run goes."""

    code: int | None  # None while it goes on
    log: bytes  # what it has said since the last look
    checkpoint: str | None  # the name of its newest


class Runner:
    """One run. It lives in a process of Ray's, and a guard sees to it that the run ends with that process."""

    def begin(self, errand: Errand) -> Host:
        """Take on a run, or tell why this node can't."""
        name, number = socket.gethostname(), importlib.metadata.version("cuter")
        if number != errand.version:
            raise CuterError(
                f"node {name} has cuter {number}, this command is {errand.version}: install one on all nodes"
            )
        if missing := [path for path in errand.needs if not Path(path).exists()]:
            raise CuterError(
                f"node {name} has no {', '.join(missing)}: data and backbone must be at the same place on every node"
            )
        self.errand = errand
        self.shared = Path(errand.token).is_file()
        self.scratch = Path(tempfile.mkdtemp(prefix="cuter-"))
        self.folder = Path(errand.folder) if self.shared else self.scratch / Path(errand.folder).name
        self.parcel = self.scratch / "parcel"
        self.code: int | None = None
        return Host(name, os.getpid(), version(), self.shared)

    def receive(self, chunk: bytes) -> None:
        """Take the next piece of what there is of the run already."""
        with self.parcel.open("ab") as parcel:
            parcel.write(chunk)

    def start(self) -> list[str] | None:
        """Start the run and return its command; None while somebody of an earlier attempt is still at it."""
        lock = claim(Path(self.errand.lock)) if self.shared else None
        if self.shared and lock is None:
            time.sleep(LOOK)
            return None
        if self.parcel.exists():
            unpack(self.parcel, self.folder)
        config = self.scratch / "config.yaml"
        config.write_text(self.errand.config, encoding="utf-8")
        command = command_of(self.folder, config, self.errand.program)
        with (self.scratch / "log").open("wb") as log:
            self.guard = subprocess.Popen(
                [sys.executable, guard.__file__, str(self.scratch), *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                bufsize=0,
                env=os.environ | {"OMP_NUM_THREADS": self.errand.threads},
                start_new_session=True,
                pass_fds=(lock.fileno(),) if lock else (),
            )
        self.guard.wait()  # only for its parent: it makes itself an orphan
        if lock:
            lock.close()
        self.log = (self.scratch / "log").open("rb")
        return command

    def look(self) -> Look:
        """Tell how the run goes, at its end at once, otherwise after a moment."""
        assert self.guard.stdout is not None
        if self.code is None and select.select([self.guard.stdout], [], [], LOOK)[0]:
            self.code = int(self.guard.stdout.readline() or -signal.SIGKILL)  # nothing: even the guard was killed
        log, newest = self.log.read(LOG), newest_checkpoint(self.folder)
        return Look(None if len(log) == LOG else self.code, log, newest.name if newest else None)

    def stop(self) -> None:
        """Ask the run to stop as Ctrl-C does."""
        assert self.guard.stdin is not None
        with suppress(BrokenPipeError):  # the guard was killed: there is nobody to ask
            self.guard.stdin.write(b".")

    def pack(self) -> int:
        """Make a parcel of the run and return its length; 0 if the run is too quick for it just now."""
        return self.parcel.stat().st_size if pack(self.folder, self.parcel) else 0

    def chunk(self, start: int) -> bytes:
        """Return a piece of the parcel."""
        with self.parcel.open("rb") as parcel:
            parcel.seek(start)
            return parcel.read(CHUNK)
