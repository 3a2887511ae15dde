"""Images inside Arrow and Parquet files become files of the cache, once: everything else reads images from files."""

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from cuter.cache import cache_folder, made_once
from cuter.errors import DataError
from cuter.stream.datasets.arrow import rows_of
from cuter.stream.datasets.faults import Faults

logger = logging.getLogger("cuter.stream")


def unpacked(splits: Mapping[str, Sequence[Path]], column: str) -> Path:
    """Return a folder that has each image as a file, `image_file`. It is made again only if a file has changed."""
    files = [(split, file) for split, files in splits.items() for file in files]
    try:
        facts = [(split, str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns) for split, file in files]
        digest = hashlib.sha256(json.dumps([facts, column]).encode()).hexdigest()
        folder = cache_folder("huggingface") / digest[:16]
        with made_once(folder) as new:
            if new is not None:
                logger.info("copying the images of %s to %s, once", files[0][1].parent, folder)
                _unpack(new, splits, column)
    except OSError as error:
        raise DataError(f"the images of {files[0][1]} cannot be copied to the cache: {error}") from error
    return folder


def image_file(folder: Path, split: str, number: int) -> Path:
    """Return the file of a split's image, which are counted from 0."""
    return folder / split / f"{number:08}"


def _unpack(folder: Path, splits: Mapping[str, Sequence[Path]], column: str) -> None:
    console = Console(stderr=True)
    faults = Faults()
    for split, files in splits.items():
        (folder / split).mkdir(parents=True)
        number = 0
        for file in track(files, f"copying images of {split}", console=console, disable=not console.is_terminal):
            for row, cells in enumerate(rows_of(file, [column]), start=1):
                with faults.noted():
                    content = _bytes(cells[column], f"{file} row {row}: column {column!r}")
                    image_file(folder, split, number).write_bytes(content)
                number += 1
    faults.tell()


def _bytes(image: Any, where: str) -> bytes:
    content = image.get("bytes") if isinstance(image, dict) else image
    if isinstance(content, bytes):
        return content
    if isinstance(image, dict) and image.get("path"):
        raise DataError(f"{where}: only names the file {image['path']!r}; save the data set with its images in it")
    raise DataError(f"{where}: holds no image")
