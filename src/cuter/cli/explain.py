"""The command `cuter explain`."""

from typing import Annotated

import typer
from rich.console import Console

from cuter.cli.common import Imports, console


def explain(
    part: Annotated[str | None, typer.Argument(help="A part, as memory, or one choice of it, as memory.prs.")] = None,
    imports: Imports = None,
) -> None:
    """Explain the parts of a learner and their settings.

    Example:

        cuter explain memory.prs
    """
    with console.status("loading"):
        from cuter.cli.settings_options import explain as explanation
        from cuter.settings import import_modules

        import_modules(imports or [])
        lines = list(explanation(part))
    out = Console()
    for line in lines:
        out.print(line, highlight=False)
