"""Who is told of a run: TensorBoard, Weights & Biases, MLflow. Each of them only passes on what it is given."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from torch.utils.tensorboard import SummaryWriter

from cuter.errors import ConfigError
from cuter.runs.config import RunConfig, dump_config

PACKAGES = {"wandb": "wandb", "mlflow": "mlflow-skinny"}  # what holds a client, by its name


@dataclass(frozen=True, slots=True)
class Row:
    """Scalars of one moment. The place, a step and the tests until then, grows from row to row."""

    place: tuple[int, int]
    scalars: dict[str, float]
    time: float

    @classmethod
    def now(cls, place: tuple[int, int], scalars: dict[str, float]) -> Row:
        """Return a row of this moment."""
        return cls(place, scalars, time.time())

    @property
    def step(self) -> int:
        """The step, which all charts have as their axis."""
        return self.place[0]


class Tracker(Protocol):
    """Takes the rows of a run. Whatever it raises, the run leaves it alone from then on."""

    def write(self, row: Row) -> None:
        """Take a row."""

    def flush(self) -> None:
        """Bring all rows to where they survive the end of this process."""

    def close(self, complete: bool) -> None:
        """Take no more; the run came to its end, or was stopped before it."""


class Client(Protocol):
    """A run at a service. All calls come from one thread; any of them may take long or raise."""

    id: str

    def write(self, rows: Sequence[Row]) -> None:
        """Take rows."""

    def close(self, complete: bool) -> None:
        """Take no more; the run came to its end, or was stopped before it."""


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

    def write(self, row: Row) -> None:
        """Write a row."""
        for name, value in row.scalars.items():
            self.writer.add_scalar(name, value, row.step, row.time)

    def flush(self) -> None:
        """Put everything on disk."""
        self.writer.flush()

    def close(self, complete: bool) -> None:
        """Put everything on disk and close the file."""
        self.writer.close()


class WeightsAndBiases:
    """Logs to a run of W&B, which WANDB_… variables set up.

    W&B drops what comes for a step that is past in its own count, as a test would after a stop in its middle. So our
    steps are a figure of their own, and the axis of all others.
    """

    def __init__(self, name: str, settings: dict[str, Any], known: str | None):
        import wandb

        self.run = wandb.init(
            id=known, resume="allow" if known else None, name=name, config=settings, reinit="create_new"
        )
        self.id: str = self.run.id
        self.run.define_metric("step", hidden=True)
        self.run.define_metric("*", step_metric="step")

    def write(self, rows: Sequence[Row]) -> None:
        """Hand rows over to W&B's own process."""
        for row in rows:
            self.run.log({"step": row.step} | row.scalars)

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

    def write(self, rows: Sequence[Row]) -> None:
        """Send rows in one request."""
        import mlflow

        metrics = [
            mlflow.entities.Metric(name, value, round(row.time * 1000), row.step)
            for row in rows
            for name, value in row.scalars.items()
        ]
        mlflow.MlflowClient().log_batch(self.id, metrics, synchronous=True)

    def close(self, complete: bool) -> None:
        """End the run."""
        import mlflow

        mlflow.end_run("FINISHED" if complete else "KILLED")
