"""The command `cuter tune-thresholds`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from cuter.cli.common import DEVICE, console, pairs, say, waiting
from cuter.errors import ConfigError
from cuter.show.narrow import show
from cuter.show.progress_line import counting

NAMED = 10  # unreadable files


def tune_thresholds(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a model, of a run, or a saved learner.")],
    *,
    dataset: Annotated[
        str, typer.Option(help="Labelled images: folder, voc, coco, nuswide, labelstudio, huggingface, toybox.")
    ],
    data_root: Annotated[
        Path | None, typer.Option(help="Folder that holds them; toybox alone, which is rendered, needs none.")
    ] = None,
    split: Annotated[str, typer.Option(help="train or test. The model should not have learned these images.")] = "test",
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="JSON file for the thresholds; one that is there is replaced.")
    ] = Path("thresholds.json"),
    precision: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="The lowest threshold with this precision.", show_default="the best F1"),
    ] = None,
    min_positives: Annotated[int, typer.Option(min=1, help="A class with fewer images of it keeps 0.5.")] = 10,
    regions: Annotated[bool, typer.Option("--regions", help="For 'cuter predict --regions'.")] = False,
    dataset_options: Annotated[
        list[str] | None, typer.Option(help="Options of the data set's reader, as NAME=VALUE.")
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Images per forward.")] = 64,
    workers: Annotated[int, typer.Option(min=0, help="Processes that decode images ahead.")] = 1,
    device: Annotated[str, typer.Option(help=DEVICE)] = "auto",
    print_json: Annotated[bool, typer.Option("--json", help="Print thresholds and figures as JSON.")] = False,
) -> None:
    """Choose for each class the probability from which an image has the label, on labelled images.

    That is where F1 is best, or with --precision the lowest threshold that is precise enough. Labels that nobody looked
    for take part in nothing. Ends with code 2 if an image is unreadable.

    Example:

        cuter tune-thresholds runs/photos --dataset folder --data-root photos --out thresholds.json

        cuter predict runs/photos new/ --thresholds thresholds.json --out tags.csv
    """
    if split not in ("train", "test"):
        raise ConfigError(f"--split is train or test, not {split!r}")
    with waiting("loading", data_root):
        from cuter.errors import CuterError
        from cuter.learn.learner import Learner
        from cuter.models.thresholds import tune
        from cuter.show.tag_tables import threshold_table
        from cuter.storage import write_json
        from cuter.stream.datasets import load_dataset

        found = load_dataset(dataset, data_root, **pairs("dataset_options", dataset_options or []))
        learner = Learner.load(model, device)
    with counting(console, "tuning") as progress:
        tuned = tune(
            learner,
            getattr(found, split),
            found.classes,
            precision=precision,
            min_positives=min_positives,
            regions=regions,
            batch_size=batch_size,
            workers=workers,
            progress=progress,
        )
    try:
        write_json(out, tuned.thresholds)
    except OSError as error:
        raise CuterError(f"{out} cannot be written: {error.strerror or error}") from error
    show(console, threshold_table(tuned.classes))
    for one in tuned.classes:
        if one.note:
            say(f"{one.name} {one.note}")
    if tuned.unknown:
        say(f"passed over, because the model does not know them: {', '.join(tuned.unknown)}")
    for reason in tuned.unreadable[:NAMED]:
        say(f"unreadable: {reason}")
    unreadable = f", {len(tuned.unreadable):,} were unreadable" if tuned.unreadable else ""
    say(f"Tuned on {tuned.images:,} images{unreadable}; thresholds are in {out}")
    if print_json:
        typer.echo(json.dumps(tuned.as_dict() | {"out": str(out)}))
    if tuned.unreadable:
        raise typer.Exit(2)
