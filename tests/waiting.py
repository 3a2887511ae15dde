"""Wait for what another process does, however busy the machine is."""

import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import Any


def wait_for(condition: Callable[[], Any], process: BaseProcess | None = None) -> Any:
    """Wait until a condition holds and return what it gave; the process that is to bring it about must be alive."""
    end = time.monotonic() + 500  # pytest gives up on a test after ten minutes, without a word about what it waited for
    while not (found := condition()):
        assert process is None or process.is_alive() or condition(), f"the process ended before, {process.exitcode}"
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)
    return found
