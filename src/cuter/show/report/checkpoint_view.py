"""What the newest checkpoint of a run shows: its memory, and how it sees test images."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from cuter.errors import CuterError
from cuter.learn.learner import Learner
from cuter.runs.config import load_saved_config
from cuter.runs.plan import make_plan
from cuter.runs.record import RunRecord
from cuter.show.report.gallery import Thumbnail, memory_thumbnails
from cuter.show.report.predictions import Look, look_at_tests
from cuter.show.run_labels import NamedRun
from cuter.stream.tasks import Visit

# What decides which images a run is tested on.
DECIDE_TESTS = ("dataset", "data_root", "dataset_options", "tasks", "class_order", "limit_test")

NO_CHECKPOINT = "it has no checkpoint yet"

TestImages = dict[str, list[Visit]]  # of data sets that were read already


@dataclass(frozen=True)
class Inside:
    """Pictures of a run, or notes that say why there are none."""

    thumbnails: list[Thumbnail] = field(default_factory=list)
    items: int = 0
    has_cutouts: bool = False
    looks: list[Look] = field(default_factory=list)
    no_memory: str = ""
    no_looks: str = ""


def to_be_shown(runs: Sequence[NamedRun]) -> list[NamedRun]:
    """Return one run of each group, a finished one if there is any: pictures of every seed would be too many."""
    chosen: dict[str, NamedRun] = {}
    for run in sorted(runs, key=lambda run: not run.record.is_finished):
        chosen.setdefault(run.group, run)
    return [run for run in runs if chosen[run.group] is run]


def look_inside(run: RunRecord, known: TestImages) -> Inside:
    """Load the learner of a run, on the CPU so that it sees the same everywhere, and take its pictures."""
    if not run.has_checkpoint:
        return Inside(no_memory=NO_CHECKPOINT, no_looks=NO_CHECKPOINT)
    try:
        learner = Learner.load(run.folder, device="cpu")
        thumbnails = memory_thumbnails(learner)
    except (CuterError, OSError) as error:
        return Inside(no_memory=str(error), no_looks="its checkpoint cannot be read")
    try:
        looks, reason = look_at_tests(learner, _test_images(run, known)), ""
    except (CuterError, OSError) as error:
        looks, reason = [], str(error)
    items = learner.memory.items
    has_cutouts = any(item.box is not None for item in items)
    return Inside(thumbnails, len(items), has_cutouts, looks, no_looks=reason)


def _test_images(run: RunRecord, known: TestImages) -> list[Visit]:
    """Return the images of the run's last test; runs often share them, and reading a data set takes a while."""
    key = json.dumps([run.config.get(name) for name in DECIDE_TESTS], default=str)
    if key not in known:
        known[key] = make_plan(load_saved_config(run.folder / "config.yaml")).test[-1]
    return known[key]
