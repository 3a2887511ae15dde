"""The command `cuter export`."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from cuter.cli.common import Imports, console, pairs, say
from cuter.errors import ConfigError, NotThereError


class Format(StrEnum):
    """What a learner can be written as."""

    onnx = "onnx"
    huggingface = "huggingface"


def export(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a model, of a run, or a saved learner.")],
    *,
    to: Annotated[Format, typer.Option(help="What to write.")],
    out: Annotated[Path, typer.Option(help="Folder for the files: a new one, or that of an earlier export.")],
    int8: Annotated[
        bool, typer.Option("--int8", help="ONNX: write a smaller model as well, with weights of 8 bits.")
    ] = False,
    dataset: Annotated[
        str | None, typer.Option(help="Data set whose test images are the check, with their mAP: voc, coco, folder …")
    ] = None,
    data_root: Annotated[Path | None, typer.Option(help="Folder that holds the data set.")] = None,
    dataset_options: Annotated[
        list[str] | None, typer.Option(help="Options of the data set's reader, as NAME=VALUE.")
    ] = None,
    images: Annotated[int, typer.Option(min=1, help="Test images of the data set to check with.")] = 200,
    imports: Imports = None,
    print_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Write a learner for other software: an ONNX file, or a folder that transformers' pipelines load.

    Calibrated probabilities are part of the model. Before anything is left in the folder, the exported model answers
    for images, of the data set or random ones, and must say what the learner says. It looks at whole images; prediction
    with regions stays with the learner.

    Example:

        cuter export tagger --to onnx --out tagger-onnx
        cuter export tagger --to huggingface --out tagger-hf --dataset voc --data-root VOCdevkit
    """
    if int8 and to is not Format.onnx:
        raise ConfigError("--int8 is for --to onnx: drop it, or export to ONNX")
    if dataset is None and (data_root is not None or dataset_options):
        raise ConfigError("--data-root and --dataset-options say where a data set is: name it with --dataset")
    if not model.is_dir():
        raise NotThereError(f"there is no folder {model}: MODEL is a saved learner, or a run")
    with console.status("loading"):
        from cuter.export import to_huggingface, to_onnx
        from cuter.learn.learner import Learner
        from cuter.settings import import_modules

        import_modules(imports or [])
        learner = Learner.load(model, device="cpu")
        check = None
        if dataset is not None:
            check = _test_images(dataset, data_root, pairs("dataset_options", dataset_options or []), images, learner)
    with console.status("exporting and checking"):
        if to is Format.onnx:
            exported = to_onnx(learner, out, int8=int8, check=check)
        else:
            exported = to_huggingface(learner, out, check=check)
    facts = exported.as_dict()
    for name, size in exported.files.items():
        say(f"{size:>12,} bytes  {name}")
    say(_found("the exported model", facts["check"]))
    if int8:
        say(_found("with 8 bits", facts["check_int8"]))
    for note in facts["notes"]:
        say(note)
    say(f"The model is in {out}")
    if print_json:
        typer.echo(json.dumps(facts))


def _test_images(name: str, root: Path | None, options: dict[str, Any], count: int, learner: Any) -> Any:
    """Return labelled test images as a batch."""
    from cuter.stream.batch import Batch
    from cuter.stream.datasets import load_dataset
    from cuter.stream.images import read_images
    from cuter.stream.samples import pick

    found = load_dataset(name, root, **options)
    samples = pick(found.test, count)
    return Batch.of(
        read_images([sample.path for sample in samples], learner.backbone.image_size),
        [sorted(sample.labels) for sample in samples],
        [found.classes if sample.known is None else sorted(sample.known) for sample in samples],
        [sample.id for sample in samples],
    )


def _found(what: str, check: dict[str, Any]) -> str:
    """Say what a check has found."""
    text = (
        f"{what}: on {check['images']} images a probability differs by {check['mean_difference']:.1e} on average, by "
        f"{check['largest_difference']:.1e} at most"
    )
    if check.get("map") is None:
        return text
    return f"{text}; mAP {check['map']:.2f}, the learner's {check['map_of_the_learner']:.2f}"
