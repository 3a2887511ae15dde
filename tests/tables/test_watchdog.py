"""A run ends with the process that started it, and can be asked to stop."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cuter.tables.execute import watchdog
from waiting import wait_for

# tells its process, and stops as a run does
RUN = """
import os, signal, sys, time
signal.signal(signal.SIGINT, lambda *_: sys.exit(7))
print(os.getpid(), flush=True)
while True: time.sleep(0.01)
"""

# starts a run under the watchdog while SIGINT is blocked, as it is in Ray's processes
STARTER = f"""
import os, signal, subprocess, sys, time
signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
signal.signal(signal.SIGINT, signal.SIG_IGN)
run = subprocess.Popen([sys.executable, {watchdog.__file__!r}, str(os.getpid()), sys.executable, "-c", {RUN!r}])
sys.exit(run.wait())
"""


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def start() -> tuple["subprocess.Popen[str]", int]:
    starter = subprocess.Popen([sys.executable, "-c", STARTER], stdout=subprocess.PIPE, text=True)
    assert starter.stdout is not None
    return starter, int(starter.stdout.readline())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_a_run_ends_with_who_started_it() -> None:
    starter, run = start()
    assert is_running(run)
    starter.kill()
    wait_for(lambda: not is_running(run))
    starter.communicate()


def test_a_run_can_be_asked_to_stop() -> None:
    starter, run = start()
    subprocess.run(["kill", f"-{signal.SIGINT.value}", str(run)], check=True)
    starter.communicate()
    assert starter.returncode == 7


def test_nothing_is_started_for_who_has_ended() -> None:
    command = [sys.executable, watchdog.__file__, "-1", sys.executable, "-c", "print('here')"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "has ended already" in done.stderr
