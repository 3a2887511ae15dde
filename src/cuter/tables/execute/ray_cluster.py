"""Runs on the nodes of a Ray cluster; their folders come together in one place. Imported only when it is asked for."""

from __future__ import annotations

import importlib.metadata
import logging
import os
import secrets
import shutil
import signal
import socket
import sys
import textwrap
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from cuter.errors import ConfigError, CuterError
from cuter.lock import write_owner
from cuter.runs.config import RunConfig, dump_config
from cuter.storage import replacing, sync
from cuter.tables.execute import launching
from cuter.tables.execute.archive import newest_checkpoint, pack, unpack
from cuter.tables.execute.execute import Lost
from cuter.tables.execute.ray_node import CHUNK, Errand, Host, Look, Runner
from cuter.tables.jobs import Job
from cuter.tables.notes import note, note_launch

try:
    import ray
    from ray.exceptions import RayActorError, RayError, RayTaskError
except ImportError as error:
    raise ConfigError(f"--ray needs Ray ({error}):  pip install 'cuter[ray]'") from None

PATIENCE = 5  # seconds for a first sign of life from an address; Ray itself would try for minutes
STOPPED, REFUSED = 130, 2  # codes as 'cuter run' has them
# Codes of a run that somebody else has ended: killed, or asked to stop by a node that shuts down. One that ended well
# and has no result is on a disk that tells us late: started again, it finds itself finished.
ENDED_BY_OTHERS = (0, STOPPED, -signal.SIGKILL, -signal.SIGTERM)


@contextmanager
def ray_cluster(address: str, device: str) -> Iterator[RayCluster]:
    """Connect to the cluster at an address."""
    _require_somebody(address)
    with redirect_stdout(sys.stderr):  # Ray tells of lost workers on stdout, which is for results
        try:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except Exception as error:  # Ray has no class of its own for it
            raise CuterError(f"no Ray cluster can be used at {address!r}: {error}") from None
        try:
            found = [node["Resources"] for node in ray.nodes() if node["Alive"]]
            cluster = RayCluster([Node(int(one.get("CPU", 0)), int(one.get("GPU", 0))) for one in found], device)
            try:
                yield cluster
            finally:
                cluster.forget()
        finally:
            ray.shutdown()


def _require_somebody(address: str) -> None:
    """Refuse an address where nobody listens."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:  # 'auto'
        return
    try:
        socket.create_connection((host, int(port)), PATIENCE).close()
    except (OSError, ValueError) as error:
        raise CuterError(f"no Ray cluster answers at {address!r} ({error}): 'ray status' on its head tells") from None


@dataclass(frozen=True)
class Node:
    """What a machine of the cluster has."""

    cpus: int
    gpus: int


def room(nodes: Sequence[Node], cpus: int, gpus: int) -> int:
    """Return how many runs that want this much each find room at a time."""
    return sum(min(node.cpus // cpus, node.gpus // gpus if gpus else node.cpus) for node in nodes)


def share(nodes: Sequence[Node], at_once: int, gpus: int) -> int:
    """Return how many CPUs each of so many runs can have; 1 if some of them have to wait."""
    most = max((node.cpus for node in nodes), default=1)
    return next((cpus for cpus in range(most, 1, -1) if room(nodes, cpus, gpus) >= at_once), 1)


class RayCluster:
    """A cluster as a place where runs are carried out."""

    def __init__(self, nodes: Sequence[Node], device: str):
        self.nodes = nodes
        self.gpus = int(device.startswith(("cuda", "auto")) and any(node.gpus for node in nodes))  # for each run
        if device.startswith("cuda") and not self.gpus:
            raise ConfigError(f"device {device!r} is not available: the cluster has no GPU. Accepted: auto, cpu")
        self.token: Path | None = None

    @property
    def cores(self) -> int:
        """How many CPUs there are on all nodes."""
        return sum(node.cpus for node in self.nodes)

    @property
    def room(self) -> int:
        """As many runs as there are CPUs, or GPUs."""
        return max(1, room(self.nodes, 1, self.gpus))

    def start(self, job: Job, lock: TextIO, at_once: int) -> RemoteRun:
        """Let some node carry out a run, as soon as one has room for it."""
        cpus = share(self.nodes, at_once, self.gpus)
        errand = Errand(
            folder=str(job.folder),
            config=dump_config(job.config),
            program=launching.PROGRAM,
            threads=os.environ.get("OMP_NUM_THREADS", str(cpus)),  # what the user says goes before it
            token=str(self._token(job)),
            lock=str(job.file("node.lock")),
            needs=_needs(job.config),
            version=importlib.metadata.version("cuter"),
        )
        runner = ray.remote(Runner).options(num_cpus=cpus, num_gpus=self.gpus).remote()
        return RemoteRun(job, lock, runner, errand)

    def _token(self, job: Job) -> Path:
        """Return a file that is there on all machines that see our folder."""
        if self.token is None:
            self.token = job.file("lock").with_name(f".{secrets.token_hex(16)}")
            self.token.touch()
        return self.token

    def forget(self) -> None:
        """Take away what only the nodes needed."""
        if self.token is not None:
            self.token.unlink(missing_ok=True)


def _needs(config: RunConfig) -> tuple[str, ...]:
    """Return the files and folders that a run reads."""
    named = (config.data_root, config.backbone, config.localiser, config.word_vectors, config.class_order)
    return tuple(str(value) for value in named if isinstance(value, str | Path) and Path(value).is_absolute())


class RemoteRun:
    """A run on some node. What it says is brought here, and its folder, too, if the node does not see ours."""

    def __init__(self, job: Job, lock: TextIO, runner: Any, errand: Errand):
        self.job = job
        self.lock = lock
        self.runner = runner
        self.host: Host | None = None
        self.stopping = False
        self.course = self._course(errand)

    def ask_to_stop(self) -> None:
        """Do as Ctrl-C does, as soon as the node answers."""
        self.stopping = True

    def poll(self) -> int | None:
        """Take the next step of what is to be done for a run, without waiting; return its code at the end."""
        try:
            if not (self.stopping and self.host is None):
                next(self.course)
                return None
            code = STOPPED  # no node had room yet
        except StopIteration as end:
            code = end.value
        except RayTaskError as error:  # what a node finds wrong itself, and would again
            code = self._refuse(str(error.cause))
        except RayError as error:
            self._let_go()
            reason = textwrap.shorten(str(error).strip().rpartition("\n")[2], 120)
            if not (isinstance(error, RayActorError) and error.actor_init_failed):
                raise Lost(f"lost by {self.host.name if self.host else 'its node'}: {reason}") from None
            code = self._refuse(
                f"a node can't carry out runs of cuter, which must be installed on all of them: {reason}"
            )
        self._let_go()
        if code in ENDED_BY_OTHERS and not self.stopping and self.job.summary is None:
            raise Lost(f"ended by somebody else, with code {code}")
        return code

    def _course(self, errand: Errand) -> Generator[None, None, int]:
        """Do all that is to be done for a run, with a pause wherever there is something to wait for."""
        host: Host = yield from _answer(self.runner.begin.remote(errand))
        self.host = host
        write_owner(self.lock, host.process, host.name)
        known = newest_checkpoint(self.job.folder)
        if not host.shared and self.job.begun:
            yield from self._send()
        while (command := (yield from _answer(self.runner.start.remote()))) is None:
            if self.stopping:
                return STOPPED
        note_launch(self.job, command, host.version, host.name)
        at, told = known.name if known else None, False
        while True:
            if self.stopping and not told:
                self.runner.stop.remote()
                told = True
            look: Look = yield from _answer(self.runner.look.remote())
            with self.job.file("log").open("ab") as log:
                log.write(look.log)
            if not host.shared and (look.code is not None or look.checkpoint != at):
                at = look.checkpoint if (yield from self._fetch()) else at
            if look.code is not None:
                return look.code

    def _send(self) -> Generator[None]:
        """Give the node what there is of the run already."""
        pack(self.job.folder, self.parcel)
        with self.parcel.open("rb") as parcel:
            while chunk := parcel.read(CHUNK):
                ray.get(self.runner.receive.remote(chunk))
                yield

    def _fetch(self) -> Generator[None, None, bool]:
        """Put the run as the node has it in its place here, in one instant; False if it can't be had just now."""
        length = yield from _answer(self.runner.pack.remote())
        if not length:
            return False
        with self.parcel.open("wb") as parcel:
            while parcel.tell() < length:
                parcel.write(ray.get(self.runner.chunk.remote(parcel.tell())))
                yield
        for leftover in self.job.folder.parent.glob(f".{self.job.folder.name}.*"):  # of a kill while it was replaced
            shutil.rmtree(leftover)
        with replacing(self.job.folder) as folder:
            unpack(self.parcel, folder)
            for path in folder.rglob("*"):
                sync(path)
        return True

    @property
    def parcel(self) -> Path:
        """Where a folder is while it is on its way."""
        return self.job.file("parcel")

    def _refuse(self, reason: str) -> int:
        note(self.job, f"error: {reason}")
        return REFUSED

    def _let_go(self) -> None:
        """Leave nothing behind, on the node (its guard sees to that) or here."""
        ray.kill(self.runner)
        self.parcel.unlink(missing_ok=True)


def _answer(reference: Any) -> Generator[None, None, Any]:
    """Pause until a node has answered, then return what it says."""
    while not ray.wait([reference], timeout=0)[0]:
        yield
    return ray.get(reference)
