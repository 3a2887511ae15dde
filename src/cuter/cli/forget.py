"""The command `cuter forget`."""

import json
import shlex
from pathlib import Path
from typing import Annotated

import typer

from cuter.cli.common import console, say
from cuter.errors import ConfigError
from cuter.show.progress_line import counting

NAMED = 10  # ids of which nothing was found


def forget(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a model, of a run, or a saved learner.")],
    *,
    ids: Annotated[
        list[str] | None, typer.Option("--id", metavar="ID", help="Id of an image, its path in the data; repeatable.")
    ] = None,
    list_file: Annotated[Path | None, typer.Option("--list", help="File with an id in each line.")] = None,
    retrain: Annotated[
        bool, typer.Option("--retrain", help="Then make a new version from the pre-trained backbone and memory alone.")
    ] = False,
    backbone: Annotated[
        str | None, typer.Option(help="For --retrain: the pre-trained backbone.", show_default="where it came from")
    ] = None,
    print_json: Annotated[bool, typer.Option("--json", help="Print what was removed as JSON.")] = False,
) -> None:
    """Delete all that a model holds of some images, in every version and checkpoint that is kept.

    Of a folder of your own the id of an image is its path as in labels.csv. What weights have learned of an image
    cannot be taken out of them: --retrain makes a version that has never seen it, from the memory that is left.
    Killed on the way, the same command goes on.

    Example:

        cuter forget tagger --id holiday/17.jpg

        cuter forget tagger --list requests.txt --retrain
    """
    wanted = [*(ids or []), *(_lines(list_file) if list_file else [])]
    if backbone and not retrain:
        raise ConfigError("--backbone is for --retrain")
    with console.status("loading"):
        from cuter.models.forgetting import forget as forget_images
        from cuter.models.forgetting import retrain as retrain_model
        from cuter.models.versions import ModelFolder

        if retrain:
            ModelFolder.open(model)
    with counting(console, "forgetting") as progress:
        found = forget_images(model, wanted, progress)
    for place, counts in found.places.items():
        say(f"{place}: {counts.total()} items removed, of {len(counts)} of the images")
    for copy in found.deleted:
        say(f"deleted a damaged copy: {copy}")
    if found.not_found:
        some = ", ".join(found.not_found[:NAMED]) + (" …" if len(found.not_found) > NAMED else "")
        say(f"nothing is held of {len(found.not_found)} of them: {some}")
    say(f"{found.items} items were removed; {found.looked_at} saved states were looked at")
    result = found.as_dict()
    if retrain:
        with counting(console, "retraining") as progress:
            version = retrain_model(model, backbone, watch=progress)
        say(f"Version {version.number} has learned from what memory holds now, and from nothing else.")
        say("Versions before it have weights that saw the images: delete them with:")
        say(f"  cuter models {shlex.quote(str(model))} --keep 1")
        result["version"] = version.number
    else:
        say("Weights keep what they learned of these images, if the model was taught them; exported models do, too.")
        say(f"A version that never saw them:  cuter forget {shlex.quote(str(model))} … --retrain")
    say("Copies elsewhere (the data set itself, reports, contact sheets, exported files, backups) are not touched.")
    if print_json:
        typer.echo(json.dumps(result))


def _lines(file: Path) -> list[str]:
    try:
        return [line for line in file.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--list {file} cannot be read: {error}") from None
