"""All trackers of a run as one: they get the same figures under the same names."""

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
from cuter.runs.tracking.trackers import BufferedTracker, Entry, MLflow, TensorBoard, Tracker, WeightsAndBiases
from cuter.settings import flattened

logger = logging.getLogger("cuter.run")

REFUSED = re.compile(r"[^\w .-]")  # by MLflow, in a name


class TrackerGroup:
    """Decides names and values. A tracker that fails is warned of once and left out: the run goes on without it."""

    def __init__(self, config: RunConfig, folder: Path, next_step: int):
        self.openers = _openers(config, folder, next_step)
        self.trackers: dict[str, Tracker] = {}

    def learned(self, step: Step, fill: float, number: int) -> None:
        """Note a step."""
        scalars = {"train/loss": step.loss, "train/memory_fill": fill} | _named("selection", step.selection)
        self._write(Entry(number, scalars))

    def tested(self, result: TaskResult, localisation: dict[str, float], number: int) -> None:
        """Note the figures after a task."""
        scalars = _named("test", result.scores.figures) | _named("localisation", localisation) | _named("ap", result.ap)
        if result.region_scores:
            scalars |= _named("test with regions", result.region_scores.figures)
        self._write(Entry(number, scalars))

    def finished(self, summary: Summary, number: int) -> None:
        """Note the figures of the whole run."""
        scalars = _named("average", summary.average) | _named("last", summary.last)
        scalars |= _named("forgetting", {"mean": summary.mean_forgetting})
        if regions := summary.with_regions:
            scalars |= _named("average with regions", regions.average) | _named("last with regions", regions.last)
        self._write(Entry(number, scalars))

    def flush(self) -> None:
        """Put on disk what goes to disk: a checkpoint is about to be written."""
        self._each(lambda tracker: tracker.flush())

    def __enter__(self) -> TrackerGroup:
        for name, open_tracker in self.openers.items():
            try:
                self.trackers[name] = open_tracker()
            except Exception as error:
                _warn(name, error)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._each(lambda tracker: tracker.close(complete=kind is None))

    def _write(self, entry: Entry) -> None:
        self._each(lambda tracker: tracker.write(entry))

    def _each(self, act: Callable[[Tracker], None]) -> None:
        for name, tracker in list(self.trackers.items()):
            try:
                act(tracker)
            except Exception as error:
                del self.trackers[name]
                _warn(name, error)


def _openers(config: RunConfig, folder: Path, next_step: int) -> dict[str, Callable[[], Tracker]]:
    name, settings = folder.resolve().name, flattened(config.dump())
    known: dict[str, Callable[[], Tracker]] = {
        "tensorboard": partial(TensorBoard, folder / "tensorboard", next_step, config),
        "wandb": partial(BufferedTracker, partial(WeightsAndBiases, name, settings), folder / "wandb.json"),
        "mlflow": partial(BufferedTracker, partial(MLflow, name, settings), folder / "mlflow.json"),
    }
    return {tracker: known[tracker] for tracker in config.track}


def _named(group: str, figures: Mapping[str, float | None]) -> dict[str, float]:
    """Name the figures that there are, as all trackers accept it."""
    return {f"{group}/{REFUSED.sub('_', name)}": value for name, value in figures.items() if value is not None}


def _warn(name: str, error: Exception) -> None:
    reason = " ".join(str(error).split()) or type(error).__name__
    logger.warning("%s fails and is left out, the run goes on without it: %s", name, reason)
