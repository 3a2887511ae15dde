"""Files out of an archive that may hold anything."""

import shutil
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from cuter.errors import DataError
from cuter.stream.datasets.files import native, relative_path
from cuter.stream.download.fetch import Progress


def unpack(archive: Path, inner: str, folder: Path, progress: Progress) -> None:
    """Write what a tar or zip archive holds under its folder `inner` into `folder`.

    Paths that leave the archive are refused. Links and devices are left out, as are owners and permissions: of images
    and annotations, only what is in the files matters.
    """
    total = archive.stat().st_size
    try:
        for name, end, content in _files(archive):
            path = relative_path(name, f"{archive}: name of a file")
            if path.startswith(f"{inner}/"):
                target = folder / native(path.removeprefix(f"{inner}/"))
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as file:
                    shutil.copyfileobj(content, file)
            progress(f"unpacking {archive.name}", min(end, total), total)
    except (tarfile.TarError, zipfile.BadZipFile) as error:
        raise DataError(f"{archive} cannot be unpacked: {error}") from error


def _files(archive: Path) -> Iterator[tuple[str, int, IO[bytes]]]:
    """Yield of each file its name, where in the archive it ends, and its content."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as zipped:
            for info in zipped.infolist():
                if not info.is_dir():
                    with zipped.open(info) as content:
                        yield info.filename, info.header_offset + info.compress_size, content
    else:
        with tarfile.open(archive, "r:") as tar:
            for member in tar:
                if member.isreg() and (extracted := tar.extractfile(member)):
                    yield member.name, member.offset_data + member.size, extracted
