"""A run belongs to one process at a time, also when the same command is given twice."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TextIO

from cuter.errors import CuterError


def claim(path: Path) -> TextIO | None:
    """Take a lock file for this process and those that inherit it; None if somebody else has it.

    The system lets go of it when the last of them has ended, however that was, so no lock is ever left behind. What
    is written in it only tells people whose it is.
    """
    try:
        import fcntl
    except ImportError:
        raise CuterError(
            "several runs at once need locks that Windows does not have: use Linux, macOS or WSL"
        ) from None
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.open("a", encoding="utf-8")
    try:
        # flock, not lockf: a run that goes on after the command that started it was killed must hold it still
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
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
    """Return who has a lock, as it was written."""
    return path.read_text(encoding="utf-8").strip() if path.is_file() else "nobody"
