"""The toybox: scenes that are rendered on first use, so that nothing needs to be downloaded."""

import logging
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from cuter.cache import cache_folder
from cuter.errors import ConfigError, DataError
from cuter.stream.datasets import DATASETS
from cuter.stream.datasets.folder import folder
from cuter.stream.samples import Dataset
from cuter.toybox import CLASSES, VERSION
from cuter.toybox.cache import render_toybox

logger = logging.getLogger("cuter.toybox")

MOST_SCENES = 1_000_000


@DATASETS.register("toybox")
def toybox(
    root: Path | None = None, train: int = 3000, test: int = 1000, seed: int = 0, close_ups: bool = False
) -> Dataset:
    """Read the rendered world of 25 everyday things.

    It is kept in a sub-folder of `root` (by default of the user's cache) whose name tells version, sizes and seed, and
    rendered first if there is none. With `close_ups`, what there is to train on are pictures of one large thing each,
    of all classes alike: as are most collections for pre-training.
    """
    for option, value in (("train", train), ("test", test), ("seed", seed)):
        least, most = (0, 2**64 - 1) if option == "seed" else (1, MOST_SCENES)
        if not least <= value <= most:
            raise ConfigError(f"data set 'toybox': option {option!r} must be from {least} to {most}, not {value}")
    place = (root or cache_folder("toybox")) / (
        f"v{VERSION}-train{train}-test{test}-seed{seed}" + "-close-ups" * close_ups
    )
    if not place.is_dir():
        _render(place, train, test, seed, close_ups)
    return replace(folder(place), name="toybox", classes=CLASSES)


def _render(place: Path, train: int, test: int, seed: int, close_ups: bool) -> None:
    logger.info("rendering %d scenes of the toybox into %s, once", train + test, place)
    console = Console(stderr=True)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as bar:
        row = bar.add_task("rendering the toybox", total=train + test)
        try:
            render_toybox(
                place, train, test, seed, lambda done, total: bar.update(row, completed=done), close_ups=close_ups
            )
        except OSError as error:
            raise DataError(f"the toybox cannot be rendered into {place}: {error}") from error
