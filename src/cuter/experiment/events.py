"""TensorBoard events of a run."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from torch.utils.tensorboard import SummaryWriter

from cuter.learn.learner import Step
from cuter.measure.protocol import TaskResult


class Events:
    """Writes curves; what an interrupted run wrote after its checkpoint is hidden by `purge_step`."""

    def __init__(self, folder: Path, next_step: int):
        self.writer = SummaryWriter(str(folder), purge_step=next_step)

    def learned(self, step: Step, fill: float, number: int) -> None:
        """Note a step."""
        self._scalar("train/loss", step.loss, number)
        self._scalar("train/memory_fill", fill, number)
        for outcome, count in step.selection.items():
            self._scalar(f"selection/{outcome}", count, number)

    def tested(self, result: TaskResult, localisation: dict[str, float], number: int) -> None:
        """Note the figures after a task."""
        for figure, value in result.scores.figures.items():
            if value is not None:
                self._scalar(f"test/{figure}", value, number)
        for figure, value in localisation.items():
            self._scalar(f"localisation/{figure}", value, number)
        for name, ap in result.ap.items():
            if ap is not None:
                self._scalar(f"ap/{name}", ap, number)

    def flush(self) -> None:
        """Put everything on disk."""
        self.writer.flush()

    def _scalar(self, tag: str, value: float, number: int) -> None:
        self.writer.add_scalar(tag, value, number)

    def __enter__(self) -> Events:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.writer.close()
