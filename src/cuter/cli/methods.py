"""The command `cuter methods`."""

import json
from typing import Annotated

import typer
from rich.console import Console

from cuter.cli.common import Imports, console


def methods(
    imports: Imports = None,
    *,
    print_json: Annotated[bool, typer.Option("--json", help="Print them as JSON, with a sentence on each.")] = False,
) -> None:
    """List all methods with the parts that each of them chooses.

    Every part is also an option of 'cuter run' and mixes with any method, as in --method krt --memory prs; what makes
    no sense together is refused with the reason.
    """
    with console.status("loading"):
        from cuter.settings import import_modules
        from cuter.show.methods import describe_methods, methods_table

        import_modules(imports or [])
        found = describe_methods()
    if print_json:
        typer.echo(json.dumps(found))
    else:
        out = Console()
        out.print(methods_table(found, out.width))
