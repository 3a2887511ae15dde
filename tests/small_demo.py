"""Settings that make the demonstration small enough for a test."""

import functools
from pathlib import Path
from typing import Any

from cuter.show import demo


def small_demo(backbone: Path) -> dict[str, Any]:
    """Return arguments of `run_demo` and `can_go_on`."""
    options = {
        "dataset_options": {"train": 60, "test": 40},
        "memory.images": 10,
        "replay.size": 3,
        "probe_images": 4,
        "workers": 0,
        "lr": 1e-3,
    }
    return {"backbone": str(backbone), "options": options}


def make_the_demo_small(backbone: Path) -> None:
    """Let the command of this process carry out the small one."""
    demo.run_demo = functools.partial(demo.run_demo, **small_demo(backbone))
