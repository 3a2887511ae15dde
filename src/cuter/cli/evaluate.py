"""The command `cuter evaluate`."""

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from cuter.cli.common import DEVICE, Imports, console, pairs, say, waiting
from cuter.show.narrow import show
from cuter.show.progress_line import counting


def evaluate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a model, of a run, or a saved learner.")],
    *,
    dataset: Annotated[
        str, typer.Option(help="Data set: folder, voc, coco, nuswide, labelstudio, huggingface, toybox.")
    ],
    data_root: Annotated[
        Path | None,
        typer.Option(help="Folder that holds the data set; toybox alone, which is rendered, needs none."),
    ] = None,
    split: Annotated[str, typer.Option(help="test or train.")] = "test",
    dataset_options: Annotated[
        list[str] | None, typer.Option(help="Options of the data set's reader, as NAME=VALUE.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Draw so many images, the same as --limit-test of a run.")
    ] = None,
    thresholds: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help='JSON object of thresholds of probability by class: {"cat": 0.4}.',
            show_default="0.5 for all classes",
        ),
    ] = None,
    regions: Annotated[
        bool, typer.Option("--regions", help="Look at regions of each image too.", show_default="as the model was made")
    ] = False,
    device: Annotated[str, typer.Option(help=DEVICE)] = "auto",
    out: Annotated[
        Path | None, typer.Option(help="Folder for a page, tables and JSON; an earlier evaluation is replaced.")
    ] = None,
    imports: Imports = None,
    print_json: Annotated[bool, typer.Option("--json", help="Print all that is found as JSON.")] = False,
) -> None:
    """Measure a model on labelled images: mAP, CF1, OF1, calibration, each class, the worst mistakes.

    CF1 and OF1 are given twice: of raw scores above 0.8, to be compared with papers, and of calibrated probabilities
    above 0.5 or the thresholds of a file. Labels that nobody looked at count nowhere. Classes that the model or the
    data do not have are named and left out. Unlike in the tests of a run, images that show no class of the model count.

    With --out the folder gets evaluation.html, which needs nothing but itself, evaluation.json, table.md and table.csv.
    Ends with code 2 if an image is unreadable; it is named, and figures are of the others.

    Example:

        cuter evaluate runs/voc-cuter-seed0 --dataset voc --data-root VOCdevkit --out evaluations/voc
    """
    with waiting("loading", data_root):
        from cuter.learn.learner import Learner
        from cuter.models.evaluating import evaluate as evaluate_on
        from cuter.models.threshold_file import read_thresholds
        from cuter.settings import import_modules
        from cuter.show.assess import draw
        from cuter.show.evaluation_folder import describe, evaluation_record, require_replaceable, write_evaluation
        from cuter.show.evaluation_tables import evaluation_terminal
        from cuter.stream.datasets import load_dataset

        import_modules(imports or [])
        if out is not None:
            require_replaceable(out)
        own = read_thresholds(thresholds) if thresholds is not None else {}
        found = load_dataset(dataset, data_root, **pairs("dataset_options", dataset_options or []))
        samples = draw(found, split, limit or sys.maxsize, seed=0)
        learner = Learner.load(model, device)
    with counting(console, "evaluating") as progress:
        result = evaluate_on(
            learner,
            samples,
            classes=found.classes,
            thresholds=own,
            regions=regions,
            workers=1,
            progress=progress,
        )
    file = str(thresholds) if thresholds is not None else None
    data = {"dataset": found.name, "split": split, "limit": limit, "regions": regions, "thresholds": file}
    record = describe(model, learner, data, shlex.join(["cuter", *sys.argv[1:]]))
    if out is not None:
        write_evaluation(out, result, record, {sample.id: sample.path for sample in samples})
    show(console, *evaluation_terminal(result))
    for one in result.unreadable:
        say(f"unreadable: {one.reason}")
    if out is not None:
        say(f"The page is {out / 'evaluation.html'}")
    if print_json:
        typer.echo(json.dumps(evaluation_record(result, record)))
    if result.unreadable:
        raise typer.Exit(2)
