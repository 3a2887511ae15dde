from pathlib import Path

import pytest

from cuter.stream.datasets import load_dataset
from cuter.stream.samples import Dataset


@pytest.fixture(scope="session")
def voc(shared: Path) -> Dataset:
    """VOC 2007, which takes seconds to read."""
    return load_dataset("voc", shared / "data")
