"""What the readers share: text files, paths that stay under the root, and a last look at the result."""

import codecs
import os
import posixpath
import re
from collections import Counter
from pathlib import Path

from pydantic import ValidationError

from cuter.errors import DataError, NotThereError
from cuter.stream.samples import Dataset

DRIVE = re.compile("^[A-Za-z]:/")


def require_folder(root: Path) -> None:
    """Refuse a root that is not a folder."""
    if not root.is_dir():
        raise NotThereError(f"{root}: {'not a folder' if root.exists() else 'no such folder'}")


def read_text(path: Path) -> str:
    """Return a text file with plain line ends and without a byte order mark: UTF-8, or UTF-16 that starts with one."""
    try:
        raw = path.read_bytes()
        # "Unicode text" of Excel is UTF-16; without its mark it cannot be told from a damaged file
        is_wide = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        return _plain_ends(raw.decode("utf-16" if is_wide else "utf-8-sig"))
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode(error.encoding, "replace")
        line = _plain_ends(before).count("\n") + 1
        raise DataError(f"{path} line {line}: not UTF-8 text; save the file as UTF-8") from error
    except OSError as error:
        raise DataError(f"{path}: {(error.strerror or str(error)).lower()}") from error


def _plain_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def numbered_lines(path: Path) -> list[tuple[int, str]]:
    """Return the lines that are not blank, each with its number counted from 1."""
    lines = enumerate(read_text(path).split("\n"), start=1)  # not splitlines, which also splits at form feeds
    return [(number, line) for number, line in lines if line.strip()]


def relative_path(listed: str, where: str) -> str:
    """Return a path as annotation files write it in one form: forward slashes, relative, inside the root."""
    path = posixpath.normpath(listed.strip().replace("\\", "/"))
    if path == ".":
        fault = "names no file"
    elif DRIVE.match(path):
        fault = "begins with a drive, which other machines do not have"
    elif path.startswith("/"):
        fault = "is absolute"
    elif path.split("/", 1)[0] == "..":
        fault = "leads out of it"
    elif "\0" in path:
        fault = "holds a zero byte"
    else:
        return path
    raise DataError(f"{where}: {listed!r} must be a path relative to the root folder that stays inside it; it {fault}")


def native(path: str) -> str:
    """Return a path of an annotation file as this system spells it: its bytes are UTF-8, whatever the locale says."""
    return os.fsdecode(path.encode("utf-8", "surrogateescape"))


def first_fault(error: ValidationError) -> str:
    """Return the first thing that a record gets wrong, with its field."""
    fault = error.errors()[0]
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault["loc"]).lstrip(".")
    if not field:
        return fault["msg"]
    given = "" if fault["type"] == "missing" else f", not {str(fault['input'])[:60]!r}"
    return f"field {field!r}: {fault['msg']}{given}"


def checked(dataset: Dataset, root: Path) -> Dataset:
    """Return the data set, unless a split is empty, names an image twice, or has none of its images on disk."""
    for split, samples in (("training", dataset.train), ("test", dataset.test)):
        if not samples:
            raise DataError(f"{root}: the {split} split of {dataset.name!r} holds no image")
        twice, times = Counter(sample.id for sample in samples).most_common(1)[0]
        if times > 1:
            raise DataError(f"{root}: the {split} split of {dataset.name!r} names image {twice!r} {times} times")
        if not any(sample.path.is_file() for sample in samples):
            raise DataError(
                f"{root}: none of the {len(samples)} images of the {split} split exists, "
                f"the first was looked for at {samples[0].path}"
            )
    if both := {sample.id for sample in dataset.train} & {sample.id for sample in dataset.test}:
        raise DataError(f"{root}: image {min(both)!r} is both in the training and in the test split")
    return dataset
