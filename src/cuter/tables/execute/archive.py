"""The folder of a run as one archive, for machines that share no disk."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

from cuter.errors import CuterError


def newest_checkpoint(folder: Path) -> Path | None:
    """Return the newest checkpoint of a run, if it has one."""
    return max((folder / "checkpoints").glob("step-*"), default=None)


def pack(folder: Path) -> bytes | None:
    """Return a run as an archive, with its newest checkpoint alone, also while it goes on.

    The checkpoint comes first: all else only grows, so it is at least as far. Returns None if the checkpoint was
    replaced or dropped meanwhile.
    """
    newest = newest_checkpoint(folder)
    archive = io.BytesIO()
    try:
        with tarfile.open(fileobj=archive, mode="w") as tar:
            if newest is not None:
                before = newest.stat().st_ino
                for path in sorted(newest.iterdir()):
                    tar.add(path, path.relative_to(folder))
                if newest.stat().st_ino != before:
                    return None
            for path in sorted(folder.rglob("*")):
                if path.is_file() and _belongs(path.relative_to(folder)):
                    tar.add(path, path.relative_to(folder))
    except FileNotFoundError:
        return None
    return archive.getvalue()


def _belongs(path: Path) -> bool:
    """Leave out checkpoints, of which one is taken, and hidden files: a lock, or something half-written."""
    return path.parts[0] != "checkpoints" and not any(part.startswith(".") for part in path.parts)


def unpack(archive: bytes, folder: Path) -> None:
    """Write the files of an archive below a folder; anything but plain files is refused."""
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(folder, filter=_plain)
    except tarfile.TarError as error:
        raise CuterError(f"what came for {folder} is not the folder of a run: {error}") from None


def _plain(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo | None:
    if not member.isreg():
        raise CuterError(f"what came for {folder} is not the folder of a run: {member.name!r} is not a plain file")
    return tarfile.data_filter(member, folder)
