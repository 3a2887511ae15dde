"""Where a folder holds a learner: a saved one, the current version of a model, or the newest checkpoint of a run."""

import json
import logging
from pathlib import Path

from cuter.errors import CheckpointError, NoLearnerError
from cuter.storage import MANIFEST, newest_whole

logger = logging.getLogger("cuter.learner")

MODEL_INDEX = "model.json"  # of a folder that holds versions of a model (cuter.models.versions)


def find_saved(folder: Path) -> Path:
    """Return the folder itself, the current version in it, or the newest whole checkpoint in it.

    Where a run had gone further than that checkpoint, there is a warning.

    Raises:
        NoLearnerError: There is nothing of the kind.
        CheckpointError: What is there is damaged.
    """
    if (folder / MODEL_INDEX).is_file():
        return newest_whole([folder / _current_version(folder / MODEL_INDEX)])
    checkpoints = list(folder.glob("checkpoints/step-*"))
    if not folder.is_dir():
        raise NoLearnerError(f"{folder}: {'a file, not a folder' if folder.exists() else 'no such folder'}")
    if not checkpoints and not any((folder / name).exists() for name in (MANIFEST, "learner.json")):
        raise NoLearnerError(f"{folder} holds no model, no run with checkpoints, and no saved learner")
    found = newest_whole(checkpoints or [folder])
    if checkpoints and (end := _last_step(folder)) is not None and found.name != f"step-{end:08d}":
        logger.warning(
            "%s is read, but the run ended with step %d: 'cuter run --resume %s' makes its last checkpoint again",
            found,
            end,
            folder,
        )
    return found


def _current_version(index: Path) -> str:
    try:
        found = json.loads(index.read_text(encoding="utf-8"))
        return next(str(one["folder"]) for one in found["versions"] if one["number"] == found["current"])
    except (OSError, ValueError, KeyError, TypeError, StopIteration) as error:
        raise CheckpointError(f"{index} is damaged ({error!r})") from error


def _last_step(run: Path) -> int | None:
    """Return how many steps a finished run had; None if it is not finished, or nothing can be read of it."""
    try:
        return int(json.loads((run / "summary.json").read_text(encoding="utf-8"))["steps"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
