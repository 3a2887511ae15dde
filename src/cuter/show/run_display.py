"""What a person sees of a run: task, images/s, loss, memory, time left, and a table after each task."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from rich.console import Console

from cuter.measure.protocol import Summary, TaskResult
from cuter.measure.throughput import Meter
from cuter.runs.display import Display
from cuter.runs.record import read_record
from cuter.show.narrow import show
from cuter.show.progress_line import ProgressLine
from cuter.show.run_pictures import draw_run
from cuter.show.run_tables import class_table, summary_markdown, task_table
from cuter.storage import write_text
from cuter.stream.tasks import Task


class RunDisplay(ProgressLine, Display):
    """Shows the progress of runs on a console, one after the other; a brief one prints a line per task, no tables."""

    def __init__(self, console: Console, brief: bool = False):
        super().__init__(console)
        self.brief = brief
        self.name = ""
        self.facts = ""
        self.to_learn = self.to_test = 0
        self.learning = self.testing = Meter()
        self.rates: dict[str, float | None] = {"learning": None, "testing": None}

    def begin_run(self, learn: Sequence[int], test: Sequence[int], tasks_done: int, images_done: int) -> None:
        """Set how many images each task has to learn and to test, and how much of it is done already."""
        self.to_learn = max(sum(learn[tasks_done:]) - images_done, 0)
        self.to_test = sum(test[tasks_done:])
        self.rates = {"learning": None, "testing": None}  # not those of another run
        total = sum(learn) + sum(test)
        self.set_total(total, done=total - self.to_learn - self.to_test)

    def begin_task(self, task: Task, of: int) -> None:
        """Name the task that begins."""
        self.name = f"{task.name}/{of}"
        self.say(f"{self.name}: {', '.join(task.classes)}")
        self.learning = Meter()

    def learned(self, images: int, loss: float, fill: float) -> None:
        """Note a step."""
        self.learning.add(images)
        self.to_learn -= images
        self.facts = f"loss {loss:.4f}  memory {fill:.0%}"
        self._show("learning", self.learning, images)

    def begin_test(self) -> None:
        """Start to measure how fast testing is."""
        self.testing = Meter()

    def tested(self, images: int) -> None:
        """Note tested images."""
        self.testing.add(images)
        self.to_test -= images
        self._show("testing", self.testing, images)

    def end_task(self, results: Sequence[TaskResult]) -> None:
        """Show how the tasks so far went."""
        if self.brief:
            figure, classes = results[-1].scores["map"], len(results[-1].classes)
            self.say(f"after {self.name}: mAP {'–' if figure is None else f'{figure:.1f}'} over {classes} classes")
        else:
            show(self.console, task_table(results))

    def finish(self, summary: Summary, skipped: int) -> None:
        """Print what a person wants to know at the end."""
        if not self.brief:
            show(self.console, class_table(summary))
        if skipped:
            self.console.print(f"[yellow]{skipped} unreadable images were skipped; summary.json names them")

    def draw(self, folder: Path, *, only_missing: bool = False) -> None:
        """Draw pictures into the folder of the run, and write its results as Markdown."""
        if (summary := read_record(folder).summary) is not None:
            write_text(folder / "summary.md", summary_markdown(summary))
        draw_run(folder, only_missing=only_missing)

    def _show(self, what: str, meter: Meter, images: int) -> None:
        self.rates[what] = meter.recent or self.rates[what]
        facts = f"{self.rates[what] or 0:.1f} images/s  {self.facts}  {self._time_left()} left"
        self.advance(images, f"{self.name} {what}", facts)

    def _time_left(self) -> str:
        learning = self.rates["learning"]
        # Before the first test, guess: a forward pass alone takes about a third of a step.
        testing = self.rates["testing"] or (3 * learning if learning else None)
        learning = learning or (testing / 3 if testing else None)
        if not learning or not testing:
            return "?"
        return str(timedelta(seconds=round(self.to_learn / learning + self.to_test / testing)))
