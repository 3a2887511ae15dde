"""What the newest checkpoint of a run shows: its memory, and how it sees test images."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from PIL import Image

from cuter.errors import CuterError
from cuter.learn.learner import Learner
from cuter.memory import Item
from cuter.runs.config import field_names, load_saved_config
from cuter.runs.plan import make_plan
from cuter.runs.record import RunRecord
from cuter.settings import Role
from cuter.show.pictures import data_uri, fitted_size
from cuter.show.report.predictions import Prediction, predict_tests
from cuter.show.run_labels import NamedRun
from cuter.stream.tasks import StreamSample

NO_CHECKPOINT = "it has no checkpoint yet"

TestImages = dict[str, list[StreamSample]]  # of data sets that were read already
SHOWN_ITEMS = 32
SIDE = 112  # pixels of the longer side of an item


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """An item of memory."""

    picture: str  # a data URI
    labels: tuple[str, ...]
    is_cutout: bool
    width: int  # of the item itself, in pixels
    height: int

    @property
    def kind(self) -> str:
        """What it is, and how large if that is not the same for all."""
        return f"cut-out {self.width}×{self.height}" if self.is_cutout else "whole image"

    @property
    def alt(self) -> str:
        """What stands for the picture where it cannot be seen."""
        return f"{self.kind}, labelled {', '.join(self.labels) or 'with nothing'}"


@dataclass(frozen=True)
class CheckpointView:
    """Pictures of a run, or notes that say why there are none."""

    thumbnails: list[Thumbnail] = field(default_factory=list)
    items: int = 0
    has_cutouts: bool = False
    predictions: list[Prediction] = field(default_factory=list)
    no_memory: str = ""
    no_predictions: str = ""


def runs_to_show(runs: Sequence[NamedRun]) -> list[NamedRun]:
    """Return one run of each group, a finished one if there is any: pictures of every seed would be too many."""
    chosen: dict[str, NamedRun] = {}
    for run in sorted(runs, key=lambda run: not run.record.is_finished):
        chosen.setdefault(run.group, run)
    return [run for run in runs if chosen[run.group] is run]


def view_checkpoint(run: RunRecord, known: TestImages) -> CheckpointView:
    """Load the learner of a run, on the CPU so that it sees the same everywhere, and take its pictures."""
    if not run.has_checkpoint:
        return CheckpointView(no_memory=NO_CHECKPOINT, no_predictions=NO_CHECKPOINT)
    try:
        learner = Learner.load(run.folder, device="cpu")
        thumbnails = memory_thumbnails(learner)
    except (CuterError, OSError) as error:
        return CheckpointView(no_memory=str(error), no_predictions="its checkpoint cannot be read")
    try:
        predictions, reason = predict_tests(learner, _test_images(run, known)), ""
    except (CuterError, OSError) as error:
        predictions, reason = [], str(error)
    items = learner.memory.items
    has_cutouts = any(item.box is not None for item in items)
    return CheckpointView(thumbnails, len(items), has_cutouts, predictions, no_predictions=reason)


def _test_images(run: RunRecord, known: TestImages) -> list[StreamSample]:
    """Return the images of the run's last test; runs often share them, and reading a data set takes a while."""
    key = json.dumps([run.config.get(name) for name in field_names(Role.TESTED)], default=str)
    if key not in known:
        known[key] = make_plan(load_saved_config(run.folder / "config.yaml")).test[-1]
    return known[key]


def memory_thumbnails(learner: Learner, most: int = SHOWN_ITEMS) -> list[Thumbnail]:
    """Return items as memory itself draws them, one of each class by turns, in the order of their classes.

    The learner's generator goes on by that, so it should not learn afterwards.
    """
    items = learner.memory.sample_evenly(most)
    return [_thumbnail(item, learner.labels.names) for item in sorted(items, key=lambda item: (item.classes, item.id))]


def _thumbnail(item: Item, names: tuple[str, ...]) -> Thumbnail:
    image = Image.fromarray(item.picture.permute(1, 2, 0).numpy())
    size = fitted_size(image.size, (SIDE, SIDE)) if max(image.size) > SIDE else image.size
    labels = tuple(names[column] for column in item.labels.nonzero().flatten().tolist())
    return Thumbnail(data_uri(image.resize(size)), labels, item.box is not None, image.width, image.height)
