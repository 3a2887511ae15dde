"""What a person sees of gigabytes on their way: how far, how fast, how long still."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.progress import Progress as Bar
from rich.table import Column

from cuter.stream.download.fetch import Progress

SECONDS = 0.1  # between two looks: speed and time left are averages over the last thousand of them


@contextmanager
def bytes_bar(console: Console) -> Iterator[Progress]:
    """Yield a function that shows how far one thing after another is; nothing is shown where nobody looks."""
    # The bar gets what the other columns leave, so that all stays on one line.
    columns = (BarColumn(None, table_column=Column(ratio=1)), DownloadColumn(), TransferSpeedColumn())
    with Bar(
        TextColumn("{task.description}"),
        *columns,
        TimeRemainingColumn(),
        console=console,
        expand=True,
        disable=not console.is_terminal,
        transient=True,
    ) as bar:
        shown, row, looked = "", bar.add_task("", visible=False), 0.0

        def show(what: str, done: int, total: int) -> None:
            nonlocal shown, row, looked
            if what != shown:
                bar.remove_task(row)
                shown, row = what, bar.add_task(what, total=total, completed=done)  # what a part had is no speed
            if time.monotonic() >= looked + SECONDS or done == total:
                looked = time.monotonic()
                bar.update(row, completed=done)

        yield show
