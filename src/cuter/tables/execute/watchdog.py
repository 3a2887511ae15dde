"""Becomes a run that ends with the process that started it, also when that is killed.

It is started as a file, `python watchdog.py COMMAND…`, and needs nothing but Python. Linux ends the run by itself;
elsewhere the run goes on, and the lock on its folder keeps the next one waiting.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress

PR_SET_PDEATHSIG = 1


def main(parent: int, command: list[str]) -> None:
    """Ask the system to end this process with its parent, then become the command."""
    with suppress(AttributeError):  # no Linux
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(f"process {parent}, which started this, has ended already")
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # what Ray ignores and blocks, a run would inherit
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.execv(command[0], command)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
