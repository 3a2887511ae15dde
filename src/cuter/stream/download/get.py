"""A data set from its public home into a folder: fetched, unpacked, whole or not there."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from rich.filesize import decimal

from cuter.cache import made_once
from cuter.errors import DataError
from cuter.lock import locked
from cuter.stream.download.fetch import Progress, Say, WebFile, fetch, part_of
from cuter.stream.download.homes import Piece, home_of
from cuter.stream.download.unpack import unpack


def get_dataset(
    name: str,
    root: Path,
    *,
    keep_archives: bool = False,
    progress: Progress = lambda what, done, total: None,
    say: Say = lambda text: None,
) -> None:
    """Bring the data set `name` into the folder `root`, as far as it is not there yet.

    Stopped or killed at any moment, the next call goes on where it was. A folder of the data set has its name only when
    it is whole; archives are deleted when they are unpacked, unless they are to be kept.
    """
    pieces = home_of(name).pieces
    if not any(piece.missing(root) for piece in pieces):  # asked before anything is written: the root may be read-only
        say(f"All of it is in {root} already")
        return
    try:
        root.mkdir(parents=True, exist_ok=True)
        with locked(root):
            _remove_leftovers(pieces, root)
            missing = [piece for piece in pieces if piece.missing(root)]  # another process may have been here
            _require_space(missing, root, keep_archives, say)
            for piece in missing:
                archives = [fetch(archive, root, progress, say) for archive in piece.archives]
                _unpack_piece(piece, archives, root, progress)
                if not keep_archives:
                    for archive in archives:
                        archive.unlink()
                names = " and ".join(archive.name for archive in archives)
                say(f"{root / piece.folder} is there; {names} {'kept' if keep_archives else 'deleted'}")
    except OSError as error:
        raise DataError(
            f"{error.filename or root}: {(error.strerror or str(error)).lower()}. What was fetched is kept: when this "
            "is mended, the same command goes on"
        ) from error


def _require_space(pieces: Sequence[Piece], root: Path, keep_archives: bool, say: Say) -> None:
    """Refuse to begin what the disk can't hold."""
    fetched, free = 0, shutil.disk_usage(root).free
    held = needed = 0  # beside what is on the disk now: after, and at most during, each piece
    for piece in pieces:
        coming = sum(archive.size - _present(archive, root) for archive in piece.archives)
        fetched += coming
        needed = max(needed, held + coming + piece.unpacked)
        held += coming + piece.unpacked - (0 if keep_archives else sum(archive.size for archive in piece.archives))
    if needed > free:
        raise DataError(
            f"{root}: the disk is too full. {decimal(needed)} are needed, for archives and what is unpacked from them; "
            f"{decimal(free)} are free"
        )
    say(f"{decimal(fetched)} to fetch into {root}; needs {decimal(needed)} of disk, {decimal(free)} are free")


def _present(archive: WebFile, root: Path) -> int:
    """Return how many bytes of an archive are on the disk already."""
    paths = (root / archive.name, part_of(archive, root))
    return min(archive.size, next((path.stat().st_size for path in paths if path.exists()), 0))


def _unpack_piece(piece: Piece, archives: Sequence[Path], root: Path, progress: Progress) -> None:
    with made_once(root / piece.folder) as folder:
        if folder is None:
            return
        for archive in archives:
            unpack(archive, piece.folder, folder, progress)
        if lack := piece.lack(folder):
            raise DataError(f"{' and '.join(map(str, archives))}: held only {lack}")
        if hasattr(os, "sync"):  # else a power cut could leave the name without the files, and the archives are gone
            os.sync()


def _remove_leftovers(pieces: Sequence[Piece], root: Path) -> None:
    """Remove what was half unpacked when a process was killed: gigabytes that nobody would miss."""
    for target in (root / piece.folder for piece in pieces):
        for leftover in target.parent.glob(f".{target.name}.*.part"):
            shutil.rmtree(leftover)
