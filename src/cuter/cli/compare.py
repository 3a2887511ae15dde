"""The command `cuter compare`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from cuter.cli.common import Imports, console
from cuter.show.narrow import show


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN RUN…", help="Folders of runs, finished or not.")],
    *,
    imports: Imports = None,
    print_json: Annotated[bool, typer.Option("--json", help="Print all that is found as JSON.")] = False,
) -> None:
    """Show how runs differ: settings, figures, AP by class, where memory differs.

    Differences are to the first run. Figures of runs that were tested on other classes or images are not subtracted;
    the reason is given. What memory holds is read from the newest checkpoint. Nothing in the folders changes.

    Example:

        cuter compare runs/voc-rs-seed0 runs/voc-cuter-seed0
    """
    with console.status("loading"):
        from cuter.settings import import_modules
        from cuter.show.compare import compare_runs
        from cuter.show.compare_tables import compare_tables

        import_modules(imports or [])
        found = compare_runs(runs)
    show(console, *compare_tables(found))
    if print_json:
        typer.echo(json.dumps(found.as_dict(), default=str))  # str: a configuration of YAML may hold a date
