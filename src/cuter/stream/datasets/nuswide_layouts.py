"""The four forms in which lists of NUS-WIDE go round. Each yields (where, listed path, labels) line by line."""

import ast
import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from cuter.errors import DataError
from cuter.stream.datasets.files import numbered_lines, read_text

Line = tuple[str, str, frozenset[str]]

# fmt: off
CONCEPTS = (
    "airport", "animal", "beach", "bear", "birds", "boats", "book", "bridge", "buildings", "cars", "castle", "cat",
    "cityscape", "clouds", "computer", "coral", "cow", "dancing", "dog", "earthquake", "elk", "fire", "fish", "flags",
    "flowers", "food", "fox", "frost", "garden", "glacier", "grass", "harbor", "horses", "house", "lake", "leaf",
    "map", "military", "moon", "mountain", "nighttime", "ocean", "person", "plane", "plants", "police", "protest",
    "railroad", "rainbow", "reflection", "road", "rocks", "running", "sand", "sign", "sky", "snow", "soccer",
    "sports", "statue", "street", "sun", "sunset", "surf", "swimmers", "tattoo", "temple", "tiger", "tower", "town",
    "toy", "train", "tree", "valley", "vehicle", "water", "waterfall", "wedding", "whales", "window", "zebra",
)
# fmt: on


def hash_list(file: Path, concepts: Sequence[str]) -> Iterator[Line]:
    """Read lines `path 0 1 0 …` with one column a concept."""
    for number, line in numbered_lines(file):
        where = f"{file} line {number}"
        path, *columns = line.strip().rsplit(None, len(concepts))  # from the right: a path may hold spaces
        if len(columns) != len(concepts) or not set(columns) <= {"0", "1"} or path.endswith((" 0", " 1")):
            raise DataError(f"{where}: must be a path and {len(concepts)} columns of 0 or 1, one a concept")
        yield where, path, frozenset(c for c, bit in zip(concepts, columns, strict=True) if bit == "1")


def official(images: Path, labels: Path, split: str, concepts: Sequence[str]) -> Iterator[Line]:
    """Read the image list and, for each concept, a file of 0 or 1 a line in the same order."""
    lines = numbered_lines(images)
    present: list[list[str]] = [[] for _ in lines]
    for concept in concepts:
        file = labels / f"Labels_{concept}_{split}.txt"
        bits = read_text(file).split()
        if len(bits) != len(lines):
            raise DataError(f"{file}: has {len(bits)} lines, but {images} lists {len(lines)} images")
        if not set(bits) <= {"0", "1"}:
            number = next(n for n, bit in enumerate(bits, start=1) if bit not in ("0", "1"))
            raise DataError(f"{file} line {number}: must be 0 or 1, not {bits[number - 1]!r}")
        for index, bit in enumerate(bits):
            if bit == "1":
                present[index].append(concept)
    for (number, path), names in zip(lines, present, strict=True):
        yield f"{images} line {number}", path, frozenset(names)


def tab_list(file: Path) -> Iterator[Line]:
    """Read lines `path<TAB>label,label,…`."""
    for number, line in numbered_lines(file):
        where = f"{file} line {number}"
        path, tab, labels = line.partition("\t")
        if not tab or "\t" in labels:
            raise DataError(f"{where}: must be a path, one tab and labels with commas between them, not {line[:60]!r}")
        yield where, path, _names(labels, ",")


def csv_list(file: Path) -> Iterator[tuple[str, Line]]:
    """Read columns path, labels, split by position, with or without a header; yield the split with each line."""
    reader = csv.reader(io.StringIO(read_text(file)), strict=True)
    try:
        for index, cells in enumerate(reader):
            where = f"{file} line {reader.line_num}"
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) < 3:
                raise DataError(f"{where}: must have three columns (path, labels, split), not {len(cells)}")
            path, labels, split = (cell.strip() for cell in cells[:3])
            if split.lower() not in ("train", "val", "test"):
                if index == 0 and "." not in path:  # a header: its first cell names a column, not a file
                    continue
                raise DataError(f"{where}: the third column must be train, val or test, not {split!r}")
            yield split.lower(), (where, path, _listed_names(labels, where))
    except csv.Error as error:
        raise DataError(f"{file} line {reader.line_num}: not CSV ({error})") from error


def _listed_names(cell: str, where: str) -> frozenset[str]:
    if not cell.startswith(("[", "(", "{")):
        return _names(cell, ";" if ";" in cell else ",")
    try:
        names = ast.literal_eval(cell)  # literals only: nothing in the file is ever run
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise DataError(f"{where}: the second column is not a list of labels: {cell[:60]!r}") from error
    if isinstance(names, dict) or not all(isinstance(name, str) for name in names):
        raise DataError(f"{where}: the second column must hold label names only, not {cell[:60]!r}")
    return frozenset(name.strip() for name in names if name.strip())


def _names(text: str, separator: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split(separator) if name.strip())
