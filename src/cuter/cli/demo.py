"""The command `cuter demo`."""

from pathlib import Path
from typing import Annotated

import typer

from cuter.cli.common import DEVICE, console, say, stop, unused


def demo(
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for runs and report.", show_default="a new or unfinished one under runs/"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything that is drawn at random.")] = 0,
    device: Annotated[str, typer.Option(help=DEVICE)] = "auto",
) -> None:
    """Compare fine-tuning, replay of whole images and CUTER on rendered scenes, in about five minutes.

    Five tasks bring five classes each. The folder gets the three runs and report.html for a browser. Stopped by Ctrl-C,
    it goes on with the same --out: what is finished is not repeated.
    """
    with console.status("loading"):
        from cuter.runs.stopping import Interrupted
        from cuter.show.demo import REPORT, can_go_on, run_demo
        from cuter.show.run_display import RunDisplay
    folder = out or unused(Path("runs/demo"), lambda folder: can_go_on(folder, seed, device))
    if out is None and folder.exists():
        say(f"{folder} is not finished yet: it goes on. A new one begins with --out")
    try:
        run_demo(folder, RunDisplay(console, brief=True), seed, device)
    except (Interrupted, KeyboardInterrupt):  # the latter before, between and after the runs
        stop("demo", "--out", folder, "--seed", seed, "--device", device)
    say(f"Runs and report are in {folder}")
    say(f"What was learned, forgotten, kept and cut out, in a browser:  {(folder / REPORT).resolve().as_uri()}")
    say("Next: your own images. See 'cuter run --help'.")
