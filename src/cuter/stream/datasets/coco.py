"""MS-COCO in the official layout."""

from collections import defaultdict
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, ValidationError

from cuter.errors import DataError
from cuter.stream.datasets import DATASETS, LAYOUTS
from cuter.stream.datasets.files import checked, first_fault, native, relative_path, require_folder
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


LAYOUTS.register("coco")(("annotations/instances_train*.json",))


@DATASETS.register("coco")
def coco(root: Path, year: str = "2014") -> Dataset:
    """Read MS-COCO: train → val of the given year.

    `root` holds `annotations/instances_train2014.json` and `instances_val2014.json`, and the images in `train2014/`
    and `val2014/` (or in `images/train2014/` and `images/val2014/`).

    A crowd annotation says that its class is present, so it counts as a label; its box is a region rather than one
    object, so it is not kept as a box, and neither is a box without area. Images without any label are left out.
    """
    require_folder(root)
    train_classes, train = _split(root, f"train{year}")
    test_classes, test = _split(root, f"val{year}")
    classes = tuple(sorted(train_classes | test_classes))
    return checked(Dataset("coco", classes, train=train, test=test), root)


def _split(root: Path, split: str) -> tuple[set[str], list[Sample]]:
    file = root / "annotations" / f"instances_{split}.json"
    instances = _instances(file)
    folder = _image_folder(root, split)
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
            path = relative_path(image.file_name, f"{file}: images[{index}]: field 'file_name'")
            samples.append(
                Sample(
                    id=f"{folder.name}/{path.rsplit('.', 1)[0]}",  # the splits may use the same file names
                    path=folder / native(path),
                    labels=frozenset(labels[image.id]),
                    boxes=tuple(boxes[image.id]),
                )
            )
    return set(names.values()), samples


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
