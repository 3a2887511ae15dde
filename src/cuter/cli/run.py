"""The command `cuter run`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from cuter.cli.common import console, interruptible, refuse_with_resume, say, unused
from cuter.cli.settings_options import typed_settings


def run(
    ctx: typer.Context,
    *,
    config: Annotated[
        Path | None, typer.Option(help="YAML file with any of the settings; options that are typed win over it.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run.", show_default="runs/DATASET-METHOD-seedN")
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Continue the run in this folder where it stopped.")] = None,
    print_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON on the last line.")] = False,
) -> None:
    """Let a learner meet a stream, and test it after each task.

    Ctrl-C stops the run after the step under way; --resume goes on from there and comes to the same result. With it
    --data-root (where the data are now), --workers, --device and --max-unreadable may change.

    Example:

        cuter run --dataset voc --data-root VOCdevkit --backbone dino-vits16 --tasks 5x4 --out runs/voc
    """
    typed = typed_settings(ctx)
    with console.status("loading"):
        from cuter.runs import run as runs
        from cuter.runs.config import load_config
        from cuter.show.run_display import RunDisplay
    refuse_with_resume(resume, typed, config, out, runs.CHANGEABLE)
    if resume is not None:
        folder = resume
        summary = interruptible("run", folder, lambda: runs.resume(folder, RunDisplay(console), typed))
    else:
        settings = load_config(config, typed)
        folder = out or unused(Path(f"runs/{settings.dataset}-{settings.method}-seed{settings.seed}"))
        summary = interruptible("run", folder, lambda: runs.start(settings, folder, RunDisplay(console)))
    say(f"Results are in {folder}")
    if print_json:
        typer.echo(json.dumps(summary))
