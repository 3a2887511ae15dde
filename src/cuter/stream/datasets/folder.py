"""Your own images: a folder with an annotation file."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from cuter.errors import ConfigError, DataError
from cuter.stream.datasets import DATASETS, LAYOUTS
from cuter.stream.datasets.files import checked, native, relative_path, require_folder
from cuter.stream.datasets.rows import Row, read_rows
from cuter.stream.samples import Box, Dataset, Sample

SUFFIXES = ("csv", "jsonl")

LAYOUTS.register("folder")(tuple(f"{stem}.{suffix}" for stem in ("labels", "train") for suffix in SUFFIXES))


@DATASETS.register("folder")
def folder(root: Path, test_share: float = 0.2) -> Dataset:
    """Read your own images.

    `root` holds images, in any sub-folders, and `labels.csv` or `labels.jsonl` (or one file a split: `train.csv` and
    `test.csv`, or `.jsonl`). A CSV file starts with a header:

        path,labels,known,boxes,split
        desk/1.jpg,cup;lamp,cup;lamp;plant,"[[""cup"", 10, 20, 50, 60]]",train

    and a JSON lines file has the same fields in each line:

        {"path": "desk/1.jpg", "labels": ["cup", "lamp"], "boxes": [["cup", 10, 20, 50, 60]]}

    `path` and `labels` are needed; in CSV, `;` or `|` stands between names. `known` lists the classes somebody looked
    for (all, if it is missing or an empty cell). A box is class, x1, y1, x2, y2 in pixels from 0, x2 and y2 exclusive.
    An image with an empty list of labels is kept: it shows none of its known classes.

    `split` is train or test, in every row or in none. Where nothing says which, an image goes to the test split by
    the hash of its path, so that about `test_share` of the images do, always the same ones, and an image that is
    added later moves no other.
    """
    require_folder(root)
    if not 0 < test_share < 1:
        raise ConfigError(f"data set 'folder': option 'test_share' must lie between 0 and 1, not {test_share}")
    files = _annotation_files(root)
    if len(files) == 1:
        train, test = _divide(_unique(root, files[0]), test_share)
    else:
        train, test = (_whole_split(root, file) for file in files)
    classes = sorted({name for sample in (*train, *test) for name in sample.labels | (sample.known or set())})
    if not classes:
        held = "no image has a label" if train or test else "no rows"
        raise DataError(f"{root}: {' and '.join(file.name for file in files)}: {held}")
    return checked(Dataset("folder", tuple(classes), train=train, test=test), root)


def _annotation_files(root: Path) -> list[Path]:
    names = [f"{stem}.{suffix}" for stem in ("labels", "train", "test") for suffix in SUFFIXES]
    files = [root / name for name in names if (root / name).is_file()]
    if [file.stem for file in files] not in (["labels"], ["train", "test"]):
        raise DataError(
            f"{root}: needs labels.csv or labels.jsonl, or else one file (.csv or .jsonl) for train and one for "
            f"test. Found {', '.join(file.name for file in files) or 'none of them'}"
        )
    return files


def _whole_split(root: Path, file: Path) -> list[Sample]:
    samples = []
    for where, row, sample in _unique(root, file):
        if row.split not in (None, file.stem):
            raise DataError(f"{where}: field 'split' is {row.split!r} in the file of the {file.stem} split")
        samples.append(sample)
    return samples


def _divide(rows: Iterable[tuple[str, Row, Sample]], test_share: float) -> tuple[list[Sample], list[Sample]]:
    train: list[Sample] = []
    test: list[Sample] = []
    stated: bool | None = None
    for where, row, sample in rows:
        stated = row.split is not None if stated is None else stated
        if stated != (row.split is not None):
            raise DataError(f"{where}: field 'split' must be train or test in every row, or be missing in all")
        in_test = row.split == "test" if stated else _fraction(sample.id) < test_share
        (test if in_test else train).append(sample)
    return train, test


def _fraction(name: str) -> float:
    """Return a number in [0, 1) that depends on the name alone."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") / 2**64


def _unique(root: Path, file: Path) -> Iterable[tuple[str, Row, Sample]]:
    first: dict[str, str] = {}
    for where, row in read_rows(file):
        sample = _sample(root, row, where)
        if sample.id in first:
            raise DataError(f"{where}: field 'path' names {sample.id!r} again, first in {first[sample.id]}")
        first[sample.id] = where
        yield where, row, sample


def _sample(root: Path, row: Row, where: str) -> Sample:
    path = relative_path(row.path, f"{where}: field 'path'")
    labels = frozenset(row.labels)
    known = None if row.known is None else frozenset(row.known)
    if known is not None and (unknown := labels - known):
        raise DataError(f"{where}: field 'labels' has {min(unknown)!r}, which is not in field 'known'")
    boxes = tuple(Box(*box) for box in row.boxes or ())
    for box in boxes:
        if box.label not in labels:
            raise DataError(f"{where}: field 'boxes' has a box of {box.label!r}, which is not in field 'labels'")
        if not (box.x1 < box.x2 and box.y1 < box.y2):
            raise DataError(
                f"{where}: field 'boxes' must have x1 < x2 and y1 < y2, not {[box.x1, box.y1, box.x2, box.y2]}"
            )
    return Sample(id=path, path=root / native(path), labels=labels, known=known, boxes=boxes)
