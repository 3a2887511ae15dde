"""The command `cuter teach`."""

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cuter.cli.common import console, say, stop
from cuter.cli.settings_options import typed_settings

if TYPE_CHECKING:
    from cuter.models.teaching import Taught

NAMED = 10  # unreadable files


def teach(
    ctx: typer.Context,
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Folder of the model; a new one begins a new model (--backbone).")
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option(help="Where MODEL is a run or a saved learner: folder of the new model that goes on from it."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be learned.")] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Begin anew where it was stopped, or teach the same images once more.")
    ] = False,
    print_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON on the last line.")] = False,
) -> None:
    """Let a model learn new images, new labels included, in one pass; the result is its new version.

    Images of the test split, about a fifth of a folder, are not learned: with them, and with those of the months
    before, the new version is measured and its probabilities are calibrated. The version before stays ('cuter models
    MODEL --rollback N'). Ctrl-C stops after the step under way; the same command goes on, also after a kill.

    Example:

        cuter data init photos/

        cuter teach tagger --data-root photos/ --backbone dino-vits16 --method cuter

        cuter teach tagger --data-root photos-of-may/

        cuter teach runs/voc --out tagger --data-root photos/
    """
    typed = typed_settings(ctx)
    with console.status("loading"):
        from cuter.learn.saved import MODEL_INDEX
        from cuter.models.teaching import Outline, TeachConfig, import_model, outline
        from cuter.models.teaching import teach as teach_model
        from cuter.models.versions import ModelFolder
        from cuter.runs.stopping import Interrupted
        from cuter.settings import import_modules, validated
        from cuter.show.model_tables import outline_parts
        from cuter.show.narrow import show
        from cuter.show.progress_line import ProgressLine, Speed

        import_modules(typed.get("imports", []))
        config = validated(TeachConfig, typed)
        if out is not None and not (out / MODEL_INDEX).exists():
            import_model(ModelFolder(out), model)
            say(f"{model} is version 1 of {out}")

    folder = out or model

    def announce(about: Outline) -> None:
        show(console, *outline_parts(about, folder))

    if dry_run:
        about = outline(folder, config)
        announce(about)
        if print_json:
            typer.echo(json.dumps(about.as_dict()))
        return
    try:
        with ProgressLine(console) as line:
            speed = Speed()

            def watch(done: int, total: int, loss: float) -> None:
                line.set_total(total, done)
                line.advance(0, "learning", f"{speed(done, total)}  loss {loss:.3f}")

            taught = teach_model(folder, config, restart=restart, announce=announce, watch=watch)
    except (Interrupted, KeyboardInterrupt):  # the latter before the first step, and after the last one
        stop(*sys.argv[1:])
    _report(taught, folder)
    if print_json:
        typer.echo(json.dumps(taught.as_dict()))


def _report(taught: "Taught", folder: Path) -> None:
    version = taught.version
    if taught.images or taught.skipped:
        figure = version.figures.get("map")
        measured = f", mAP {figure:.1f} on {version.held_back:,} images held back" if figure is not None else ""
        say(f"Version {version.number} of {folder}: {version.classes} classes, {version.images:,} images{measured}")
    else:
        say(f"{folder} has learned these images already: version {version.number} (--restart teaches them once more)")
    for reason in list(taught.skipped.values())[:NAMED]:
        say(f"skipped: {reason}")
    say(f"Tag photos with:  cuter predict {shlex.quote(str(folder))} PHOTOS… --out tags.csv")
