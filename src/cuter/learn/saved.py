"""Where a folder holds a learner: a saved one, or the newest whole checkpoint of a run."""

import json
import logging
from pathlib import Path

from cuter.storage import newest_whole

logger = logging.getLogger("cuter.learner")


def find_saved(folder: Path) -> Path:
    """Return the folder itself or the newest whole checkpoint in it; warn where the run had gone further than that."""
    checkpoints = list(folder.glob("checkpoints/step-*"))
    found = newest_whole(checkpoints or [folder])
    if checkpoints and (end := _last_step(folder)) is not None and found.name != f"step-{end:08d}":
        logger.warning(
            "%s is read, but the run ended with step %d: 'cuter run --resume %s' makes its last checkpoint again",
            found,
            end,
            folder,
        )
    return found


def _last_step(run: Path) -> int | None:
    """Return how many steps a finished run had; None if it is not finished, or nothing can be read of it."""
    try:
        return int(json.loads((run / "summary.json").read_text(encoding="utf-8"))["steps"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
