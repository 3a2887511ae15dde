"""File locks: a folder, or a run, belongs to one process at a time.

The system releases a lock when its holder ends, however that was, so that none is ever left behind.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from filelock import FileLock, Timeout, lock_descriptor

from cuter.errors import ConfigError, CuterError


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder for this process alone. Worker processes that it forks do not hold it.

    Raises:
        ConfigError: Another process holds the folder, or it cannot be locked.
    """
    with _held(folder / ".lock", folder):
        yield


@contextmanager
def locked_file(file: Path) -> Iterator[None]:
    """Hold a file that this process is about to write, as `locked` does a folder. No lock stays behind beside it."""
    lock = file.with_name(f".{file.name}.lock")
    with _held(lock, file):
        try:
            yield
        finally:
            with suppress(OSError):  # Windows removes no file that is open
                lock.unlink()  # while it is held: who opens it later finds another one, and who has it open looks again


@contextmanager
def _held(path: Path, what: Path) -> Iterator[None]:
    try:
        lock = FileLock(path, fallback_to_soft=False).acquire(blocking=False)
    except Timeout:
        raise ConfigError(f"{what} is in use by another process") from None
    except OSError as error:
        raise ConfigError(
            f"{what} cannot be locked ({error}): choose a folder that can be written, on a file system with locks"
        ) from None
    with lock:
        yield


def claim(path: Path) -> TextIO | None:
    """Lock a file for this process and for those that inherit it, until all of them have closed it.

    A run inherits the lock of the command that started it, and so holds it also when the command is killed. The text of
    the file says who holds it; it is for people.

    Returns:
        The open file, or None if another process holds the lock.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.open("a", encoding="utf-8")
    try:
        if not lock_descriptor(lock.fileno(), blocking=False):
            lock.close()
            return None
    except OSError as error:
        lock.close()
        raise CuterError(f"{path} cannot be locked ({error}): choose an --out on a file system with locks") from None
    write_owner(lock, os.getpid())
    return lock


def write_owner(lock: TextIO, process: int, host: str | None = None) -> None:
    """Note which process a lock is held for, on this machine unless another is named."""
    lock.truncate(0)
    lock.write(f"process {process} on {host or socket.gethostname()}\n")
    lock.flush()


def owner(path: Path) -> str:
    """Return who holds a lock, as it was written."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return "nobody"
    except OSError:  # Windows lets nobody read a locked file
        return "another process"
