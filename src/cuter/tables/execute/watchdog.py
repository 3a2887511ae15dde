"""Stands between a run and the process of Ray that asked for it, so that the run never outlives that process.

It is started as a file, `python guard.py SCRATCH COMMAND…`, and needs nothing but Python. Its input is a pipe: a byte
asks the run to stop as Ctrl-C does, and the end of the pipe means that Ray's process is gone, however that was. Then
the run is killed and SCRATCH removed. Its output is one line: the code that the run ended with.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence

PAUSE = 0.1  # seconds between two looks at the run


def main(scratch: str, command: Sequence[str]) -> None:
    """Start the run and watch over it."""
    if (
        os.fork()
    ):  # Ray kills the children of a process that it ends: the guard must not be one, or nobody kills the run
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what Ray ignores and blocks, a run would inherit
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    run = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        close_fds=False,  # the lock of the run is handed on: it is free when guard, run and all its children are gone
        start_new_session=True,
    )
    ended = False
    while True:
        if not ended and run.poll() is not None:
            ended = True
            print(run.returncode, flush=True)
        if select.select([0], [], [], None if ended else PAUSE)[0]:
            if not os.read(0, 1):
                break
            run.send_signal(signal.SIGINT)
    if not ended:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
