"""The user's cache: what can be made or fetched again, and is whole wherever it is."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_folder(name: str) -> Path:
    """Return where things of one kind are kept: under `CUTER_CACHE`, or else `~/.cache/cuter`."""
    return Path(os.environ.get("CUTER_CACHE") or Path.home() / ".cache" / "cuter") / name


@contextmanager
def made_once(folder: Path) -> Iterator[Path | None]:
    """Yield a new folder that gets the name `folder` at the end, or None if there is one of that name already.

    A kill leaves no half folder of that name, but one beside it whose name begins with a dot. Of two processes that
    make the same folder at once, the first to finish gives it its name, and the work of the other is thrown away.
    Nothing is forced to the disk: what a power cut damages can be deleted, and is made again.
    """
    if folder.is_dir():
        yield None
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.part")
    new.mkdir()
    try:
        yield new
        try:
            new.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
    finally:
        shutil.rmtree(new, ignore_errors=True)
