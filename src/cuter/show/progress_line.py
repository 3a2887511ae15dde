"""A line that shows how far something is: live on a terminal, printed now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

# Without a terminal there is no live bar: a line now and then shows in a log file how far the work is.
QUIET_SECONDS = 30.0


class ProgressLine:
    """A bar with a description before it and some facts behind it; more bars can be added below.

    Args:
        console: Where it is shown.
        width: Letters of the bar, by default what the rest of the line leaves.
    """

    def __init__(self, console: Console, width: int | None = None):
        self.console = console
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=width),
            TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("{task.fields[facts]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self.row = self.bar.add_task("loading", total=None, facts="")
        self.printed = time.monotonic()

    def say(self, text: str) -> None:
        """Print a line as it is."""
        self.console.print(text, markup=False, highlight=False, soft_wrap=not self.console.is_terminal)

    def set_total(self, total: int, done: int) -> None:
        """Set how much there is to do, and how much of it is done already."""
        self.bar.update(self.row, total=total, completed=done)

    def advance(self, amount: int, description: str, facts: str) -> None:
        """Note what is done, and show it if it is time to."""
        self.bar.update(self.row, description=description, advance=amount, facts=facts)
        if not self.console.is_terminal and time.monotonic() - self.printed > QUIET_SECONDS:
            self.printed = time.monotonic()
            self.say(f"{description}: {facts}")

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()


class Speed:
    """Images per second since the first call, and the time left at that speed."""

    def __init__(self) -> None:
        self.start: tuple[int, float] | None = None

    def __call__(self, done: int, total: int) -> str:
        """Return how far it is, how fast, and for how long it goes on."""
        self.start = self.start or (done, time.monotonic())
        count, seconds = done - self.start[0], time.monotonic() - self.start[1]
        text = f"{done:,} of {total:,} images"
        if not count or not seconds:
            return text
        return (
            f"{text}  {count / seconds:.1f} images/s  {timedelta(seconds=round((total - done) * seconds / count))} left"
        )


@contextmanager
def counting(console: Console, description: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that is called with how many things are done and how many there are; nothing stays behind."""
    with Progress(console=console, disable=not console.is_terminal, transient=True) as bar:
        row = bar.add_task(description, total=None)
        yield lambda done, total: bar.update(row, completed=done, total=total)
