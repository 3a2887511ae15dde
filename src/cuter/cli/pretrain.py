"""The command `cuter pretrain`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from cuter.cli.common import console, interruptible, refuse_with_resume, say, unused
from cuter.cli.settings_options import typed_settings


def pretrain(
    ctx: typer.Context,
    *,
    config: Annotated[
        Path | None, typer.Option(help="YAML file with any of the settings; options that are typed win over it.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the backbone and all that is noted.", show_default="runs/pretrain-…")
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Continue in this folder where it stopped.")] = None,
    print_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON on the last line.")] = False,
) -> None:
    """Train a backbone of your own on images without labels, by self-distillation (DINO).

    For images that are unlike photos: satellite tiles, X-rays, microscopy. The folder gets backbone/, which every
    --backbone takes, and metrics.jsonl. Now and then the features are scored, by the Fiedler value of their patch
    graphs (the lower, the better), and by k-NN and CorLoc where a data set has labels and boxes. Ctrl-C stops after the
    step under way; --resume goes on from there and comes to the same weights.

    Example:

        cuter pretrain --images tiles/ --epochs 200 --out runs/tiles

        cuter cut tiles/0001.png --backbone runs/tiles/backbone
    """
    typed = typed_settings(ctx)
    refuse_with_resume(resume, typed, config, out)
    with console.status("loading"):
        from cuter.pretrain import pretraining
        from cuter.pretrain.display import PretrainDisplay
        from cuter.pretrain.settings import PretrainSettings
        from cuter.runs.config import read_fields, validated_fields
    if resume is not None:
        folder = resume
        summary = interruptible("pretrain", folder, lambda: pretraining.resume(folder, PretrainDisplay(console)))
    else:
        settings = validated_fields(PretrainSettings, config, read_fields(config) | typed, typed)
        source = settings.dataset or (settings.images or Path()).resolve().name
        folder = out or unused(Path(f"runs/pretrain-{source}"))
        display = PretrainDisplay(console)
        summary = interruptible("pretrain", folder, lambda: pretraining.start(settings, folder, display))
    say(f"The backbone is in {folder / 'backbone'}")
    if print_json:
        typer.echo(json.dumps(summary))
