"""What a run tells its trackers: the same figures under the same names, whichever they are."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType

from cuter.learn.learner import Step
from cuter.measure.protocol import Summary, TaskResult
from cuter.runs.config import RunConfig
from cuter.runs.tracking.courier import Courier
from cuter.runs.tracking.trackers import MLflow, Row, TensorBoard, Tracker, WeightsAndBiases
from cuter.settings import flattened

logger = logging.getLogger("cuter.run")

REFUSED = re.compile(r"[^\w .-]")  # by MLflow, in a name


class Events:
    """Decides names and values. A tracker that fails is told of once and left alone: the run goes on without it."""

    def __init__(self, config: RunConfig, folder: Path, next_step: int):
        self.openers = _openers(config, folder, next_step)
        self.trackers: dict[str, Tracker] = {}

    def learned(self, step: Step, fill: float, number: int) -> None:
        """Note a step."""
        scalars = {"train/loss": step.loss, "train/memory_fill": fill} | _named("selection", step.selection)
        self._write(Row.now((number, 0), scalars))

    def tested(self, result: TaskResult, localisation: dict[str, float], number: int) -> None:
        """Note the figures after a task."""
        scalars = _named("test", result.scores.figures) | _named("localisation", localisation) | _named("ap", result.ap)
        if result.region_scores:
            scalars |= _named("test with regions", result.region_scores.figures)
        self._write(Row.now((number, result.task + 1), scalars))

    def finished(self, summary: Summary, number: int) -> None:
        """Note the figures of the whole run."""
        scalars = _named("average", summary.average) | _named("last", summary.last)
        scalars |= _named("forgetting", {"mean": summary.mean_forgetting})
        if regions := summary.with_regions:
            scalars |= _named("average with regions", regions.average) | _named("last with regions", regions.last)
        self._write(Row.now((number, len(summary.tasks) + 1), scalars))

    def flush(self) -> None:
        """Let the trackers have everything, as far as they take it: a checkpoint is about to be written."""
        self._each(lambda tracker: tracker.flush())

    def __enter__(self) -> Events:
        for name, open_tracker in self.openers.items():
            try:
                self.trackers[name] = open_tracker()
            except Exception as error:
                _tell(name, error)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._each(lambda tracker: tracker.close(complete=kind is None))

    def _write(self, row: Row) -> None:
        self._each(lambda tracker: tracker.write(row))

    def _each(self, act: Callable[[Tracker], None]) -> None:
        for name, tracker in list(self.trackers.items()):
            try:
                act(tracker)
            except Exception as error:
                del self.trackers[name]
                _tell(name, error)


def _openers(config: RunConfig, folder: Path, next_step: int) -> dict[str, Callable[[], Tracker]]:
    name, settings = folder.resolve().name, flattened(config.dump())
    known: dict[str, Callable[[], Tracker]] = {
        "tensorboard": partial(TensorBoard, folder / "tensorboard", next_step, config),
        "wandb": partial(Courier, partial(WeightsAndBiases, name, settings), folder / "wandb.json"),
        "mlflow": partial(Courier, partial(MLflow, name, settings), folder / "mlflow.json"),
    }
    return {tracker: known[tracker] for tracker in config.track}


def _named(group: str, figures: Mapping[str, float | None]) -> dict[str, float]:
    """Name the figures that there are, as all trackers accept it."""
    return {f"{group}/{REFUSED.sub('_', name)}": value for name, value in figures.items() if value is not None}


def _tell(name: str, error: Exception) -> None:
    reason = " ".join(str(error).split()) or type(error).__name__
    logger.warning("%s fails and is left alone, the run goes on without it: %s", name, reason)
