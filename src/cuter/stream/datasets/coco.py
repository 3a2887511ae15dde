"""MS-COCO in the official layout, and what annotation tools export in its format."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, ValidationError

from cuter.errors import DataError
from cuter.stream.datasets import DATASETS, LAYOUTS
from cuter.stream.datasets.division import check_share, divided
from cuter.stream.datasets.files import checked, first_fault, native, relative_path, require_folder
from cuter.stream.datasets.finder import ImageFinder
from cuter.stream.samples import Box, Dataset, Sample

Number = Annotated[float, Field(allow_inf_nan=False)]


class _Category(BaseModel):
    id: int
    name: str


class _Image(BaseModel):
    id: int
    file_name: str


class _Annotation(BaseModel):
    image_id: int
    category_id: int
    bbox: tuple[Number, Number, Number, Number]
    iscrowd: int = 0


class _Instances(BaseModel):
    """The parts of an instances file that are used; the outlines of objects, most of the file, are skipped over."""

    categories: list[_Category]
    images: list[_Image]
    annotations: list[_Annotation]


# One file for all images, or one a split beside its images, as Roboflow, Label Studio and CVAT export them.
EXPORTS = ("_annotations.coco.json", "result.json", "annotations/instances_default.json")
SPLIT_EXPORT = "_annotations.coco.json"

LAYOUTS.register("coco")(("annotations/instances_train*.json", *EXPORTS, f"train/{SPLIT_EXPORT}"))


@DATASETS.register("coco")
def coco(root: Path, year: str = "2014", test_share: float = 0.2) -> Dataset:
    """Read MS-COCO, train → val of the given year, or an export of an annotation tool.

    `root` holds `annotations/instances_train2014.json` and `instances_val2014.json`, and the images in `train2014/`
    and `val2014/` (or in `images/train2014/` and `images/val2014/`).

    A crowd annotation says that its class is present, so it counts as a label; its box is a region rather than one
    object, so it is not kept as a box, and neither is a box without area. Images without any label are left out.

    An export is one file, `_annotations.coco.json`, `result.json` or `annotations/instances_default.json`, with images
    beside it or in `images/`; the test split is then drawn as for `folder`. Or it is a folder a split, `train/` and
    `test/` (else `valid/`), each with its `_annotations.coco.json`. Its classes are the categories that occur.
    """
    require_folder(root)
    check_share("coco", test_share)
    if any((root / "annotations").glob("instances_train*.json")):
        train_classes, train = _split(root, f"train{year}")
        test_classes, test = _split(root, f"val{year}")
        classes = train_classes | test_classes
    else:
        train, test = _exports(root, test_share)
        classes = {name for sample in (*train, *test) for name in sample.labels}
    return checked(Dataset("coco", tuple(sorted(classes)), train=train, test=test), root)


Locate = Callable[[str, str], tuple[str, Path]]  # (file name, where it stands) to the image's id and path


def _split(root: Path, split: str) -> tuple[set[str], list[Sample]]:
    file = root / "annotations" / f"instances_{split}.json"
    instances = _instances(file)
    folder = _image_folder(root, split)

    def locate(file_name: str, where: str) -> tuple[str, Path]:
        path = relative_path(file_name, where)
        return f"{folder.name}/{path.rsplit('.', 1)[0]}", folder / native(path)  # splits may use the same file names

    return {category.name for category in instances.categories}, _samples(file, instances, locate)


def _exports(root: Path, test_share: float) -> tuple[list[Sample], list[Sample]]:
    splits = [root / name / SPLIT_EXPORT for name in ("train", "test", "valid")]
    splits = [file for file in splits if file.is_file()]
    if len(splits) > 1 and splits[0].parent.name == "train":
        train, test = (_exported(file, root) for file in splits[:2])
        return train, test
    files = [*(file for name in EXPORTS if (file := root / name).is_file()), *splits]
    if len(files) != 1:
        raise DataError(
            f"{root}: needs annotations/instances_train*.json, or one export ({', '.join(EXPORTS)}), or "
            f"{SPLIT_EXPORT} in train/ and in test/ or valid/. Found "
            f"{', '.join(file.relative_to(root).as_posix() for file in files) or 'none of them'}"
        )
    return divided(_exported(files[0], root), test_share)


def _exported(file: Path, root: Path) -> list[Sample]:
    find = ImageFinder(root if file.parent.name == "annotations" else file.parent, image_folders=("images",))

    def locate(file_name: str, where: str) -> tuple[str, Path]:
        path = find(file_name, where)
        return path.relative_to(root).as_posix(), path

    return _samples(file, _instances(file), locate)


def _samples(file: Path, instances: _Instances, locate: Locate) -> list[Sample]:
    names = {category.id: category.name for category in instances.categories}
    images = {image.id for image in instances.images}
    labels: dict[int, set[str]] = defaultdict(set)
    boxes: dict[int, list[Box]] = defaultdict(list)
    for index, annotation in enumerate(instances.annotations):
        where = f"{file}: annotations[{index}]"
        name = names.get(annotation.category_id)
        if name is None:
            raise DataError(f"{where}: field 'category_id' is {annotation.category_id}, which no category has")
        if annotation.image_id not in images:
            raise DataError(f"{where}: field 'image_id' is {annotation.image_id}, which no image has")
        labels[annotation.image_id].add(name)
        x, y, width, height = annotation.bbox
        if not annotation.iscrowd and width > 0 and height > 0:
            boxes[annotation.image_id].append(Box(name, x, y, x + width, y + height))
    samples = []
    for index, image in enumerate(instances.images):
        if image.id in labels:
            id, path = locate(image.file_name, f"{file}: images[{index}]: field 'file_name'")
            samples.append(Sample(id, path, frozenset(labels[image.id]), boxes=tuple(boxes[image.id])))
    return samples


def _instances(file: Path) -> _Instances:
    try:
        return _Instances.model_validate_json(file.read_bytes())
    except FileNotFoundError as error:
        present = sorted(path.name for path in file.parent.glob("instances_*.json"))
        raise DataError(f"{file}: no such file. Present: {', '.join(present) or 'none'}") from error
    except OSError as error:
        raise DataError(f"{file}: {(error.strerror or str(error)).lower()}") from error
    except ValidationError as error:
        raise DataError(f"{file}: {first_fault(error)}") from error


def _image_folder(root: Path, split: str) -> Path:
    for folder in (root / split, root / "images" / split):
        if folder.is_dir():
            return folder
    raise DataError(f"{root}: no folder of images. Looked for {split}/ and images/{split}/")
