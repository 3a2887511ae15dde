"""The command line. Heavy libraries are imported inside the commands, so that --help answers at once."""

import logging
import os
import sys
from typing import Annotated

import typer
from rich.text import Text

from cuter.cli import data
from cuter.cli.assess import assess
from cuter.cli.common import console
from cuter.cli.compare import compare
from cuter.cli.cut import cut
from cuter.cli.demo import demo
from cuter.cli.evaluate import evaluate
from cuter.cli.explain import explain
from cuter.cli.export import export
from cuter.cli.forget import forget
from cuter.cli.methods import methods
from cuter.cli.models import models
from cuter.cli.paper import paper
from cuter.cli.predict import predict
from cuter.cli.pretrain import pretrain
from cuter.cli.report import report
from cuter.cli.run import run
from cuter.cli.settings_options import taking_settings
from cuter.cli.show import show
from cuter.cli.sweep import sweep
from cuter.cli.teach import teach
from cuter.cli.tune_thresholds import tune_thresholds
from cuter.errors import CuterError

MANUAL = """
Multi-label online continual learning: images with several labels keep arriving, the list of labels keeps growing.

A pre-trained vision transformer sees a stream of images once. Task after task brings new classes, and each image is
annotated only for the classes of its task: everything else is unknown, not absent. After each task the learner is
tested over all classes seen so far.

First steps:

    cuter demo                                      three methods compared, in five minutes
    cuter data init photos/                         your own photos: a labels.csv to fill in
    cuter data get voc --root data                  fetch VOC 2007 (or coco)
    cuter data check DIR                            what a data set holds

A model for a product:

    cuter teach tagger --data-root photos/
              --backbone dino-vits16                make a model, or let it learn the next month
    cuter predict tagger inbox/ --out tags.csv      labels of many images, in a file
    cuter tune-thresholds tagger --dataset folder
              --data-root photos/ --out t.json      a threshold for each class
    cuter evaluate tagger --dataset folder
              --data-root photos/ --out page        how good it is, as a page
    cuter models tagger                             its versions, and a way back
    cuter show tagger                               what it knows, and what it keeps
    cuter forget tagger --id holiday/17.jpg         delete what it keeps of a photo
    cuter export tagger --to onnx --out exported    for other software (or huggingface)

Experiments:

    cuter run --dataset voc --data-root VOCdevkit
              --backbone dino-vits16 --tasks 5x4    a real run
    cuter run --resume runs/voc-rs-seed0            go on where it stopped
    cuter methods                                   what --method accepts
    cuter explain memory.prs                        what a part does, and its settings
    cuter report runs/voc-*                         a page that compares runs
    cuter compare runs/voc-rs runs/voc-cuter        how runs differ
    cuter cut photo.jpg --backbone dino-vits16      what is cut out of an image
    cuter assess --backbone dino-vits16 --backbone mae-vitb16
              --dataset voc --data-root VOCdevkit   which backbone cuts best
    cuter pretrain --images tiles/                  a backbone of your own, without labels
    cuter paper --list                              the paper's tables, each as one command
    cuter sweep --config runs/voc/config.yaml
              --grid lr=1e-5,1e-4                   a grid of your own

Progress and tables go to stderr; --json puts results on stdout. Exit codes: 0 done, 1 a mistake in the command, 2 data
that are missing or damaged, 130 stopped by Ctrl-C.
"""

# A mistake in the command ends with 1, whoever finds it: by itself click, which typer may bring along, ends with 2.
next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "UsageError").exit_code = 1  # type: ignore[attr-defined]

app = typer.Typer(
    name="cuter",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help=MANUAL,
)
app.command(cls=taking_settings("cuter.runs.config:RunConfig"))(run)
app.command(cls=taking_settings("cuter.runs.config:RunConfig"))(sweep)
app.command(cls=taking_settings("cuter.pretrain.settings:PretrainSettings"))(pretrain)
app.command(cls=taking_settings("cuter.models.teaching:TeachConfig"))(teach)
PRODUCT = (predict, tune_thresholds, evaluate, models, show, forget, export)
EXPERIMENTS = (demo, methods, explain, report, compare, cut, assess, paper)
for command in (*PRODUCT, *EXPERIMENTS):
    app.command()(command)
app.add_typer(data.app, name="data")


def main() -> None:
    """Run the command line; what is the input's fault is reported in one line, without a traceback."""
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
        sys.exit(error.exit_code)


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
