"""Settings that make the demonstration small enough for a test."""

from pathlib import Path
from typing import Any


def small_demo(backbone: Path) -> dict[str, Any]:
    """Return arguments of `run_demo` and `can_go_on`."""
    options = {
        "dataset_options": {"train": 60, "test": 40},
        "memory_images": 10,
        "replay_size": 3,
        "probe_images": 4,
        "workers": 0,
        "lr": 1e-3,
    }
    return {"backbone": str(backbone), "options": options}
