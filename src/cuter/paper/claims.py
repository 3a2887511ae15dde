"""A run belongs to one process at a time, also when the same command is given twice."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TextIO

try:
    import fcntl
except ImportError:  # no such locks on Windows
    fcntl = None  # type: ignore[assignment]


def claim(path: Path) -> TextIO | None:
    """Take a lock file for this process and those that inherit it; None if somebody else has it.

    The system lets go of it when the last of them has ended, however that was, so no lock is ever left behind. What
    is written in it only tells people whose it is.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.open("a", encoding="utf-8")
    if fcntl is not None:
        try:
            # flock, not lockf: a run that goes on after the command that started it was killed must hold it still
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            return None
    lock.truncate(0)
    lock.write(f"process {os.getpid()} on {socket.gethostname()}\n")
    lock.flush()
    return lock


def owner(path: Path) -> str:
    """Return who has a lock, as it was written."""
    return path.read_text(encoding="utf-8").strip() if path.is_file() else "nobody"
