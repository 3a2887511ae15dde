"""Data sets: one file each. A reader takes the root folder and returns a `Dataset`."""

from collections.abc import Callable
from pathlib import Path

from cuter.registry import Registry
from cuter.stream.samples import Dataset

Reader = Callable[[Path], Dataset]

DATASETS: Registry[Reader] = Registry("data set", "cuter.stream.datasets")
