"""A `labels.csv` to fill in: one row for each image of a folder."""

import csv
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cuter.errors import ConfigError, DataError
from cuter.storage import write_text
from cuter.stream.datasets.faults import Faults
from cuter.stream.datasets.files import read_text, relative_path, require_folder
from cuter.stream.datasets.folder import ANNOTATION_FILES
from cuter.stream.datasets.rows import FIELDS, NEEDED, NOT_ANNOTATED
from cuter.stream.datasets.table import read_table
from cuter.stream.images import FORMATS, image_suffixes, path_text
from cuter.stream.inspect import Progress, find_unreadable
from cuter.stream.labels import clean_name, has_control_characters


@dataclass(frozen=True)
class FilledIn:
    """What became of the images of a folder.

    `added` rows are new, and `labelled` of them have labels already; `listed` rows were there before. `left_out` tells
    by path why an image has no row.
    """

    file: Path
    added: int
    labelled: int
    listed: int
    left_out: dict[str, str]


def write_rows_to_fill_in(
    folder: Path,
    out: Path | None = None,
    *,
    from_folders: bool = False,
    add: bool = False,
    progress: Progress | None = None,
) -> FilledIn:
    """Write a file with a row for each readable image in a folder and its sub-folders, in the order of their paths.

    Labels are `?`, which readers leave out, until somebody fills them in: an image that nobody has looked at must not
    teach that it shows nothing.

    Args:
        folder: Where the images are; paths in the file are relative to it. What begins with a dot is passed over.
        out: The file, by default `labels.csv` in the folder. It is never overwritten.
        from_folders: Label an image by the folders that it is in: `a/b/1.jpg` shows a and b.
        add: Add rows for images that the file does not list yet, and leave the others as they are.
        progress: Told how many images have been read.

    Returns:
        How many rows there are, and which images have none.

    Raises:
        ConfigError: There is such a file already, or it cannot be written.
        DataError: The folder holds no image, or the file that is to be added to cannot be read.
    """
    require_folder(folder)
    file = folder / "labels.csv" if out is None else out
    _require_free(file, folder, add)
    images = _images_under(folder)
    if not images:
        raise DataError(f"{folder} holds no image, nor do its sub-folders. Formats read: {', '.join(FORMATS)}")
    before = _Before.read(file)
    left_out: dict[str, str] = {}
    rows: list[tuple[Path, str, list[str]]] = []
    for image in images:
        try:
            path = _listable(image, folder)
            if path not in before.paths:
                rows.append((image, path, _labels_of(path) if from_folders else []))
        except DataError as error:
            left_out[path_text(image)] = str(error)
    unreadable = find_unreadable([image for image, _, _ in rows], progress=progress)
    rows = [row for row in rows if path_text(row[0]) not in unreadable]
    if rows:
        _write(file, before, [(path, labels) for _, path, labels in rows])
    return FilledIn(
        file=file,
        added=len(rows),
        labelled=sum(bool(labels) for _, _, labels in rows),
        listed=len(before.paths),
        left_out=left_out | unreadable,
    )


def _require_free(file: Path, folder: Path, add: bool) -> None:
    if not file.parent.is_dir():
        raise ConfigError(f"{file.parent}: no such folder to write {file.name} into")
    if file.suffix != ".csv":
        raise ConfigError(f"{file}: the name of the file must end in .csv")
    if file.exists() and not add:
        raise ConfigError(
            f"{file} is there already, and is not overwritten: --add adds the images that it does not list, "
            "--out names another file"
        )
    others = [name for name in ANNOTATION_FILES if (folder / name).is_file() and not _same(folder / name, file)]
    if others and _same(file.parent, folder) and file.name in ANNOTATION_FILES:
        raise ConfigError(
            f"{folder} holds {others[0]}, and {file.name} cannot stand beside it: --out names another file"
        )


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _images_under(folder: Path) -> list[Path]:
    suffixes = image_suffixes()
    found = []
    for inside, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(inside, name) for name in files if not name.startswith(".")]
    return sorted(path for path in found if path.suffix.lower() in suffixes)


@dataclass(frozen=True)
class _Before:
    """What is in the file already."""

    text: str
    header: Sequence[str]
    separator: str
    paths: frozenset[str]

    @classmethod
    def read(cls, file: Path) -> "_Before":
        if not file.exists():
            return cls("path,labels\n", NEEDED, ",", frozenset())
        faults = Faults()
        table = read_table(file, FIELDS, NEEDED, faults)
        paths = set()
        for where, cells in table.rows:
            with faults.noted():
                paths.add(relative_path(cells["path"], f"{where}: field 'path'"))
        faults.tell()
        return cls(read_text(file).rstrip("\n") + "\n", table.header, table.separator, frozenset(paths))


def _listable(image: Path, folder: Path) -> str:
    """Return the path for the file, if the file can hold it: what is read from it must be the same path again."""
    try:
        path = os.fsencode(image.relative_to(folder).as_posix()).decode()
    except UnicodeDecodeError:
        raise DataError("its name is not UTF-8 text: rename it") from None
    if "\r" in path or relative_path(path, path) != path:
        raise DataError("its name cannot be written in a CSV file: rename it")
    return path


def _labels_of(path: str) -> list[str]:
    labels = list(dict.fromkeys(clean_name(folder) for folder in PurePosixPath(path).parts[:-1]))
    for label in labels:
        if not label or label == NOT_ANNOTATED or set(label) & set(";|,") or has_control_characters(label):
            raise DataError(f"the name of its folder {label!r} cannot be a label: rename it")
    return labels


def _write(file: Path, before: _Before, rows: Sequence[tuple[str, Sequence[str]]]) -> None:
    between_names = "|" if before.separator == ";" else ";"
    lines = io.StringIO()
    writer = csv.writer(lines, delimiter=before.separator, lineterminator="\n")
    for path, labels in rows:
        cells = {"path": path, "labels": between_names.join(labels) or NOT_ANNOTATED}
        writer.writerow([cells.get(field, "") for field in before.header])
    if _Before.read(file) != before:  # reading the images took a while
        raise ConfigError(f"{file} was changed while the images were read, and is left as it is: please try again")
    text = before.text + lines.getvalue()
    mark = "" if text.isascii() else "\ufeff"  # without it Excel takes the file for text of another encoding
    try:
        write_text(file, mark + text)
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {(error.strerror or str(error)).lower()}") from error
