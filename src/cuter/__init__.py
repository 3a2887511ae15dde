"""Multi-label online continual learning."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cuter.backbone import Backbone, load_backbone
    from cuter.cut import Localiser
    from cuter.learn.learner import Learner
    from cuter.memory import Memory
    from cuter.runs.task_stream import TaskStream
    from cuter.stream.batch import Batch
    from cuter.stream.datasets import load_dataset
    from cuter.stream.images import read_images
    from cuter.stream.labels import LabelSpace
    from cuter.stream.sources import as_batches

__version__ = "0.1.0"

_HOMES = {
    "Backbone": "cuter.backbone",
    "Batch": "cuter.stream.batch",
    "LabelSpace": "cuter.stream.labels",
    "Learner": "cuter.learn.learner",
    "Localiser": "cuter.cut",
    "Memory": "cuter.memory",
    "TaskStream": "cuter.runs.task_stream",
    "as_batches": "cuter.stream.sources",
    "load_backbone": "cuter.backbone",
    "load_dataset": "cuter.stream.datasets",
    "read_images": "cuter.stream.images",
}

__all__ = [
    "Backbone",
    "Batch",
    "LabelSpace",
    "Learner",
    "Localiser",
    "Memory",
    "TaskStream",
    "as_batches",
    "load_backbone",
    "load_dataset",
    "read_images",
]


def __getattr__(name: str) -> Any:
    """Import the public names when they are first asked for: `import cuter` does not wait for torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'cuter' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """List the public names, also those that nobody has asked for yet."""
    return sorted({*globals(), *__all__})
