"""The command `cuter models`."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from cuter.cli.common import say


def models(
    folder: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a model that 'cuter teach' made.")],
    *,
    rollback: Annotated[
        int | None, typer.Option(metavar="N", help="Make version N the one that is used and taught; others stay.")
    ] = None,
    keep: Annotated[
        int | None, typer.Option(metavar="N", help="Keep N versions, the one in use among them; delete older ones.")
    ] = None,
    print_json: Annotated[bool, typer.Option("--json", help="Print the versions as JSON.")] = False,
) -> None:
    """List the versions of a model, go back to one, or delete old ones.

    Example:

        cuter models tagger

        cuter models tagger --rollback 3

        cuter models tagger --keep 5
    """
    from cuter.models.versions import ModelFolder
    from cuter.show.model_tables import version_dict, versions_table
    from cuter.show.narrow import show

    model = ModelFolder.open(folder)
    if rollback is not None:
        version = model.rollback(rollback)
        say(f"{folder} is version {version.number} again, {version.origin}")
    if keep is not None:
        gone = model.keep(keep)
        numbers = ", ".join(str(version.number) for version in gone)
        say(f"deleted: version{'s' if len(gone) > 1 else ''} {numbers}" if gone else "nothing to delete")
    if print_json:
        current = model.current.number
        typer.echo(json.dumps([version_dict(version, current) for version in model.versions]))
    else:
        show(Console(), versions_table(model))
