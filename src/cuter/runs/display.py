"""What a run reports while it goes on. This one is silent; `cuter.show.run_display` has one for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from cuter.measure.protocol import Summary, TaskResult
from cuter.stream.tasks import Task


class Display:
    """Takes what a run reports, and shows nothing."""

    def say(self, text: str) -> None:
        """Take a line of text."""

    def begin_run(self, learn: Sequence[int], test: Sequence[int], tasks_done: int, images_done: int) -> None:
        """Take how many images each task has to learn and to test, and how much of it is done already."""

    def begin_task(self, task: Task, of: int) -> None:
        """Take the task that begins."""

    def learned(self, images: int, loss: float, fill: float) -> None:
        """Take a step."""

    def begin_test(self) -> None:
        """Take that a test begins."""

    def tested(self, images: int) -> None:
        """Take a number of tested images."""

    def end_task(self, results: Sequence[TaskResult]) -> None:
        """Take the results of the tasks so far."""

    def finish(self, summary: Summary, skipped: int) -> None:
        """Take the results of the run."""

    def draw(self, folder: Path, *, only_missing: bool = False) -> None:
        """Draw pictures into the folder of the run, all or those that it lacks."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
