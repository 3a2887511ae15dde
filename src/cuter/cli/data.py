"""The commands `cuter data …`."""

import json
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from cuter.cli.common import console, pairs, say, stop, waiting
from cuter.errors import ConfigError
from cuter.show.narrow import show
from cuter.show.progress_line import counting

if TYPE_CHECKING:
    from cuter.stream.fill_in import FilledIn

app = typer.Typer(no_args_is_help=True, help="Fetch data sets, look at them, and begin one of your own.")


@app.command()
def check(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[DIR]…", help="Folders that hold a data set each; none with --dataset toybox."),
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="What the folders hold, where their layout does not show it: voc, coco, …")
    ] = None,
    dataset_options: Annotated[
        list[str] | None, typer.Option(help="Options of the data set's reader, as NAME=VALUE.")
    ] = None,
    decode: Annotated[bool, typer.Option(help="Read every image, to find the unreadable ones.")] = True,
    print_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
) -> None:
    """Show what data sets hold: images, classes, labels per image, imbalance, unreadable files.

    Ends with code 2 if a file is unreadable.
    """
    with waiting("reading", folders):
        from cuter.show.dataset_tables import inspection_tables
        from cuter.stream.datasets import detect, load_dataset
        from cuter.stream.inspect import SPLITS, inspect

        options = pairs("dataset_options", dataset_options or [])
        if folders:
            found = [load_dataset(dataset or detect(folder), folder, **options) for folder in folders]
        elif dataset:
            found = [load_dataset(dataset, **options)]
        else:
            raise ConfigError("name a folder, or with --dataset a data set that needs none: toybox")
    with counting(console, "reading images") as progress:
        inspections = [inspect(one, split, decode=decode, progress=progress) for one in found for split in SPLITS]
    unreadable = {path: why for inspection in inspections for path, why in (inspection.unreadable or {}).items()}
    if print_json:
        typer.echo(json.dumps([inspection.as_dict() for inspection in inspections]))
    else:
        show(Console(), *inspection_tables(inspections))
        for path, reason in unreadable.items():
            typer.echo(f"unreadable: {path}: {reason}")  # not in a table, which would break paths over lines
    if unreadable:
        raise typer.Exit(2)


@app.command()
def get(
    name: Annotated[str, typer.Argument(metavar="NAME", help="voc (VOC 2007, 0.9 GB) or coco (COCO 2014, 20.4 GB).")],
    root: Annotated[
        Path | None, typer.Option(help="Needed: folder for the data set. It is made if there is none.")
    ] = None,
    keep_archives: Annotated[
        bool, typer.Option("--keep-archives", help="Keep the archives when they are unpacked.")
    ] = False,
) -> None:
    """Fetch a data set from its public home, and unpack it.

    Needs room for archives and for what is unpacked from them: 1.9 GB for voc, 27.5 GB for coco. Whether it is there is
    looked at first. What the folder holds already is not fetched again. Stopped by Ctrl-C, a broken connection or a
    full disk, the same command goes on where it was. Every archive is checked against its known MD5, and deleted when
    it is unpacked.

    NUS-WIDE has no official download of its images; docs/reference/formats.md lists the copies that are read.

    Example:

        cuter data get voc --root data

        cuter run --dataset voc --data-root data --backbone dino-vits16 --tasks 5x4
    """
    from cuter.stream.download.bytes_bar import bytes_bar
    from cuter.stream.download.get import get_dataset
    from cuter.stream.download.homes import home_of

    home = home_of(name)
    if root is None:
        raise ConfigError("name the folder for the data set with --root")
    try:
        with bytes_bar(console) as progress:
            get_dataset(name, root, keep_archives=keep_archives, progress=progress, say=say)
    except KeyboardInterrupt:
        stop("data", "get", name, "--root", root, *(["--keep-archives"] if keep_archives else []))
    folder = shlex.quote(str(root))
    say(f"What it holds:  cuter data check {folder} --dataset {name}")
    say(f"A run:  cuter run --dataset {name} --data-root {folder} --backbone dino-vits16 --tasks {home.tasks}")


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder with images, also in sub-folders.")],
    from_folders: Annotated[
        bool, typer.Option("--from-folders", help="Label images by the folders they are in: cat/1.jpg shows a cat.")
    ] = False,
    add: Annotated[
        bool, typer.Option("--add", help="Add the images that the file does not list yet; keep what is filled in.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="File to write, never overwritten.", show_default="labels.csv in DIR")
    ] = None,
    print_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Write a labels.csv to fill in: a row for each image of a folder.

    Labels are '?' until they are filled in. Such an image is left out by every command, because nobody has looked at it
    yet; an image that shows none of the classes gets an empty cell. Ends with code 2 if an image was left out, for
    example because it is unreadable.

    Example:

        cuter data init photos

        cuter data check photos
    """
    from cuter.stream.fill_in import write_rows_to_fill_in
    from cuter.stream.images import path_text

    with counting(console, "reading images") as progress:
        done = write_rows_to_fill_in(folder, out, from_folders=from_folders, add=add, progress=progress)
    if print_json:
        typer.echo(json.dumps(asdict(done) | {"file": path_text(done.file)}))
    else:
        for path, reason in done.left_out.items():
            typer.echo(f"left out: {path}: {reason}")
    say(_summary(done))
    if done.added:
        _say_what_next(done, folder)
    if done.left_out:
        raise typer.Exit(2)


def _summary(done: "FilledIn") -> str:
    counts = [f"{done.added:,} {'images' if done.added != 1 else 'image'} added"]
    counts += [f"{done.labelled:,} of them labelled by their folders"] if done.labelled else []
    counts += [f"{done.listed:,} listed before"] if done.listed else []
    counts += [f"{len(done.left_out):,} left out"] if done.left_out else []
    return f"{done.file}: {', '.join(counts)}"


def _say_what_next(done: "FilledIn", folder: Path) -> None:
    if done.labelled < done.added:
        say("Next: open it in a spreadsheet or an editor, and replace each ? by what the image shows, as in cup;lamp;")
        say("an empty cell says that it shows none of the classes. Images with ? are left out until then.")
    if done.file.resolve() != (folder / "labels.csv").resolve():
        say(f"Commands read labels.csv in {folder}: put it there under this name.")
    say(f"What it holds:  cuter data check {shlex.quote(str(folder))}")
