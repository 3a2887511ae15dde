"""The command `cuter assess`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from cuter.cli.common import BACKBONE, DEVICE, SUITABLE, console, pairs, say, unused, waiting
from cuter.show.narrow import show
from cuter.show.progress_line import counting


def assess(
    *,
    backbone: Annotated[list[str], typer.Option(help=f"{BACKBONE} May be repeated: each is a row.")],
    dataset: Annotated[str, typer.Option(help="Data set: toybox, voc, coco, nuswide, or folder.")],
    data_root: Annotated[
        Path | None,
        typer.Option(help="Folder that holds the data set; toybox alone, which is rendered, needs none."),
    ] = None,
    images: Annotated[int, typer.Option(min=1, help="Images to look at, the same for all backbones.")] = 200,
    features: Annotated[
        list[str] | None,
        typer.Option(help="Patch features: keys, values@6, tokens … May be repeated.", show_default=SUITABLE),
    ] = None,
    max_regions: Annotated[int, typer.Option(min=1, help="Regions to look for in each image.")] = 2,
    sigma: Annotated[float, typer.Option(help="Width of the Gaussian kernel, for features of length 1.")] = 1.0,
    split: Annotated[str, typer.Option(help="train or test.")] = "train",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw of images.")] = 0,
    dataset_options: Annotated[
        list[str] | None, typer.Option(help="Options of the data set's reader, as NAME=VALUE.")
    ] = None,
    device: Annotated[str, typer.Option(help=DEVICE)] = "auto",
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results.", show_default="a new one under assessments/")
    ] = None,
    print_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Rank backbones by the average Fiedler value of their patch graphs: the lower, the easier they are to cut.

    Patch features are scaled to length 1 and the value is divided by the number of patches, because otherwise scale
    and grid would decide; the largest possible value is then 1. Where the data set has boxes, CorLoc and AP50 show how
    well the cut-outs meet them. The folder gets assessment.json, assessment.md, contact sheets and a plot.

    Example:

        cuter assess --backbone dino-vits16 --backbone mae-vitb16 --dataset voc --data-root VOCdevkit
    """
    with waiting("loading", data_root):
        from cuter.show.assess import assess as assess_backbones
        from cuter.show.assess_report import assessment_table
        from cuter.stream.datasets import load_dataset

        options = pairs("dataset_options", dataset_options or [])
        found = load_dataset(dataset, data_root, **options)
    folder = out or unused(Path(f"assessments/{dataset}-{split}"))
    try:
        with counting(console, "assessing") as progress:
            report = assess_backbones(
                backbone,
                found,
                folder,
                images=images,
                features=features or (),
                max_regions=max_regions,
                sigma=sigma,
                split=split,
                seed=seed,
                device=device,
                progress=progress,
                say=say,
            )
    except KeyboardInterrupt:
        say(f"Stopped. What was finished is in {folder}" if folder.exists() else "Stopped before a row was finished")
        raise typer.Exit(130) from None
    show(console, assessment_table(report))
    say(f"Results are in {folder}")
    if print_json:
        typer.echo(json.dumps(report))
