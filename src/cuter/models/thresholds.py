"""Thresholds of a model by class, chosen on labelled images."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from cuter.errors import DataError
from cuter.learn.learner import Learner
from cuter.measure.thresholds import ClassThreshold, tune_thresholds
from cuter.stream.batch import membership
from cuter.stream.images import read_squashed
from cuter.stream.loading import decode_batches
from cuter.stream.samples import Sample

Progress = Callable[[int, int], None]  # (images done so far, images in all)


@dataclass(frozen=True)
class Tuned:
    """Thresholds of a model.

    classes: what was chosen for each class of the model; images: how many were looked at; unreadable: why others could
    not be; unknown: classes of the labelled images that the model does not know.
    """

    classes: list[ClassThreshold]
    images: int
    unreadable: list[str]
    unknown: list[str]

    @property
    def thresholds(self) -> dict[str, float]:
        """The thresholds by class, as a file has them."""
        return {one.name: one.threshold for one in self.classes}

    def as_dict(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        return {
            "images": self.images,
            "unreadable": len(self.unreadable),
            "unknown": self.unknown,
            "thresholds": self.thresholds,
            "classes": [one.as_dict() for one in self.classes],
        }


def tune(
    learner: Learner,
    samples: Sequence[Sample],
    classes: Sequence[str],
    *,
    precision: float | None = None,
    min_positives: int = 10,
    regions: bool = False,
    batch_size: int = 64,
    workers: int = 1,
    progress: Progress | None = None,
) -> Tuned:
    """Choose a threshold for each class of a model on labelled images that it has not learned.

    Args:
        learner: The model.
        samples: Labelled images. Labels that nobody looked for take part in nothing.
        classes: What was looked for in images that don't say it themselves: the classes of the data set.
        precision: As for `tune_thresholds`: the lowest threshold with this precision, in place of the best F1.
        min_positives: A class with fewer positives keeps 0.5.
        regions: Tune for predictions with regions, which have other probabilities.
        batch_size: Images per forward.
        workers: Processes that decode images ahead.
        progress: Is called after each batch.

    Returns:
        Thresholds, with precision, recall and F1 there and at 0.5.

    Raises:
        DataError: No image can be read.

    Examples:
        >>> import tempfile
        >>> import torch
        >>> from cuter import Batch, Learner, load_dataset
        >>> from cuter.models.thresholds import tune
        >>> learner = Learner.create(backbone="toybox", device="cpu")
        >>> step = learner.observe(Batch.of(torch.zeros(1, 3, 96, 96, dtype=torch.uint8), [["cat"]]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     toybox = load_dataset("toybox", folder, train=1, test=6)
        ...     tuned = tune(learner, toybox.test, toybox.classes, workers=0)
        >>> tuned.images, tuned.thresholds
        (6, {'cat': 0.5})
    """
    names, size = learner.labels.names, learner.backbone.image_size
    batches = [samples[start : start + batch_size] for start in range(0, len(samples), batch_size)]
    paths = [[sample.path for sample in batch] for batch in batches]
    scores = [torch.empty(0, len(names))]
    seen: list[Sample] = []
    unreadable: list[str] = []
    for batch, (images, failures) in zip(
        batches, decode_batches(paths, functools.partial(read_squashed, size=size), size, workers=workers), strict=True
    ):
        joined = learner.region_scores(images, batch_size).joined if regions else learner.scores(images, batch_size)
        scores.append(learner.calibration(joined, names))
        seen += [sample for place, sample in enumerate(batch) if place not in failures]
        unreadable += failures.values()
        if progress is not None:
            progress(len(seen) + len(unreadable), len(samples))
    if not seen:
        raise DataError(f"there is no image to tune on{f': {unreadable[0]}' if unreadable else ''}")
    own, all_classes = frozenset(names), frozenset(classes)
    labels = membership([sample.labels & own for sample in seen], names)
    known = membership([own & (all_classes if sample.known is None else sample.known) for sample in seen], names)
    tuned = tune_thresholds(torch.cat(scores), labels, known, names, precision=precision, min_positives=min_positives)
    return Tuned(tuned, len(seen), unreadable, sorted(all_classes - own))
