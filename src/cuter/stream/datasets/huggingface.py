"""Data sets of Hugging Face on this disk: saved by `datasets`, or as Parquet files."""

import json
import logging
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cuter.errors import DataError
from cuter.registry import did_you_mean
from cuter.stream.datasets import DATASETS, LAYOUTS
from cuter.stream.datasets.arrow import class_names, rows_of, schema_of
from cuter.stream.datasets.division import check_share, divided
from cuter.stream.datasets.faults import Faults
from cuter.stream.datasets.files import checked, native, read_text, relative_path, require_folder
from cuter.stream.datasets.unpacked import image_file, unpacked
from cuter.stream.labels import clean_name
from cuter.stream.samples import Dataset, Sample

logger = logging.getLogger("cuter.stream")

IMAGE_COLUMNS = ("image", "img")
LABEL_COLUMNS = ("labels", "label")
KNOWN_COLUMN = "known"
FOR_TESTING = ("test", "validation", "valid", "val", "dev")

LAYOUTS.register("huggingface")(("dataset_dict.json", "state.json", "*.parquet", "data/*.parquet"))

Splits = dict[str, list[Path]]


@DATASETS.register("huggingface")
def huggingface(
    root: Path,
    *,
    image_column: str | None = None,
    labels_column: str | None = None,
    train: str = "train",
    test: str | None = None,
    test_share: float = 0.2,
) -> Dataset:
    """Read a data set of Hugging Face that is on this disk.

    `root` is a folder that `Dataset.save_to_disk` or `DatasetDict.save_to_disk` wrote, or one with Parquet files as the
    hub has them (`data/train-00000-of-00002.parquet`, `train/0000.parquet`). It needs pyarrow, the extra `parquet`.

    The image is in the column `image_column` (by default `image` or `img`): as encoded bytes, or as the text of a path
    relative to `root`. Labels are in `labels_column` (`labels` or `label`): one name or a list of names, or numbers for
    which `datasets` noted names. A column `known` may list the classes that somebody looked for. A row whose labels are
    missing (or -1) is left out, and counted: nobody has looked at it yet.

    `train` and `test` name splits; by default `test`, or else a validation split, is for testing. Where there is only
    one split, it is divided as for `folder`. Images that are bytes are copied to the cache once, one file each.
    """
    require_folder(root)
    check_share("huggingface", test_share)
    splits = _chosen(_splits(root), train, test, root)
    names = schema_of(next(iter(splits.values()))[0]).names
    image_column = _column(image_column, IMAGE_COLUMNS, "image_column", root, names)
    labels_column = _column(labels_column, LABEL_COLUMNS, "labels_column", root, names)
    table = _Table(root, splits, image_column, labels_column)
    samples = {split: table.samples(split) for split in splits}
    table.faults.tell()
    found = [sample for some in samples.values() for sample in some]
    classes = table.classes or sorted({name for one in found for name in one.labels | (one.known or set())})
    if not found or not classes:
        raise DataError(f"{root}: no image has a label")
    train_samples, test_samples = samples.values() if len(samples) > 1 else divided(found, test_share)
    return checked(Dataset("huggingface", tuple(dict.fromkeys(classes)), train=train_samples, test=test_samples), root)


class _Table:
    """The rows of some splits, and where their images are."""

    def __init__(self, root: Path, splits: Splits, image_column: str, labels_column: str):
        self.root = root
        self.splits = splits
        self.image_column = image_column
        self.labels_column = labels_column
        self.faults = Faults()
        schema = schema_of(next(iter(splits.values()))[0])
        names = class_names(schema, labels_column)
        self.classes = None if names is None else [clean_name(name) for name in names]
        self.columns = [name for name in (labels_column, KNOWN_COLUMN) if name in schema.names]
        self.unpacked: Path | None = None
        if str(schema.field(image_column).type) in ("string", "large_string"):
            self.columns.append(image_column)
        else:
            self.unpacked = unpacked(splits, image_column)

    def samples(self, split: str) -> list[Sample]:
        """Return the images of a split that somebody has looked at."""
        rows = [
            (f"{file} row {number}", row)
            for file in self.splits[split]
            for number, row in enumerate(rows_of(file, self.columns), start=1)
        ]
        samples = []
        waiting = 0
        for number, (where, row) in enumerate(rows):
            if row[self.labels_column] in (None, -1, [-1]):  # a test split without labels has -1
                waiting += 1
                continue
            with self.faults.noted():
                samples.append(self._sample(split, number, row, where))
        if waiting:
            logger.warning("%s: %d images of %r are not annotated yet, and left out", self.root, waiting, split)
        return samples

    def _sample(self, split: str, number: int, row: Mapping[str, Any], where: str) -> Sample:
        labels = self._names(row[self.labels_column], f"{where}: column {self.labels_column!r}")
        looked_for = row.get(KNOWN_COLUMN)
        known = None if looked_for is None else self._names(looked_for, f"{where}: column {KNOWN_COLUMN!r}")
        if known is not None and (unknown := labels - known):
            raise DataError(f"{where}: column {self.labels_column!r} has {min(unknown)!r}, which is not in 'known'")
        if self.unpacked is not None:
            path = image_file(self.unpacked, split, number)
        else:
            listed = relative_path(row[self.image_column] or "", f"{where}: column {self.image_column!r}")
            path = self.root / native(listed)
        return Sample(f"{split}/{number}", path, labels, known)

    def _names(self, value: Any, where: str) -> frozenset[str]:
        return frozenset(self._name(label, where) for label in (value if isinstance(value, list) else [value]))

    def _name(self, label: Any, where: str) -> str:
        if isinstance(label, int) and self.classes is not None and 0 <= label < len(self.classes):
            return self.classes[label]
        if not isinstance(label, str) or not label.strip():
            numbers = "" if self.classes is None else f" or numbers from 0 to {len(self.classes) - 1}"
            raise DataError(f"{where} must hold names{numbers}, not {label!r}")
        return clean_name(label)


def _splits(root: Path) -> Splits:
    if (root / "dataset_dict.json").is_file():
        listed = _json(root / "dataset_dict.json").get("splits", [])
        return {str(name): _saved(root / relative_path(str(name), f"{root}/dataset_dict.json")) for name in listed}
    if (root / "state.json").is_file():
        return {"train": _saved(root)}
    splits: Splits = {}
    for file in sorted(root.rglob("*.parquet")):
        stem = re.sub(r"-\d+-of-\d+$", "", file.stem)
        splits.setdefault(file.parent.name if stem.isdigit() else stem, []).append(file)
    if not splits:
        raise DataError(f"{root}: no data set of Hugging Face. Looked for dataset_dict.json, state.json and *.parquet")
    return splits


def _saved(folder: Path) -> list[Path]:
    state = _json(folder / "state.json")
    if state.get("_indices_data_files"):
        raise DataError(
            f"{folder}: a choice of rows, saved by an old version of datasets; save it again with a new one"
        )
    try:
        return [folder / relative_path(one["filename"], f"{folder}/state.json") for one in state["_data_files"]]
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{folder}/state.json: does not name its files") from error


def _json(file: Path) -> Mapping[str, Any]:
    try:
        content = json.loads(read_text(file))
    except ValueError as error:
        raise DataError(f"{file}: not JSON ({error})") from error
    if not isinstance(content, dict):
        raise DataError(f"{file}: must be a JSON object")
    return content


def _chosen(splits: Splits, train: str, test: str | None, root: Path) -> Splits:
    """Return the split to train on and the one to test with, or the only one that there is."""
    present = [name for name, files in splits.items() if files]
    if len(present) == 1 and test is None:
        return {present[0]: splits[present[0]]}
    test = test or next((name for name in FOR_TESTING if name in present), FOR_TESTING[0])
    for option, name in (("train", train), ("test", test)):
        if name not in present:
            raise DataError(
                f"{root}: no split {name!r}; name another with --dataset-options {option}=NAME."
                f"{did_you_mean(name, present)}"
            )
    return {train: splits[train], test: splits[test]}


def _column(given: str | None, usual: Sequence[str], option: str, root: Path, names: list[str]) -> str:
    wanted = usual if given is None else (given,)
    for name in wanted:
        if name in names:
            return name
    raise DataError(
        f"{root}: no column {' or '.join(map(repr, wanted))}; name another with --dataset-options {option}=NAME."
        f"{did_you_mean(wanted[0], names)}"
    )
