"""PASCAL VOC in the layout of its development kit."""

from pathlib import Path
from xml.etree import ElementTree

from cuter.errors import DataError
from cuter.registry import did_you_mean
from cuter.stream.datasets import DATASETS, LAYOUTS
from cuter.stream.datasets.files import checked, native, numbered_lines, read_text, relative_path, require_folder
from cuter.stream.samples import Box, Dataset, Sample

# fmt: off
CLASSES = (
    "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow",
    "diningtable", "dog", "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor",
)
# fmt: on

LAYOUTS.register("voc")(("ImageSets/Main/*.txt", "VOC*/ImageSets/Main/*.txt", "VOCdevkit/VOC*/ImageSets/Main/*.txt"))


@DATASETS.register("voc")
def voc(root: Path, year: str = "2007", train: str = "trainval", test: str = "test") -> Dataset:
    """Read PASCAL VOC.

    `root` is the folder of one year (`VOC2007`, with `ImageSets/Main/*.txt`, `Annotations/*.xml` and
    `JPEGImages/*.jpg`), or the folder that holds it, or the one that holds `VOCdevkit`. `train` and `test` name lists
    in `ImageSets/Main`.

    Objects marked `difficult` do not count: neither as a label nor as a box. Every image of a list is kept, also one
    that has no label left.
    """
    base = _year_folder(root, year)
    return checked(Dataset("voc", CLASSES, train=_split(base, train), test=_split(base, test)), root)


def _year_folder(root: Path, year: str) -> Path:
    require_folder(root)
    for folder in (root, root / f"VOC{year}", root / "VOCdevkit" / f"VOC{year}"):
        if (folder / "ImageSets" / "Main").is_dir():
            return folder
    raise DataError(
        f"{root}: not a PASCAL VOC folder. Looked for ImageSets/Main, VOC{year}/ImageSets/Main and "
        f"VOCdevkit/VOC{year}/ImageSets/Main"
    )


def _split(base: Path, split: str) -> list[Sample]:
    lists = base / "ImageSets" / "Main"
    file = lists / f"{split}.txt"
    if not file.is_file():
        present = sorted(path.stem for path in lists.glob("*.txt"))
        raise DataError(f"{file}: no such list.{did_you_mean(split, present)}")
    samples = []
    for number, line in numbered_lines(file):
        name = relative_path(line.split()[0], f"{file} line {number}")  # lists of one class have a second column
        boxes = _objects(base / "Annotations" / native(f"{name}.xml"))
        labels = frozenset(box.label for box in boxes)
        samples.append(Sample(id=name, path=base / "JPEGImages" / native(f"{name}.jpg"), labels=labels, boxes=boxes))
    return samples


def _objects(file: Path) -> tuple[Box, ...]:
    text = read_text(file)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise DataError(f"{file}: a document type or an entity is not accepted in an annotation")
    try:
        annotation = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise DataError(f"{file} line {error.position[0]}: not XML ({error})") from error
    objects = enumerate(annotation.findall("object"), start=1)
    return tuple(
        _box(item, f"{file}: object {number}")
        for number, item in objects
        if item.findtext("difficult", "0").strip() != "1"
    )


def _box(item: ElementTree.Element, where: str) -> Box:
    # Direct children only: a person's <part> (head, hand, foot) has a name and a box of its own.
    label = item.findtext("name", "").strip()
    if label not in CLASSES:
        raise DataError(f"{where}: field 'name' is {label!r}.{did_you_mean(label, list(CLASSES))}")
    corners = []
    for field in ("xmin", "ymin", "xmax", "ymax"):
        value = item.findtext(f"bndbox/{field}", "")
        try:
            corners.append(float(value))
        except ValueError:
            raise DataError(f"{where}: field 'bndbox/{field}' must be a number, not {value!r}") from None
    x1, y1, x2, y2 = corners
    if not (x1 <= x2 and y1 <= y2):
        raise DataError(f"{where}: field 'bndbox' must have xmin ≤ xmax and ymin ≤ ymax, not {corners}")
    # VOC counts pixels from 1 and includes the last one; a few boxes of later years start at 0.
    return Box(label, max(x1 - 1, 0.0), max(y1 - 1, 0.0), x2, y2)
