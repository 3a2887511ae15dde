"""The meter, with a clock that only moves when told."""

import pytest

from cuter.measure.throughput import Meter


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_too_early_to_tell():
    meter = Meter(total=10, clock=Clock())
    assert (meter.recent, meter.overall, meter.seconds_left) == (None, None, None)


def test_recent_follows_the_window_and_overall_does_not():
    clock = Clock()
    meter = Meter(total=1000, window=10, clock=clock)
    for _ in range(20):  # 20 s at 2 images/s
        clock.now += 1
        meter.add(2)
    for _ in range(20):  # 20 s at 8 images/s
        clock.now += 1
        meter.add(8)
    assert meter.recent == pytest.approx(8)
    assert meter.overall == pytest.approx(5)
    assert meter.seconds_left == pytest.approx(100)


def test_a_run_that_hangs_slows_down():
    clock = Clock()
    meter = Meter(total=100, window=10, clock=clock)
    clock.now += 1
    meter.add(10)
    clock.now += 4
    assert meter.recent == pytest.approx(2)
    clock.now += 60
    assert meter.recent == 0
    assert meter.seconds_left is None


def test_nothing_left_and_unknown_total():
    clock = Clock()
    done, endless = Meter(total=5, clock=clock), Meter(clock=clock)
    clock.now += 1
    done.add(6)
    endless.add(6)
    assert done.seconds_left == 0
    assert endless.seconds_left is None
