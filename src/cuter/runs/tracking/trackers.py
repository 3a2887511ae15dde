"""The trackers of a run: TensorBoard, Weights & Biases, MLflow. Each passes on what it is given."""

from __future__ import annotations

import importlib.util
import json
import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from torch.utils.tensorboard import SummaryWriter

from cuter.errors import ConfigError
from cuter.runs.config import RunConfig, dump_config
from cuter.storage import write_json

PACKAGES = {"wandb": "wandb", "mlflow": "mlflow-skinny"}  # what holds a client, by its name
PATIENCE = 60.0  # seconds that the end of a run waits for a client
MLFLOW_LIMIT = 1000  # metrics in a request


@dataclass(frozen=True, slots=True)
class Entry:
    """Scalars of one step."""

    step: int
    scalars: dict[str, float]
    time: float = field(default_factory=time.time)


class Tracker(Protocol):
    """Takes the entries of a run. Whatever it raises, the run goes on without it."""

    def write(self, entry: Entry) -> None:
        """Take an entry."""

    def flush(self) -> None:
        """Bring entries to where they survive a kill, if that takes no time."""

    def close(self, complete: bool) -> None:
        """Take no more; `complete` if the run came to its end, else it was stopped before."""


class Client(Protocol):
    """A run at a service. All calls come from one thread; any of them may take long or raise."""

    id: str

    def write(self, entries: Sequence[Entry]) -> None:
        """Send entries."""

    def close(self, complete: bool) -> None:
        """End the run at the service."""


def require_clients(track: Iterable[str]) -> None:
    """Refuse trackers whose client is not installed."""
    for name in track:
        if name in PACKAGES and not _is_installed(name):
            raise ConfigError(
                f"track {name}: its client is not installed. "
                f"Install it with 'pip install {PACKAGES[name]}', which is also the extra cuter[{name}]"
            )


def _is_installed(name: str) -> bool:
    spec = importlib.util.find_spec(name)
    return spec is not None and spec.origin is not None  # a mere folder of this name, as W&B makes one, has no origin


class TensorBoard:
    """Writes event files; what an interrupted run wrote after its checkpoint is hidden by `purge_step`."""

    def __init__(self, folder: Path, next_step: int, config: RunConfig):
        self.writer = SummaryWriter(str(folder), purge_step=next_step)
        if next_step == 1:
            self.writer.add_text("config", f"```yaml\n{dump_config(config)}```", 0)

    def write(self, entry: Entry) -> None:
        """Write an entry."""
        for name, value in entry.scalars.items():
            self.writer.add_scalar(name, value, entry.step, entry.time)

    def flush(self) -> None:
        """Put everything on disk."""
        self.writer.flush()

    def close(self, complete: bool) -> None:
        """Put everything on disk and close the file."""
        self.writer.close()


class BufferedTracker:
    """Calls a client from a thread of its own, so that a network that hangs does not hold up the run.

    MLflow's own asynchronous logging is not used: at its end a process would wait for a dead server without limit.

    Args:
        connect: Begins a run at the service, or continues the one with the given id.
        file: Where the id is kept, for a run that is resumed.
    """

    def __init__(self, connect: Callable[[str | None], Client], file: Path):
        self.connect = connect
        self.file = file
        self.entries: queue.SimpleQueue[Entry | None] = queue.SimpleQueue()  # None: no more will come
        self.complete = False
        self.failure: Exception | None = None
        self.thread = threading.Thread(target=self._work, name=f"tracker {file.stem}", daemon=True)
        self.thread.start()

    def write(self, entry: Entry) -> None:
        """Queue an entry, or raise what the client raised before."""
        if self.failure is not None:
            raise self.failure
        self.entries.put(entry)

    def flush(self) -> None:
        """Do nothing: the thread sends as soon as it can."""

    def close(self, complete: bool) -> None:
        """Wait until the client has sent everything, but not for ever."""
        self.complete = complete
        self.entries.put(None)
        self.thread.join(PATIENCE)
        if self.failure is not None:
            raise self.failure
        if self.thread.is_alive():
            raise TimeoutError(f"it has not taken everything within {PATIENCE:.0f} seconds")

    def _work(self) -> None:
        try:
            known = json.loads(self.file.read_text(encoding="utf-8"))["id"] if self.file.exists() else None
            client = self.connect(known)
            write_json(self.file, {"id": client.id})
            while entries := self._next():
                client.write(entries)
            client.close(self.complete)
        except Exception as error:
            self.failure = error

    def _next(self) -> list[Entry]:
        """Wait for entries and return all that have come; none at the end."""
        entries = []
        entry = self.entries.get()
        while entry is not None:
            entries.append(entry)
            if self.entries.empty():
                return entries
            entry = self.entries.get()
        if entries:
            self.entries.put(None)  # for the next call
        return entries


class WeightsAndBiases:
    """Logs to a run of W&B, which WANDB_… variables set up.

    W&B drops what comes for a step that is past in its own count, as a test would after a stop in its middle. So our
    steps are a figure of their own, and the axis of all others.
    """

    def __init__(self, name: str, settings: dict[str, Any], known: str | None):
        import wandb

        self.run = wandb.init(
            id=known,
            resume="allow" if known else None,
            name=name,
            config=settings,
            reinit="create_new",
            settings=wandb.Settings(finish_timeout=PATIENCE),
        )
        self.id: str = self.run.id
        self.run.define_metric("step", hidden=True)
        self.run.define_metric("*", step_metric="step")

    def write(self, entries: Sequence[Entry]) -> None:
        """Hand entries over to W&B's own process."""
        for entry in entries:
            self.run.log({"step": entry.step} | entry.scalars)

    def close(self, complete: bool) -> None:
        """Wait until W&B has sent everything."""
        self.run.finish(exit_code=0 if complete else 1)


class MLflow:
    """Logs to a run of MLflow, which MLFLOW_… variables set up."""

    def __init__(self, name: str, settings: dict[str, Any], known: str | None):
        import mlflow

        self.id: str = mlflow.start_run(run_id=known, run_name=name).info.run_id
        if known is None:
            mlflow.log_params(settings, synchronous=True)

    def write(self, entries: Sequence[Entry]) -> None:
        """Send entries in as few requests as MLflow allows."""
        import mlflow

        metrics = [
            mlflow.entities.Metric(name, value, round(entry.time * 1000), entry.step)
            for entry in entries
            for name, value in entry.scalars.items()
        ]
        for start in range(0, len(metrics), MLFLOW_LIMIT):
            mlflow.MlflowClient().log_batch(self.id, metrics[start : start + MLFLOW_LIMIT], synchronous=True)

    def close(self, complete: bool) -> None:
        """End the run."""
        import mlflow

        mlflow.end_run("FINISHED" if complete else "KILLED")
