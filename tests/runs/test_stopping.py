import signal
from contextlib import suppress

import pytest

from cuter.runs.stopping import stop_on_signals


@pytest.fixture
def heard() -> list[int]:
    """Signals that reach who listened before."""
    return []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_request_that_nobody_met_is_handed_on(number: int, heard: list[int]) -> None:
    before = signal.signal(number, lambda number, frame: heard.append(number))
    try:
        with stop_on_signals() as stop:
            assert not stop.asked
            signal.raise_signal(number)
            assert stop.asked
            assert heard == []
        assert heard == [number]
        with stop_on_signals():
            pass
        assert heard == [number], "once"
    finally:
        signal.signal(number, before)


def test_a_request_that_was_met_is_done_with(heard: list[int]) -> None:
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        with suppress(InterruptedError), stop_on_signals():
            signal.raise_signal(signal.SIGINT)
            raise InterruptedError
        assert heard == []
        signal.raise_signal(signal.SIGINT)
        assert heard == [signal.SIGINT], "who listened before listens again"
    finally:
        signal.signal(signal.SIGINT, before)
