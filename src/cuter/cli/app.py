"""The command line. Heavy libraries are imported inside the commands, so that --help answers at once."""

import itertools
import json
import logging
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import Progress
from rich.text import Text

from cuter.cli.options import given, pairs, with_options_of
from cuter.cli.paper import paper
from cuter.cli.sweep import sweep
from cuter.errors import ConfigError, CuterError
from cuter.pretrain.settings import PretrainSettings
from cuter.runs.config import RunConfig, load_config
from cuter.show.narrow import show

MANUAL = """
Multi-label online continual learning: images with several labels keep arriving, the list of labels keeps growing.

A pre-trained vision transformer sees a stream of images once. Task after task brings new classes, and each image is
annotated only for the classes of its task: everything else is unknown, not absent. After each task the learner is
tested over all classes seen so far.

First steps:

    cuter demo                                      three methods compared, in five minutes
    cuter data get voc --root data                  fetch VOC 2007 (or coco)
    cuter data check DIR                            what a data set holds
    cuter run --dataset voc --data-root VOCdevkit
              --backbone dino-vits16 --tasks 5x4    a real run
    cuter run --resume runs/voc-rs-seed0            go on where it stopped
    cuter methods                                   what --method accepts
    cuter report runs/voc-*                         a page that compares runs
    cuter compare runs/voc-rs runs/voc-cuter        what tells runs apart
    cuter cut photo.jpg --backbone dino-vits16      what is cut out of an image
    cuter assess --backbone dino-vits16 --backbone mae-vitb16
              --dataset voc --data-root VOCdevkit   which backbone cuts best
    cuter pretrain --images tiles/                  a backbone of your own, without labels
    cuter paper --list                              the paper's tables, each as one command
    cuter sweep --config runs/voc/config.yaml
              --grid lr=1e-5,1e-4                   a grid of your own

Progress and tables go to stderr; --json puts results on stdout. Exit codes: 0 done, 1 something unreadable was found,
2 a mistake in the input, 130 stopped by Ctrl-C.
"""

app = typer.Typer(
    name="cuter",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help=MANUAL,
)
data = typer.Typer(no_args_is_help=True, help="Fetch data sets, and look at them.")
app.add_typer(data, name="data")
app.command()(paper)
app.command()(sweep)

# Said by several commands.
BACKBONE = "Short name, hub id, local folder or original checkpoint file."
SUITABLE = "what suits the backbone"
DEVICE = "cpu, cuda, mps, or auto."

# Progress, tables and warnings go to stderr: stdout is for what another program may want to read.
console = Console(stderr=True)


def main() -> None:
    """Run the command line; what is the input's fault is told in one line, without a traceback."""
    if sys.getfilesystemencoding() != "utf-8" and os.environ.get("PYTHONUTF8") != "1":
        # Python fixes at its start how paths are spelled: without UTF-8 it would not find 'café.jpg' of a CSV file.
        os.environ["PYTHONUTF8"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    _log_warnings()
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
    except CuterError as error:
        console.print("[bold red]error:[/]", Text(str(error)), highlight=False, soft_wrap=True)
        sys.exit(2)


def _version(asked: bool) -> None:
    if asked:
        from cuter import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Hold options of the program as a whole."""


def _log_warnings() -> None:
    from rich.logging import RichHandler

    handler = RichHandler(logging.WARNING, console, show_time=False, show_path=False)
    logging.getLogger("cuter").addHandler(handler)


@app.command()
@with_options_of(RunConfig)
def run(
    *,
    config: Annotated[
        Path | None, typer.Option(help="YAML file with any of the settings; options that are typed win over it.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run.", show_default="runs/DATASET-METHOD-seedN")
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Continue the run in this folder where it stopped.")] = None,
    print_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON on the last line.")] = False,
    **fields: Any,
) -> None:
    """Let a learner meet a stream, and test it after each task.

    Ctrl-C stops the run after the step under way; --resume goes on from there and comes to the same result. With it
    --data-root (where the data are now), --workers, --device and --max-unreadable may change.

    Example:

        cuter run --dataset voc --data-root VOCdevkit --backbone dino-vits16 --tasks 5x4 --out runs/voc
    """
    typed = given(fields, RunConfig)
    with console.status("loading"):
        from cuter.runs import run as runs
        from cuter.show.run_display import RunDisplay
    _refuse_with_resume(resume, typed, config, out, runs.CHANGEABLE)
    if resume is not None:
        folder = resume
        summary = _interruptible("run", folder, lambda: runs.resume(folder, RunDisplay(console), typed))
    else:
        settings = load_config(config, typed)
        folder = out or _unused(Path(f"runs/{settings.dataset}-{settings.method}-seed{settings.seed}"))
        summary = _interruptible("run", folder, lambda: runs.start(settings, folder, RunDisplay(console)))
    _say(f"Results are in {folder}")
    if print_json:
        typer.echo(json.dumps(summary))


@app.command()
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
    folder = out or _unused(Path("runs/demo"), lambda folder: can_go_on(folder, seed, device))
    if out is None and folder.exists():
        _say(f"{folder} is not finished yet: it goes on. A new one begins with --out")
    try:
        run_demo(folder, RunDisplay(console, brief=True), seed, device)
    except (Interrupted, KeyboardInterrupt):  # the latter before, between and after the runs
        _stop("demo", "--out", folder, "--seed", seed, "--device", device)
    _say(f"Runs and report are in {folder}")
    _say(f"What was learned, forgotten, kept and cut out, in a browser:  {(folder / REPORT).resolve().as_uri()}")
    _say("Next: your own images. 'cuter run --help' tells how.")


@app.command()
def methods(
    print_json: Annotated[bool, typer.Option("--json", help="Print them as JSON, with a sentence on each.")] = False,
) -> None:
    """List all methods with the parts that each of them chooses.

    Every part is also an option of 'cuter run' and mixes with any method, as in --method krt --memory prs; what makes
    no sense together is refused with the reason.
    """
    with console.status("loading"):
        from cuter.show.methods import describe_methods, methods_table

        found = describe_methods()
    if print_json:
        typer.echo(json.dumps(found))
    else:
        out = Console()
        out.print(methods_table(found, out.width))


@app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="Folders of runs, finished or not.")],
    *,
    out: Annotated[Path, typer.Option(help="File of the page; an earlier report is replaced.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="Title.", show_default="methods and data set")] = None,
) -> None:
    """Compare runs in one page for a browser: figures, charts, what memory holds, what is cut out.

    The page needs nothing but itself, so it can be sent to others. What a run does not have yet is left out; pictures
    need its checkpoint and, for test images, the data set. Nothing in the folders of the runs changes.

    Example:

        cuter report runs/voc-rs-seed0 runs/voc-cuter-seed0 --out voc.html
    """
    with console.status("loading"):
        from cuter.show.report import comparison_table, read_runs, write_report
    with Progress(console=console, disable=not console.is_terminal, transient=True) as bar:
        row = bar.add_task("looking into checkpoints", total=None)
        page = write_report(runs, out, title, lambda done, total: bar.update(row, completed=done, total=total))
    show(console, comparison_table(read_runs(runs)))
    _say(f"The page is {page}")


@app.command()
def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN RUN…", help="Folders of runs, finished or not.")],
    *,
    print_json: Annotated[bool, typer.Option("--json", help="Print all that is found as JSON.")] = False,
) -> None:
    """Tell runs apart: settings that differ, figures, AP by class, where memory differs.

    Differences are to the first run. Figures of runs that were tested on other classes or images are not subtracted;
    the reason is told. What memory holds is read from the newest checkpoint. Nothing in the folders changes.

    Example:

        cuter compare runs/voc-rs-seed0 runs/voc-cuter-seed0
    """
    with console.status("loading"):
        from cuter.show.compare import compare_runs
        from cuter.show.compare_tables import compare_tables

        found = compare_runs(runs)
    show(console, *compare_tables(found))
    if print_json:
        typer.echo(json.dumps(found.as_dict(), default=str))  # str: a configuration of YAML may hold a date


@app.command()
def cut(
    images: Annotated[list[Path], typer.Argument(metavar="IMAGE…", help="Image files, or folders of them.")],
    *,
    backbone: Annotated[str, typer.Option(help=BACKBONE)],
    out: Annotated[
        Path | None, typer.Option(help="Folder for what is found.", show_default="a new one under cuts/")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Regions to look for in each image.")] = 2,
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
    loops: Annotated[
        float | None,
        typer.Option(min=0, help="From 0, the plain normalised cut, towards the ratio cut.", show_default=SUITABLE),
    ] = None,
    device: Annotated[str, typer.Option(help=DEVICE)] = "auto",
) -> None:
    """Show what is cut out of images: regions, the eigenvectors behind them, crops.

    For each image NAME the folder gets NAME.png with everything at a glance, and the crops NAME-1.png, NAME-2.png;
    for all of them a contact sheet, and regions.json with boxes in pixels. Ends with code 1 if an image is unreadable.

    Example:

        cuter cut photos/ --backbone dino-vits16 --out cuts/photos
    """
    with console.status("loading"):
        from cuter.cut import Localiser
        from cuter.learn.devices import choose_device
        from cuter.show.cutting import cut_photos, cut_summary, find_images, short_name

        paths, place = find_images(images), choose_device(device)
        localiser = Localiser.load(backbone, features, **given({"tau": tau, "centre": centre, "loops": loops}))
        localiser.to(place)
    _say(cut_summary(localiser))
    folder = out or _unused(Path("cuts") / Path(short_name(backbone)).name)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as bar:
        row = bar.add_task("cutting", total=None)
        report = cut_photos(
            paths, folder, localiser, rounds, lambda done, total: bar.update(row, completed=done, total=total)
        )
    for reason in report["unreadable"].values():
        _say(f"skipped: {reason}")
    _say(f"{len(report['images'])} of {len(paths)} images are cut, see {folder}")
    if report["unreadable"]:
        raise typer.Exit(1)


@app.command()
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
    rounds: Annotated[int, typer.Option(min=1, help="Regions to look for in each image.")] = 2,
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
    """Tell which backbone cuts best, by the average Fiedler value of its patch graphs: the lower, the better.

    Patch features are scaled to length 1 and the value is divided by the number of patches, because otherwise scale
    and grid would decide; the largest possible value is then 1. Where the data set has boxes, CorLoc and AP50 tell how
    well the cut-outs meet them. The folder gets assessment.json, assessment.md, contact sheets and a plot.

    Example:

        cuter assess --backbone dino-vits16 --backbone mae-vitb16 --dataset voc --data-root VOCdevkit
    """
    with _waiting("loading", data_root):
        from cuter.show.assess import assess as assess_backbones
        from cuter.show.assess_report import assessment_table
        from cuter.stream.datasets import load_dataset

        options = pairs("dataset_options", dataset_options or [])
        found = load_dataset(dataset, data_root, **options)
    folder = out or _unused(Path(f"assessments/{dataset}-{split}"))
    try:
        with Progress(console=console, disable=not console.is_terminal, transient=True) as bar:
            row = bar.add_task("assessing", total=None)
            report = assess_backbones(
                backbone,
                found,
                folder,
                images=images,
                features=features or (),
                rounds=rounds,
                sigma=sigma,
                split=split,
                seed=seed,
                device=device,
                progress=lambda done, total: bar.update(row, completed=done, total=total),
                tell=_say,
            )
    except KeyboardInterrupt:
        _say(f"Stopped. What was finished is in {folder}" if folder.exists() else "Stopped before a row was finished")
        raise typer.Exit(130) from None
    show(console, assessment_table(report))
    _say(f"Results are in {folder}")
    if print_json:
        typer.echo(json.dumps(report))


@app.command()
@with_options_of(PretrainSettings)
def pretrain(
    *,
    config: Annotated[
        Path | None, typer.Option(help="YAML file with any of the settings; options that are typed win over it.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the backbone and all that is noted.", show_default="runs/pretrain-…")
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Continue in this folder where it stopped.")] = None,
    print_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON on the last line.")] = False,
    **fields: Any,
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
    typed = given(fields, PretrainSettings)
    _refuse_with_resume(resume, typed, config, out)
    with console.status("loading"):
        from cuter.pretrain import pretraining
        from cuter.pretrain.display import PretrainDisplay
        from cuter.runs.config import read_fields, validated_fields
    if resume is not None:
        folder = resume
        summary = _interruptible("pretrain", folder, lambda: pretraining.resume(folder, PretrainDisplay(console)))
    else:
        settings = validated_fields(PretrainSettings, config, read_fields(config), typed)
        source = settings.dataset or (settings.images or Path()).resolve().name
        folder = out or _unused(Path(f"runs/pretrain-{source}"))
        display = PretrainDisplay(console)
        summary = _interruptible("pretrain", folder, lambda: pretraining.start(settings, folder, display))
    _say(f"The backbone is in {folder / 'backbone'}")
    if print_json:
        typer.echo(json.dumps(summary))


def _refuse_with_resume(
    resume: Path | None, typed: dict[str, Any], config: Path | None, out: Path | None, changeable: Sequence[str] = ()
) -> None:
    """Refuse options that a run that goes on would have to ignore."""
    clash = [*typed, *(name for name, value in (("config", config), ("out", out)) if value)]
    clash = [_option(name) for name in clash if name not in changeable]
    if resume is not None and clash:
        accepted = f"; only {', '.join(map(_option, changeable))} may change" if changeable else ""
        raise ConfigError(f"--resume takes the run's own settings: drop {clash[0]}{accepted}")


def _option(field: str) -> str:
    return f"--{field.replace('_', '-')}"


def _waiting(what: str, place: object) -> AbstractContextManager[object]:
    """Show that something goes on; a data set that is in no place is rendered, and shows how far it is by itself."""
    return console.status(what) if place else nullcontext()


def _interruptible(command: str, folder: Path, carry_out: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Carry out work in a folder; if it was asked to stop, tell how to go on."""
    from cuter.runs.stopping import Interrupted

    try:
        return carry_out()
    except Interrupted:
        _stop(command, "--resume", folder)


def _stop(*go_on: object) -> NoReturn:
    """Tell which command goes on, and exit."""
    _say(f"Stopped. Go on with:  cuter {shlex.join(map(str, go_on))}")
    raise typer.Exit(130) from None


def _say(text: str) -> None:
    """Print a line as it is: no markup, no colours, and no line break inside a path."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _unused(folder: Path, or_fit: Callable[[Path], bool] = lambda folder: False) -> Path:
    """Return this folder, or the same name with the first number, that is free or, though not free, fit for use."""
    names = itertools.chain([folder], (folder.with_name(f"{folder.name}-{number}") for number in itertools.count(2)))
    return next(name for name in names if not name.exists() or or_fit(name))


@data.command()
def check(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[DIR]…", help="Folders that hold a data set each; none with --dataset toybox."),
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="What the folders hold, where their layout does not tell: voc, coco, …")
    ] = None,
    dataset_options: Annotated[
        list[str] | None, typer.Option(help="Options of the data set's reader, as NAME=VALUE.")
    ] = None,
    decode: Annotated[bool, typer.Option(help="Read every image, to find the unreadable ones.")] = True,
    print_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
) -> None:
    """Tell what data sets hold: images, classes, labels an image, imbalance, unreadable files.

    Ends with code 1 if a file is unreadable.
    """
    with _waiting("reading", folders):
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
    with Progress(console=console, disable=not console.is_terminal, transient=True) as bar:
        row = bar.add_task("reading images", total=None)
        inspections = [
            inspect(one, split, decode=decode, progress=lambda n, of: bar.update(row, completed=n, total=of))
            for one in found
            for split in SPLITS
        ]
    unreadable = {path: why for inspection in inspections for path, why in (inspection.unreadable or {}).items()}
    if print_json:
        typer.echo(json.dumps([inspection.as_dict() for inspection in inspections]))
    else:
        show(Console(), *inspection_tables(inspections))
        for path, reason in unreadable.items():
            typer.echo(f"unreadable: {path}: {reason}")  # not in a table, which would break paths over lines
    if unreadable:
        raise typer.Exit(1)


@data.command()
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

    NUS-WIDE has no official download of its images; docs/reference/formats.md tells which copies are read.

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
            get_dataset(name, root, keep_archives=keep_archives, progress=progress, tell=_say)
    except KeyboardInterrupt:
        _stop("data", "get", name, "--root", root, *(["--keep-archives"] if keep_archives else []))
    folder = shlex.quote(str(root))
    _say(f"What it holds:  cuter data check {folder} --dataset {name}")
    _say(f"A run:  cuter run --dataset {name} --data-root {folder} --backbone dino-vits16 --tasks {home.tasks}")
