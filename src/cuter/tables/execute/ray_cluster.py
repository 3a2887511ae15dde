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
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from cuter.errors import ConfigError, CuterError
from cuter.lock import write_owner
from cuter.runs.config import RunConfig, dump_config
from cuter.settings import Role
from cuter.storage import replacing, sync
from cuter.tables.execute import launching
from cuter.tables.execute.archive import pack, unpack
from cuter.tables.execute.execute import Lost
from cuter.tables.execute.ray_node import RemoteJob, Start, Update, run_task
from cuter.tables.jobs import Job
from cuter.tables.notes import note, note_launch

try:
    import ray
    from ray.exceptions import RayError, RayTaskError, TaskCancelledError
    from ray.util.queue import Queue
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
                cluster.close()
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
    """Executes runs as tasks on the nodes of a cluster."""

    def __init__(self, nodes: Sequence[Node], device: str):
        self.nodes = nodes
        self.gpus = int(device.startswith(("cuda", "auto")) and any(node.gpus for node in nodes))  # for each run
        if device.startswith("cuda") and not self.gpus:
            raise ConfigError(f"device {device!r} is not available: the cluster has no GPU. Accepted: auto, cpu")
        self.token: Path | None = None
        self.queue: Queue | None = None
        self.updates: dict[str, list[Update]] = defaultdict(list)  # by key of a run

    @property
    def cores(self) -> int:
        """How many CPUs there are on all nodes."""
        return sum(node.cpus for node in self.nodes)

    @property
    def room(self) -> int:
        """As many runs as there are CPUs, or GPUs."""
        return max(1, room(self.nodes, 1, self.gpus))

    def start(self, job: Job, lock: TextIO, at_once: int) -> RemoteRun:
        """Let some node carry out a run, as soon as one has room for it.

        Ray does not retry the task: it would begin with the same archive once more, not with the newest checkpoint.
        """
        if self.queue is None:  # on the head: a cluster without it is lost anyway
            self.queue = Queue(actor_options={"num_cpus": 0, "resources": {"node:__internal_head__": 0.001}})
        cpus, key = share(self.nodes, at_once, self.gpus), secrets.token_hex(8)
        remote_job = RemoteJob(
            folder=str(job.folder),
            config=dump_config(job.config),
            program=launching.PROGRAM,
            threads=os.environ.get("OMP_NUM_THREADS", str(cpus)),  # what the user says goes before it
            token=str(self._token(job)),
            needs=_needs(job.config),
            version=importlib.metadata.version("cuter"),
            archive=pack(job.folder) if job.begun else None,
        )
        task = ray.remote(run_task).options(num_cpus=cpus, num_gpus=self.gpus, max_retries=0)
        return RemoteRun(job, lock, task.remote(remote_job, self.queue, key), lambda: self._receive(key))

    def _receive(self, key: str) -> list[Update]:
        """Return what has come of a run since the last call."""
        assert self.queue is not None
        for sender, update in self.queue.get_nowait_batch(self.queue.qsize()):
            self.updates[sender].append(update)
        return self.updates.pop(key, [])

    def _token(self, job: Job) -> Path:
        """Return a file that is there on all machines that see our folder."""
        if self.token is None:
            self.token = job.file("lock").with_name(f".{secrets.token_hex(16)}")
            self.token.touch()
        return self.token

    def close(self) -> None:
        """Remove what only the nodes needed."""
        if self.token is not None:
            self.token.unlink(missing_ok=True)
        if self.queue is not None:
            self.queue.shutdown(force=True)


def _needs(config: RunConfig) -> tuple[str, ...]:
    """Return the files and folders that a run reads."""
    named = config.of_role(Role.PLACE).values()
    return tuple(str(value) for value in named if isinstance(value, str | Path) and Path(value).is_absolute())


class RemoteRun:
    """A run on some node. Its log comes here, and its folder, too, if the node does not see ours."""

    def __init__(self, job: Job, lock: TextIO, task: Any, receive: Callable[[], list[Update]]):
        self.job = job
        self.lock = lock
        self.task = task
        self.receive = receive
        self.host = "its node"
        self.stopping = False

    def ask_to_stop(self) -> None:
        """Interrupt the task, which does as Ctrl-C does, or never begins."""
        self.stopping = True
        ray.cancel(self.task)

    def poll(self) -> int | None:
        """Take in what has come, and return the exit code of a run that has ended."""
        try:
            ended = bool(ray.wait([self.task], timeout=0)[0])
            for update in self.receive():
                self._apply(update)
            if not ended:
                return None
            code: int = ray.get(self.task)
        except TaskCancelledError:  # it had not begun
            code = STOPPED
        except RayTaskError as error:  # what a node finds wrong itself, and would again
            code = REFUSED
            reason = str(error.cause)
            hint = "" if isinstance(error.cause, CuterError) else "a node cannot carry out runs of cuter: "
            note(self.job, f"error: {hint}{reason}")
        except RayError as error:
            reason = textwrap.shorten(str(error).strip().rpartition("\n")[2], 120)
            raise Lost(f"lost by {self.host}: {reason}") from None
        if code in ENDED_BY_OTHERS and not self.stopping and self.job.summary is None:
            raise Lost(f"ended by somebody else, with code {code}")
        return code

    def _apply(self, update: Update) -> None:
        if update.start is not None:
            self._note_start(update.start)
        with self.job.file("log").open("ab") as log:
            log.write(update.log)
        if update.archive is not None:
            self._replace_folder(update.archive)

    def _note_start(self, start: Start) -> None:
        self.host = start.host
        write_owner(self.lock, start.process, start.host)
        note_launch(self.job, start.command, start.version, start.host)

    def _replace_folder(self, archive: bytes) -> None:
        """Put the run as the node has it in its place here, in one instant."""
        for leftover in self.job.folder.parent.glob(f".{self.job.folder.name}.*"):  # of a kill while it was replaced
            shutil.rmtree(leftover)
        with replacing(self.job.folder) as folder:
            unpack(archive, folder)
            for path in folder.rglob("*"):
                sync(path)
