"""The command `cuter predict`."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from cuter.cli.common import DEVICE, console, say
from cuter.errors import ConfigError
from cuter.show.narrow import show

if TYPE_CHECKING:
    from cuter.learn.learner import Learner
    from cuter.models.file_tagging import Draw, TagSummary
    from cuter.models.image_paths import ImagePaths
    from cuter.models.tagging import Asked, Tagged

FEW = 50  # images that a table in the terminal has room for
STREAM = "-"


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a model, of a run, or a saved learner.")],
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH…", help="Images, folders of them with sub-folders, patterns, or - for a list on stdin."
        ),
    ],
    *,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="File for the tags: .csv, .jsonl or .parquet; - for JSON lines on stdout.",
            show_default="a table, or JSON lines where stdout is no terminal",
        ),
    ] = None,
    threshold: Annotated[float, typer.Option(min=0, max=1, help="Probability above which an image has a label.")] = 0.5,
    thresholds: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Thresholds by class, from 'cuter tune-thresholds'.")
    ] = None,
    regions: Annotated[
        bool, typer.Option("--regions", help="Look at regions too, and tell where labels were seen.")
    ] = False,
    all_scores: Annotated[
        bool, typer.Option("--all-scores", help="Tell the probabilities of all classes too.")
    ] = False,
    draw: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Draw a picture of each image with its labels into this folder.")
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Images per forward.")] = 64,
    workers: Annotated[int, typer.Option(min=0, help="Processes that decode images ahead.")] = 1,
    device: Annotated[str, typer.Option(help=DEVICE)] = "auto",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a finished FILE.")] = False,
    restart: Annotated[bool, typer.Option("--restart", help="Begin anew in place of going on.")] = False,
    print_json: Annotated[bool, typer.Option("--json", help="Print a summary as JSON on the last line.")] = False,
) -> None:
    """Tag images: which labels they show, with probabilities.

    FILE has a row for each image. Stopped by Ctrl-C or killed, the same command goes on where it was, and FILE is the
    same to the byte as if nothing had happened. An image that cannot be read has a row with the reason; the command
    then ends with code 2.

    Example:

        cuter predict runs/voc photos/ --out tags.csv

        find . -name '*.jpg' | cuter predict runs/voc - --out tags.jsonl --regions
    """
    with console.status("loading"):
        from cuter.learn.learner import Learner
        from cuter.models.image_paths import LISTED, ImagePaths
        from cuter.models.tag_formats import require_format
        from cuter.models.tagging import Asked, tag_batches
        from cuter.models.threshold_file import read_thresholds
        from cuter.show.tag_pictures import TagPictures

        target = None if out in (None, STREAM) else Path(str(out))
        if target is not None:
            require_format(target)
        elif overwrite or restart:
            raise ConfigError("--overwrite and --restart are for a file: name it with --out")
        asked = Asked(threshold, read_thresholds(thresholds) if thresholds else {}, regions, all_scores)
        images = ImagePaths(paths, sys.stdin.buffer.read() if LISTED in paths else None, passed_over=draw)
    with console.status("looking for images"):
        total = sum(1 for _ in images)
    if out is None and sys.stdout.isatty() and total > FEW:
        raise ConfigError(
            f"{total:,} images are too many for a table: name a file with --out tags.csv, or --out - for JSON lines"
        )
    with console.status("loading"):
        learner = Learner.load(model, device)
        only = Path(paths[0]) if len(paths) == 1 and Path(paths[0]).is_dir() else None
        pictures = None if draw is None else TagPictures(draw, only)
    options: dict[str, Any] = {"batch_size": batch_size, "workers": workers}
    if target is not None:
        options |= {"overwrite": overwrite, "restart": restart}
        summary = _into_file(learner, images, target, asked, total, draw=pictures, **options)
    else:
        show_table = out is None and sys.stdout.isatty()
        summary = _onto_stdout(tag_batches(learner, images, asked, **options), total, pictures, show_table)
    for reason in summary.reasons:
        say(f"unreadable: {reason}")
    more = f", {summary.unreadable:,} of them unreadable" if summary.unreadable else ""
    say(f"{summary.images:,} images{more}{f', see {target}' if target else ''}")
    if print_json:
        typer.echo(json.dumps(summary.as_dict() | {"out": out}))
    if summary.unreadable:
        raise typer.Exit(2)


def _into_file(learner: Learner, images: ImagePaths, out: Path, asked: Asked, total: int, **options: Any) -> TagSummary:
    from cuter.models.file_tagging import tag_files
    from cuter.runs.stopping import Interrupted
    from cuter.show.tag_tables import TagProgress

    try:
        with TagProgress(console, total) as progress:
            return tag_files(learner, images, out, asked, progress=progress, **options)
    except Interrupted:
        again = [word for word in sys.argv[1:] if word != "--restart"]
        say(f"Stopped after {progress.done:,} images. Go on with:  cuter {shlex.join(again)}")
        raise typer.Exit(130) from None


def _onto_stdout(batches: Iterator[list[Tagged]], total: int, draw: Draw | None, show_table: bool) -> TagSummary:
    from cuter.models.file_tagging import TagSummary
    from cuter.models.work_file import json_line
    from cuter.runs.stopping import Interrupted, stop_on_signals
    from cuter.show.tag_tables import TagProgress, tag_table

    summary, few, started = TagSummary(), [], time.monotonic()
    rows_are_seen = sys.stdout.isatty() and not show_table  # and tell by themselves how far it is
    try:
        with (
            TagProgress(Console(quiet=True) if rows_are_seen else console, total) as progress,
            stop_on_signals() as stop,
        ):
            progress(0)
            for batch in batches:
                for row in batch:
                    summary.add(row.error)
                    if draw is not None:
                        draw(row)
                    if show_table:
                        few.append(row)
                    else:
                        typer.echo(json_line(row.as_dict()), nl=False)
                progress(summary.images)
                if stop.asked:
                    raise Interrupted
    except Interrupted:
        say(f"Stopped after {summary.images:,} images.")
        raise typer.Exit(130) from None
    summary.tagged, summary.seconds = summary.images, time.monotonic() - started
    if few:
        show(Console(), tag_table(few))
    return summary
