"""A test split for images that nothing divides."""

import hashlib
from collections.abc import Iterable

from cuter.errors import ConfigError
from cuter.stream.samples import Sample


def check_share(dataset: str, test_share: float) -> None:
    """Refuse a share of test images that leaves one of the splits empty."""
    if not 0 < test_share < 1:
        raise ConfigError(f"data set {dataset!r}: option 'test_share' must lie between 0 and 1, not {test_share}")


def is_for_testing(name: str, test_share: float) -> bool:
    """Tell whether an image goes to the test split: by the hash of its name, so that a new one moves no other."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") / 2**64 < test_share


def divided(samples: Iterable[Sample], test_share: float) -> tuple[list[Sample], list[Sample]]:
    """Return the samples to train on, and about `test_share` of all to test with."""
    train: list[Sample] = []
    test: list[Sample] = []
    for sample in samples:
        (test if is_for_testing(sample.id, test_share) else train).append(sample)
    return train, test
