"""Your own images: a folder with an annotation file."""

import logging
from pathlib import Path

from cuter.errors import DataError
from cuter.stream.datasets import DATASETS, LAYOUTS
from cuter.stream.datasets.division import check_share, is_for_testing
from cuter.stream.datasets.faults import Faults
from cuter.stream.datasets.files import checked, native, relative_path, require_folder
from cuter.stream.datasets.rows import Row, read_rows
from cuter.stream.samples import Box, Dataset, Sample

logger = logging.getLogger("cuter.stream")

SUFFIXES = ("csv", "jsonl")
ANNOTATION_FILES = tuple(f"{stem}.{suffix}" for stem in ("labels", "train", "test") for suffix in SUFFIXES)

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

    `path` and `labels` are needed; in CSV, `;` or `|` stands between names. Between cells it may also be a semicolon, a
    tab or a bar; with a semicolon, `|` or `,` stands between names. `known` lists the classes somebody looked for (all,
    if it is missing or an empty cell). A box is class, x1, y1, x2, y2 in pixels from 0, x2 and y2 exclusive. An image
    with an empty list of labels is kept: it shows none of its known classes. An image whose labels are `?` (null in
    JSON) is left out, and counted: nobody has looked at it yet.

    `split` is train or test, in every row or in none. Where nothing says which, an image goes to the test split by
    the hash of its path, so that about `test_share` of the images do, always the same ones, and an image that is
    added later moves no other.
    """
    require_folder(root)
    check_share("folder", test_share)
    files = _annotation_files(root)
    faults = Faults()
    rows = [_unique(root, file, faults) for file in files]
    if len(files) == 1:
        train, test = _divide(rows[0], test_share, faults)
    else:
        train, test = (_whole_split(some, file, faults) for some, file in zip(rows, files, strict=True))
    faults.tell()
    names = " and ".join(file.name for file in files)
    waiting = sum(row.labels is None for some in rows for _, row, _ in some)
    classes = sorted({name for sample in (*train, *test) for name in sample.labels | (sample.known or set())})
    if not classes:
        held = (
            "no image has a label"
            if train or test
            else "no image is annotated yet, all have '?' for labels"
            if waiting
            else "no rows"
        )
        raise DataError(f"{root}: {names}: {held}")
    if waiting:
        logger.warning("%s: %d images are not annotated yet ('?' for labels), and left out", root / names, waiting)
    return checked(Dataset("folder", tuple(classes), train=train, test=test), root)


def _annotation_files(root: Path) -> list[Path]:
    files = [root / name for name in ANNOTATION_FILES if (root / name).is_file()]
    if [file.stem for file in files] not in (["labels"], ["train", "test"]):
        raise DataError(
            f"{root}: needs labels.csv or labels.jsonl, or else one file (.csv or .jsonl) for train and one for "
            f"test. Found {', '.join(file.name for file in files) or 'none of them'}"
        )
    return files


Listed = list[tuple[str, Row, Sample]]


def _whole_split(rows: Listed, file: Path, faults: Faults) -> list[Sample]:
    samples = []
    for where, row, sample in _annotated(rows):
        with faults.noted():
            if row.split not in (None, file.stem):
                raise DataError(f"{where}: field 'split' is {row.split!r} in the file of the {file.stem} split")
            samples.append(sample)
    return samples


def _divide(rows: Listed, test_share: float, faults: Faults) -> tuple[list[Sample], list[Sample]]:
    train: list[Sample] = []
    test: list[Sample] = []
    stated: bool | None = None
    for where, row, sample in _annotated(rows):
        stated = row.split is not None if stated is None else stated
        with faults.noted():
            if stated != (row.split is not None):
                raise DataError(f"{where}: field 'split' must be train or test in every row, or be missing in all")
            in_test = row.split == "test" if stated else is_for_testing(sample.id, test_share)
            (test if in_test else train).append(sample)
    return train, test


def _annotated(rows: Listed) -> Listed:
    return [listed for listed in rows if listed[1].labels is not None]


def _unique(root: Path, file: Path, faults: Faults) -> Listed:
    first: dict[str, str] = {}
    rows = []
    for where, row in read_rows(file, faults):
        with faults.noted():
            sample = _sample(root, row, where)
            if sample.id in first:
                raise DataError(f"{where}: field 'path' names {sample.id!r} again, first in {first[sample.id]}")
            first[sample.id] = where
            rows.append((where, row, sample))
    return rows


def _sample(root: Path, row: Row, where: str) -> Sample:
    path = relative_path(row.path, f"{where}: field 'path'")
    labels = frozenset(row.labels or ())
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
