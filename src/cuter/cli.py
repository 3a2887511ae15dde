"""The command line. Heavy libraries are imported inside the commands, so that --help answers at once."""

import itertools
import json
import logging
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from cuter.errors import ConfigError, CuterError
from cuter.experiment.config import RunConfig, load_config
from cuter.options import given, with_options_of

app = typer.Typer(
    name="cuter",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="Multi-label online continual learning: images with several labels keep arriving, "
    "the list of labels keeps growing.",
)
data = typer.Typer(no_args_is_help=True, help="Look at data sets.")
app.add_typer(data, name="data")

# Progress, tables and warnings go to stderr: stdout is for what another program may want to read.
console = Console(stderr=True)


def main() -> None:
    """Run the command line; what is the input's fault is told in one line, without a traceback."""
    _log_warnings()
    try:
        app()
    except CuterError as error:
        console.print(f"[bold red]error:[/] {error}", markup=True, highlight=False, soft_wrap=True)
        sys.exit(2)


def _version(asked: bool) -> None:
    if asked:
        from cuter import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Hold options of the program as a whole."""


def _log_warnings() -> None:
    from rich.logging import RichHandler

    handler = RichHandler(console=console, show_time=False, show_path=False, show_level=True)
    logging.getLogger("cuter").addHandler(handler)


@app.command()
@with_options_of(RunConfig)
def run(
    *,
    config: Annotated[
        Path | None, typer.Option(help="YAML file with any of the settings; options that are typed win over it.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run.", show_default="runs/DATASET-METHOD-seedN")
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Continue the run in this folder where it stopped.")] = None,
    print_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON on the last line.")] = False,
    **fields: Any,
) -> None:
    """Let a learner meet a stream, and test it after each task.

    Ctrl-C stops the run after the step under way; --resume goes on from there and comes to the same result.

    Example:

        cuter run --dataset voc --data-root VOCdevkit --backbone dino-vits16 --tasks 5x4 --out runs/voc
    """
    typed = given(fields)
    if resume is not None and (typed or config or out):
        clash = [*typed, *(name for name, value in (("config", config), ("out", out)) if value)]
        raise ConfigError(f"--resume takes the run's own settings: drop --{clash[0].replace('_', '-')}")
    settings = None if resume is not None else load_config(config, typed)

    with console.status("loading"):
        from cuter.experiment import run as runs
        from cuter.experiment.display import Display
    folder = resume or out or _new_folder(settings)
    try:
        if settings is None:
            summary = runs.resume(folder, Display(console))
        else:
            summary = runs.start(settings, folder, Display(console))
    except runs.Interrupted:
        console.print(f"Stopped. Go on with:  cuter run --resume {folder}", highlight=False, soft_wrap=True)
        raise typer.Exit(130) from None
    console.print(f"Results are in {folder}", highlight=False, soft_wrap=True)
    if print_json:
        typer.echo(json.dumps(summary))


def _new_folder(settings: RunConfig | None) -> Path:
    assert settings is not None
    name = f"{settings.dataset}-{settings.method}-seed{settings.seed}"
    tries = (Path("runs") / (name if number == 1 else f"{name}-{number}") for number in itertools.count(1))
    return next(folder for folder in tries if not folder.exists())
