"""The meter, with a clock that only moves when told."""

import pytest

from cuter.measure.throughput import Meter


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_too_early_to_tell():
    assert Meter(clock=Clock()).recent is None


def test_recent_follows_the_window():
    clock = Clock()
    meter = Meter(window=10, clock=clock)
    for _ in range(20):  # 20 s at 2 images/s
        clock.now += 1
        meter.add(2)
    assert meter.recent == pytest.approx(2)
    for _ in range(20):  # 20 s at 8 images/s
        clock.now += 1
        meter.add(8)
    assert meter.recent == pytest.approx(8)


def test_a_run_that_hangs_slows_down():
    clock = Clock()
    meter = Meter(window=10, clock=clock)
    clock.now += 1
    meter.add(10)
    clock.now += 4
    assert meter.recent == pytest.approx(2)
    clock.now += 60
    assert meter.recent == 0
