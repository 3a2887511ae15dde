"""What is left to do, in words."""

from cuter.tables.estimate import Cost


def test_fewer_runs_than_asked_for_at_once_take_as_long_as_they_take() -> None:
    lines = Cost(runs=1, steps=2000, images=24_000, bytes=2e9, seconds=8 * 3600).lines(at_once=8)
    assert lines == [
        "2,000 steps over 24,000 images to learn",
        "they need about 2.0 GB",
        "about 8:00:00 with 1 at a time, as finished runs took here",
    ]
