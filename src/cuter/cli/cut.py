"""The command `cuter cut`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from cuter.cli.common import BACKBONE, DEVICE, SUITABLE, console, given, say, unused
from cuter.show.progress_line import counting


def cut(
    images: Annotated[list[Path], typer.Argument(metavar="IMAGE…", help="Image files, or folders of them.")],
    *,
    backbone: Annotated[str, typer.Option(help=BACKBONE)],
    out: Annotated[
        Path | None, typer.Option(help="Folder for what is found.", show_default="a new one under cuts/")
    ] = None,
    max_regions: Annotated[int, typer.Option(min=1, help="Regions to look for in each image.")] = 2,
    features: Annotated[
        str | None, typer.Option(help="Patch features: keys, values@6, tokens …", show_default=SUITABLE)
    ] = None,
    tau: Annotated[
        float | None,
        typer.Option(min=-1, max=1, help="Cosine above which two patches are alike.", show_default=SUITABLE),
    ] = None,
    centre: Annotated[
        bool | None, typer.Option(help="Subtract the image's mean feature first.", show_default=SUITABLE)
    ] = None,
    self_loop_weight: Annotated[
        float | None,
        typer.Option(min=0, help="From 0, the plain normalised cut, towards the ratio cut.", show_default=SUITABLE),
    ] = None,
    device: Annotated[str, typer.Option(help=DEVICE)] = "auto",
    print_json: Annotated[bool, typer.Option("--json", help="Print what regions.json holds.")] = False,
) -> None:
    """Show what is cut out of images: regions, the eigenvectors behind them, crops.

    For each image NAME the folder gets NAME.png with everything at a glance, and the crops NAME-1.png, NAME-2.png;
    for all of them a contact sheet, and regions.json with boxes in pixels. Ends with code 2 if an image is unreadable.

    Example:

        cuter cut photos/ --backbone dino-vits16 --out cuts/photos
    """
    with console.status("loading"):
        from cuter.cut import Localiser
        from cuter.learn.devices import choose_device
        from cuter.show.cutting import cut_photos, cut_summary, find_images, short_name

        paths, place = find_images(images), choose_device(device)
        localiser = Localiser.load(
            backbone, features, **given({"tau": tau, "centre": centre, "self_loop_weight": self_loop_weight})
        )
        localiser.to(place)
    say(cut_summary(localiser))
    folder = out or unused(Path("cuts") / Path(short_name(backbone)).name)
    with counting(console, "cutting") as progress:
        report = cut_photos(paths, folder, localiser, max_regions, progress)
    for reason in report["unreadable"].values():
        say(f"skipped: {reason}")
    say(f"{len(report['images'])} of {len(paths)} images are cut, see {folder}")
    if print_json:
        typer.echo(json.dumps(report))
    if report["unreadable"]:
        raise typer.Exit(2)
