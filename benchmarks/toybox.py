"""How fast the toybox is rendered on one core, and where the time goes.

    python benchmarks/toybox.py

Scenes/s are of the processor's time, so that other programs on the machine count less; best of several max_regions. The
stages are timed in a run of their own, because timing them costs time too. 'write' is encoding and writing the files
of a scene, which rendering alone does not need.
"""

import argparse
import secrets
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import cuter.toybox.scene as scenes
from cuter.toybox import draw_scene
from cuter.toybox.cache import render_toybox

STAGES = {
    "draw_backdrop": "backdrop",
    "_clutter": "clutter",
    "_things": "sketch",  # what is left of it without paint
    "paint": "paint",
    "_arrange": "arrange",
    "cast_shadow": "shadows",
    "_truth": "boxes",
    "light_and_shoot": "light",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=int, default=200, help="in each round")
    parser.add_argument("--localiser.max-regions", type=int, default=5)
    arguments = parser.parse_args()
    for number in range(2 * arguments.scenes):  # the pools fill
        draw_scene("test", number)
    best = min(seconds(lambda: render(arguments.scenes)) for _ in range(arguments.max_regions))
    with tempfile.TemporaryDirectory() as folder:
        written = min(seconds(lambda: write(arguments.scenes, Path(folder))) for _ in range(arguments.max_regions))
    spent = stages(arguments.scenes)
    console = Console()
    console.print(f"{arguments.scenes / best:.0f} scenes/s rendered, {arguments.scenes / written:.0f} with files")
    table = Table("stage", "ms a scene", "share")
    total = sum(spent.values())
    for name, took in sorted(spent.items(), key=lambda item: -item[1]):
        table.add_row(name, f"{1000 * took / arguments.scenes:.2f}", f"{took / total:.0%}")
    console.print(table)


def seconds(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def render(count: int) -> None:
    for number in range(count):
        draw_scene("train", number)


def write(count: int, folder: Path) -> None:
    render_toybox(folder / secrets.token_hex(4), train=count, test=0)


def stages(count: int) -> dict[str, float]:
    """Time each stage; what one stage spends inside another counts for the inner one alone."""
    spent: dict[str, float] = defaultdict(float)
    inner = [0.0]

    def timed(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*positional: Any, **named: Any) -> Any:
            before = time.process_time()
            inner.append(0.0)
            result = work(*positional, **named)
            took = time.process_time() - before
            spent[name] += took - inner.pop()
            inner[-1] += took
            return result

        return wrapper

    originals = {name: getattr(scenes, name) for name in STAGES}
    for name, stage in STAGES.items():
        setattr(scenes, name, timed(stage, originals[name]))
    try:
        timed("the rest", render)(count)
    finally:
        for name, work in originals.items():
            setattr(scenes, name, work)
    return spent


if __name__ == "__main__":
    main()
