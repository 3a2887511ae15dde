"""The command `cuter show`."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from cuter.cli.common import console, say
from cuter.errors import ConfigError


def show(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a model, of a run, or a saved learner.")],
    *,
    sheet: Annotated[
        Path | None, typer.Option(help="Write a contact sheet of what memory holds to this .png or .jpg file.")
    ] = None,
    print_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
) -> None:
    """Show what is in a model: classes with counts, memory, settings, backbone, how it came to be, size on disk.

    Example:

        cuter show tagger --sheet memory.png
    """
    if sheet is not None and sheet.suffix.lower() not in (".png", ".jpg", ".jpeg"):
        raise ConfigError(f"--sheet {sheet}: the name must end with .png or .jpg")
    with console.status("loading"):
        from cuter.models.description import describe
        from cuter.show.model_tables import description_tables, memory_sheet
        from cuter.show.narrow import show as show_tables

        found = describe(model)
    if print_json:
        typer.echo(json.dumps(found.as_dict()))
    else:
        show_tables(Console(), *description_tables(found))
    if sheet is not None:
        if not len(found.learner.memory):
            raise ConfigError(f"the memory of {model} is empty: there is nothing to show in {sheet}")
        memory_sheet(found.learner, f"What the memory of {model} holds").save(sheet)
        say(f"The contact sheet is {sheet}")
