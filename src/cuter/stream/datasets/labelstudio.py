"""An export of Label Studio: its format JSON."""

import logging
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qs, unquote, urlsplit

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from cuter.errors import ConfigError, DataError
from cuter.stream.datasets import DATASETS, LAYOUTS
from cuter.stream.datasets.division import check_share, divided
from cuter.stream.datasets.faults import Faults
from cuter.stream.datasets.files import checked, first_fault, require_folder
from cuter.stream.datasets.finder import ImageFinder
from cuter.stream.labels import clean_name
from cuter.stream.samples import Box, Dataset, Sample

logger = logging.getLogger("cuter.stream")

EXPORTS = ("project-*-at-*.json", "labelstudio.json")  # the name that Label Studio gives, and one that is easy to type

Percent = Annotated[float, Field(ge=-0.01, le=100.01, allow_inf_nan=False)]  # a hand on a mouse rounds


class _Rectangle(BaseModel):
    x: Percent
    y: Percent
    width: Percent
    height: Percent
    rotation: float = 0


class _Result(BaseModel):
    type: str
    value: dict[str, Any]
    original_width: int | None = None
    original_height: int | None = None


class _Annotation(BaseModel):
    result: list[_Result]
    was_cancelled: bool = False


class _Task(BaseModel):
    data: dict[str, Any]
    annotations: list[_Annotation]


LAYOUTS.register("labelstudio")(EXPORTS)


@DATASETS.register("labelstudio")
def labelstudio(root: Path, image_field: str = "image", test_share: float = 0.2) -> Dataset:
    """Read a project of Label Studio, exported as JSON.

    `root` holds the export under the name that Label Studio gave it (`project-1-at-….json`) or as `labelstudio.json`,
    and the images: under the paths that the tasks name, or under the ends of these paths, also in `images/`. A task
    names its image in `data`, in the field `image_field`: `/data/local-files/?d=desk/1.jpg`, `/data/upload/1/1.jpg` or
    a plain path. Nothing is downloaded, so an address (`http://`, `s3://`) is refused.

    Choices are labels, and so are those of rectangles, polygons, brushes and so on. A rectangle that is not rotated is
    a box. Where several people annotated an image, it shows what any of them saw; an annotation that was cancelled
    (skipped) does not count. A task without any is left out, and counted: nobody has looked at it yet. The test split
    is drawn as for `folder`.
    """
    require_folder(root)
    check_share("labelstudio", test_share)
    file = _export(root)
    find = ImageFinder(root, image_folders=("images",))
    faults = Faults()
    samples: list[Sample] = []
    waiting = 0
    for index, record in enumerate(_records(file)):
        with faults.noted():
            where = f"{file}: task {index + 1}"
            task = _task(record, where)
            annotations = [annotation for annotation in task.annotations if not annotation.was_cancelled]
            if not annotations:
                waiting += 1
                continue
            samples.append(_sample(task, annotations, image_field, find, where))
    faults.tell()
    if waiting:
        logger.warning("%s: %d images are not annotated yet, and left out", file, waiting)
    classes = sorted({name for sample in samples for name in sample.labels})
    if not classes:
        raise DataError(f"{file}: no image has a label")
    train, test = divided(samples, test_share)
    return checked(Dataset("labelstudio", tuple(classes), train=train, test=test), root)


def _export(root: Path) -> Path:
    files = sorted({file for pattern in EXPORTS for file in root.glob(pattern)})
    if len(files) != 1:
        found = f"{len(files)}: {', '.join(file.name for file in files)}" if files else "none"
        raise DataError(f"{root}: needs one export of Label Studio, named {' or '.join(EXPORTS)}. Found {found}")
    return files[0]


def _records(file: Path) -> list[Any]:
    try:
        return TypeAdapter(list[Any]).validate_json(file.read_bytes())
    except OSError as error:
        raise DataError(f"{file}: {(error.strerror or str(error)).lower()}") from error
    except ValidationError as error:
        raise DataError(
            f"{file}: not a list of tasks, as the export format JSON has it: {first_fault(error)}"
        ) from error


def _task(record: Any, where: str) -> _Task:
    try:
        return _Task.model_validate(record)
    except ValidationError as error:
        is_short = isinstance(record, dict) and "data" not in record
        hint = "; export the project as JSON, not as JSON-MIN" if is_short else ""
        raise DataError(f"{where}: {first_fault(error)}{hint}") from error


def _sample(task: _Task, annotations: list[_Annotation], image_field: str, find: ImageFinder, where: str) -> Sample:
    labels: set[str] = set()
    boxes: list[Box] = []
    for result in (result for annotation in annotations for result in annotation.result):
        names = _names(result, where)
        labels |= set(names)
        if result.type == "rectanglelabels" and (corners := _corners(result, where)) is not None:
            boxes += [Box(name, *corners) for name in names]
    path = find(_listed(task, image_field, where), f"{where}: field 'data.{image_field}'")
    id = path.relative_to(find.root).as_posix()
    return Sample(id=id, path=path, labels=frozenset(labels), boxes=tuple(dict.fromkeys(boxes)))


def _names(result: _Result, where: str) -> list[str]:
    """Return the classes that a result names; a rating or a text names none."""
    if result.type != "choices" and not result.type.endswith("labels"):
        return []
    names = result.value.get(result.type, [])
    if not isinstance(names, list) or not all(isinstance(name, str) and name.strip() for name in names):
        raise DataError(f"{where}: field 'value.{result.type}' must be a list of names, not {str(names)[:60]!r}")
    return [clean_name(name) for name in names]


def _corners(result: _Result, where: str) -> tuple[float, float, float, float] | None:
    """Return a rectangle in pixels; none if it is rotated or has no area."""
    try:
        shape = _Rectangle.model_validate(result.value)
    except ValidationError as error:
        raise DataError(f"{where}: a rectangle: {first_fault(error)}") from error
    width, height = result.original_width, result.original_height
    if not width or not height:
        raise DataError(f"{where}: a rectangle has no original_width or original_height")
    x1, y1 = max(shape.x, 0) * width / 100, max(shape.y, 0) * height / 100
    x2, y2 = min(shape.x + shape.width, 100) * width / 100, min(shape.y + shape.height, 100) * height / 100
    return (x1, y1, x2, y2) if not shape.rotation % 360 and x1 < x2 and y1 < y2 else None


def _listed(task: _Task, image_field: str, where: str) -> str:
    """Return the path of the image without what only the server of Label Studio understands."""
    listed = task.data.get(image_field)
    if listed is None:
        raise ConfigError(
            f"{where}: 'data' has no field {image_field!r}, but {', '.join(task.data) or 'none'}: "
            "name it with --dataset-options image_field=NAME"
        )
    if not isinstance(listed, str):
        raise DataError(f"{where}: field 'data.{image_field}' must be a path, not {str(listed)[:60]!r}")
    if "://" in listed or listed.startswith("data:"):
        raise DataError(
            f"{where}: field 'data.{image_field}' is an address, {listed[:60]!r}: nothing is downloaded; "
            "put the images beside the export and name them by their paths"
        )
    if listed.startswith("/data/local-files/"):
        return parse_qs(urlsplit(listed).query).get("d", [""])[0]
    if listed.startswith("/data/"):
        return unquote(listed.removeprefix("/data/"))
    return listed
