"""The command `cuter report`."""

from pathlib import Path
from typing import Annotated

import typer

from cuter.cli.common import Imports, console, say
from cuter.show.narrow import show
from cuter.show.progress_line import counting


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="Folders of runs, finished or not.")],
    *,
    out: Annotated[Path, typer.Option(help="File of the page; an earlier report is replaced.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="Title.", show_default="methods and data set")] = None,
    imports: Imports = None,
) -> None:
    """Compare runs in one page for a browser: figures, charts, what memory holds, what is cut out.

    The page needs nothing but itself, so it can be sent to others. What a run does not have yet is left out; pictures
    need its checkpoint and, for test images, the data set. Nothing in the folders of the runs changes.

    Example:

        cuter report runs/voc-rs-seed0 runs/voc-cuter-seed0 --out voc.html
    """
    with console.status("loading"):
        from cuter.settings import import_modules
        from cuter.show.report import comparison_table, read_runs, write_report

        import_modules(imports or [])
    with counting(console, "looking into checkpoints") as progress:
        page = write_report(runs, out, title, progress)
    show(console, comparison_table(read_runs(runs)))
    say(f"The page is {page}")
