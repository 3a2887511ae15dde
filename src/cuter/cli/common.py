"""What several commands share: where text goes, free folders, stopping."""

import itertools
import shlex
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

from cuter.errors import ConfigError

BACKBONE = "Short name, hub id, local folder or original checkpoint file."
SUITABLE = "what suits the backbone"
DEVICE = "cpu, cuda, mps, or auto."

Imports = Annotated[
    list[str] | None,
    typer.Option("--import", metavar="MODULE", help="Python module that adds parts of your own; may be repeated."),
]

# Progress, tables and warnings go to stderr: stdout is for what another program may want to read.
console = Console(stderr=True)


def say(text: str) -> None:
    """Print a line as it is: no markup, no colours, and no line break inside a path."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def unused(folder: Path, or_fit: Callable[[Path], bool] = lambda folder: False) -> Path:
    """Return this folder, or the same name with the first number, that is free or, though not free, fit for use."""
    names = itertools.chain([folder], (folder.with_name(f"{folder.name}-{number}") for number in itertools.count(2)))
    return next(name for name in names if not name.exists() or or_fit(name))


def waiting(what: str, place: object) -> AbstractContextManager[object]:
    """Show that something goes on; a data set that is in no place is rendered, and shows how far it is by itself."""
    return console.status(what) if place else nullcontext()


def interruptible(command: str, folder: Path, carry_out: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Carry out work in a folder; if it was asked to stop, say how to go on."""
    from cuter.runs.stopping import Interrupted

    try:
        return carry_out()
    except Interrupted:
        stop(command, "--resume", folder)


def stop(*go_on: object) -> NoReturn:
    """Say which command goes on, and exit."""
    say(f"Stopped. Go on with:  cuter {shlex.join(map(str, go_on))}")
    raise typer.Exit(130) from None


def refuse_with_resume(
    resume: Path | None, typed: dict[str, Any], config: Path | None, out: Path | None, changeable: Sequence[str] = ()
) -> None:
    """Refuse options that a run that goes on would have to ignore."""
    clash = [*typed, *(name for name, value in (("config", config), ("out", out)) if value)]
    clash = [option_of(name) for name in clash if name not in changeable]
    if resume is not None and clash:
        accepted = f"; only {', '.join(map(option_of, changeable))} may change" if changeable else ""
        raise ConfigError(f"--resume takes the run's own settings: drop {clash[0]}{accepted}")


def pairs(name: str, values: list[str]) -> dict[str, Any]:
    """Make a dictionary of 'name=value' pairs."""
    for value in values:
        if "=" not in value:
            raise typer.BadParameter(f"{value!r} must be NAME=VALUE", param_hint=option_of(name))
    return dict(value.split("=", 1) for value in values)


def given(fields: dict[str, Any]) -> dict[str, Any]:
    """Keep the options that were typed."""
    return {name: value for name, value in fields.items() if value is not None}


def option_of(field: str) -> str:
    """Return how a setting is spelled on the command line."""
    return "--import" if field == "imports" else f"--{field.replace('_', '-')}"
