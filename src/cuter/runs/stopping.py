"""Ctrl-C and SIGTERM ask a run to stop at the next safe point; a second one stops it at once."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupted(Exception):
    """Work was asked to stop; all that was done is in its newest checkpoint."""


class StopRequest:
    """Whether somebody asked to stop."""

    def __init__(self) -> None:
        self.asked = False
        self.signal: int | None = None

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self.asked = True
        self.signal = number
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Watch for Ctrl-C and SIGTERM. Outside the main thread nothing can be watched, and nothing is.

    Who asks when there is no safe point left before the end is not forgotten: the signal is sent once more afterwards,
    so that whatever comes next does not begin.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = {number: signal.signal(number, request._on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if request.signal is not None:  # nobody stopped for it, else an exception would be on its way
        signal.raise_signal(request.signal)
