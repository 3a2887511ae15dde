"""A run under a guard: it does not outlive who asked for it, and hands on what it is asked and how it ended."""

import fcntl
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cuter.lock import claim
from cuter.tables.execute import watchdog as guard
from waiting import wait_for

Start = Callable[..., "subprocess.Popen[bytes]"]

# tells that it is there, in a child too, and how it was asked to stop
RUN = """
import os, signal, sys, time
signal.signal(signal.SIGINT, lambda *_: sys.exit(7))
os.fork()
print("here", file=sys.stderr, flush=True)
while True: time.sleep(0.01)
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a script under a guard, from a process that blocks SIGINT, as those of Ray do."""
    started = []

    def start(script: str, descriptor: int) -> "subprocess.Popen[bytes]":
        (tmp_path / "scratch").mkdir()
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
        with (tmp_path / "log").open("wb") as log:
            started.append(
                subprocess.Popen(
                    [sys.executable, guard.__file__, str(tmp_path / "scratch"), sys.executable, "-c", script],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    bufsize=0,
                    pass_fds=(descriptor,),
                )
            )
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        started[0].wait()
        return started[0]

    yield start
    for process in started:
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


def free(lock: Path) -> bool:
    """Tell whether nobody holds a lock, and leave it so."""
    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def test_a_run_and_its_children_end_with_the_pipe(start: Start, tmp_path: Path) -> None:
    lock = claim(tmp_path / "lock")
    assert lock is not None
    process = start(RUN, lock.fileno())
    lock.close()
    wait_for(lambda: (tmp_path / "log").read_text().count("here") == 2)
    assert not free(tmp_path / "lock")
    assert process.stdin is not None
    process.stdin.close()
    wait_for(lambda: free(tmp_path / "lock"))
    assert not (tmp_path / "scratch").exists()


def test_a_run_that_is_asked_to_stop_tells_its_code(start: Start, tmp_path: Path) -> None:
    lock = claim(tmp_path / "lock")
    assert lock is not None
    process = start(RUN.replace("os.fork()", ""), lock.fileno())
    lock.close()
    wait_for(lambda: "here" in (tmp_path / "log").read_text())
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b".")
    assert process.stdout.readline() == b"7\n"
    assert (tmp_path / "scratch").exists(), "there may be something to fetch"
