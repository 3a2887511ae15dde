"""A folder for one process at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from cuter.errors import ConfigError


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder for this process alone; the system lets go of it even after a kill."""
    try:
        import fcntl
    except ImportError:  # no such locks on Windows
        yield
        return
    with _open(folder / ".lock") as lock:
        try:
            # Not flock: worker processes would inherit it and hold it for a while after this one was killed.
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):  # the two that systems give for a lock that somebody has
            raise ConfigError(f"{folder} is in use by another process") from None
        except OSError as error:
            raise ConfigError(f"{folder} cannot be locked ({error}): choose a file system with locks") from None
        yield


def _open(file: Path) -> IO[bytes]:
    try:
        return file.open("ab")  # not "wb": a file of somebody else with this name stays as it is
    except OSError as error:
        raise ConfigError(f"{file.parent} cannot be locked ({error}): it cannot be written") from None
