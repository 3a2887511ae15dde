"""What a learner says of image files, batch after batch: the labels above their thresholds, and where they are."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from cuter.errors import BatchError, ConfigError
from cuter.learn.learner import Learner
from cuter.registry import did_you_mean
from cuter.stream.images import path_text, read_squashed
from cuter.stream.loading import decode_ahead

Box = tuple[float, float, float, float]

DIGITS = 6  # of a probability or a corner in a file: as many as float32 holds


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be said of each image.

    Args:
        threshold: Probability above which an image has a label.
        thresholds: The same by class, for classes that have one of their own.
        regions: Look at regions too, and say where each label was seen.
        all_scores: Say the probabilities of all classes too.

    Raises:
        ConfigError: A threshold does not lie between 0 and 1.
    """

    threshold: float = 0.5
    thresholds: Mapping[str, float] = field(default_factory=dict)
    regions: bool = False
    all_scores: bool = False

    def __post_init__(self) -> None:
        for name, value in {"for all classes": self.threshold, **self.thresholds}.items():
            if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
                raise ConfigError(f"the threshold {name} must lie between 0 and 1, not {value!r}")

    def require_known(self, names: Sequence[str]) -> None:
        """Refuse a threshold of a class that a learner does not know: its name may be misspelled."""
        if unknown := [name for name in self.thresholds if name not in names]:
            raise ConfigError(
                f"there is a threshold for {unknown[0]!r}, but the model knows no such class."
                f"{did_you_mean(unknown[0], list(names))}"
            )


@dataclass(frozen=True, slots=True)
class Tagged:
    """What is said of one file.

    path: the file; labels: probabilities of the classes above their thresholds, the highest first; scores: those of all
    classes, if asked for; boxes: where each of these classes was seen, x1, y1, x2, y2 as shares of width and height,
    None for the whole image, if asked for; error: why the file could not be read, if so.
    """

    path: Path
    labels: Mapping[str, float] = field(default_factory=dict)
    scores: Mapping[str, float] | None = None
    boxes: Mapping[str, Box | None] | None = None
    error: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the row for JSON; what was not asked for is left out."""
        row: dict[str, Any] = {"path": path_text(self.path), "labels": dict(self.labels)}
        row |= {} if self.scores is None else {"scores": dict(self.scores)}
        row |= {} if self.boxes is None else {"boxes": dict(self.boxes)}
        return row | {"error": self.error}


def tag_batches(
    learner: Learner,
    paths: Iterable[str | Path],
    asked: Asked | None = None,
    *,
    batch_size: int = 64,
    workers: int = 1,
) -> Iterator[list[Tagged]]:
    """Say what each file shows; worker processes decode ahead, and no more than some batches are in memory.

    Args:
        learner: The model.
        paths: Image files; also a generator of any length.
        asked: What is to be said, by default the labels with a probability above one half.
        batch_size: Images per forward.
        workers: Processes that decode images ahead; 0 to decode them in this one.

    Yields:
        A batch of rows, in the order of the paths. A file that cannot be read has a row with the reason.

    Raises:
        BatchError: The batch size is not at least 1.
        ConfigError: There is a threshold for a class that the learner does not know.

    Examples:
        >>> import tempfile
        >>> from PIL import Image
        >>> from cuter import Learner
        >>> from cuter.models.tagging import tag_batches
        >>> learner = Learner.create(backbone="toybox", device="cpu")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Image.new("RGB", (40, 30)).save(f"{folder}/1.png")
        ...     (rows,) = tag_batches(learner, [f"{folder}/1.png", f"{folder}/gone.png"], workers=0)
        >>> [row.error is None for row in rows]
        [True, False]
    """
    asked = asked or Asked()
    asked.require_known(learner.labels.names)
    if batch_size < 1:
        raise BatchError(f"batch_size must be at least 1, not {batch_size}")
    return _tag_batches(learner, paths, asked, batch_size, workers)


def _tag_batches(
    learner: Learner, paths: Iterable[str | Path], asked: Asked, batch_size: int, workers: int
) -> Iterator[list[Tagged]]:
    size = learner.backbone.image_size
    to_decode, decoding = itertools.tee(_in_batches(paths, batch_size))
    decoded = decode_ahead(to_decode, functools.partial(read_squashed, size=size), size, workers=workers)
    for batch, (images, failures) in zip(decoding, decoded, strict=True):
        rows = iter(_tagged(learner, images, [path for i, path in enumerate(batch) if i not in failures], asked))
        yield [_unread(path, failures[i], asked) if i in failures else next(rows) for i, path in enumerate(batch)]


def _in_batches(paths: Iterable[str | Path], size: int) -> Iterator[list[Path]]:
    rest = map(Path, paths)
    while batch := list(itertools.islice(rest, size)):
        yield batch


def _unread(path: Path, reason: str, asked: Asked) -> Tagged:
    reason = reason.encode("utf-8", "backslashreplace").decode()  # a library may name the file as it is called
    return Tagged(path, {}, {} if asked.all_scores else None, {} if asked.regions else None, reason)


def _tagged(learner: Learner, images: Tensor, paths: Sequence[Path], asked: Asked) -> list[Tagged]:
    names = learner.labels.names
    if asked.regions:
        found = learner.region_scores(images, len(images) or 1)
        probabilities, boxes = learner.calibration(found.joined, names).tolist(), found.boxes.tolist()
    else:
        probabilities, boxes = learner.probabilities(images, len(images) or 1).tolist(), [None] * len(images)
    return [
        _row(path, dict(zip(names, row, strict=True)), own and dict(zip(names, own, strict=True)), asked)
        for path, row, own in zip(paths, probabilities, boxes, strict=True)
    ]


def _row(path: Path, scores: dict[str, float], boxes: dict[str, list[float]] | None, asked: Asked) -> Tagged:
    above = [name for name, score in scores.items() if score > asked.thresholds.get(name, asked.threshold)]
    above.sort(key=lambda name: -scores[name])
    shown = scores if asked.all_scores else above
    return Tagged(
        path,
        {name: round(scores[name], DIGITS) for name in above},
        {name: round(score, DIGITS) for name, score in scores.items()} if asked.all_scores else None,
        {name: _box(boxes[name]) for name in shown} if boxes else ({} if asked.regions else None),
    )


def _box(corners: list[float]) -> Box | None:
    x1, y1, x2, y2 = (round(corner, DIGITS) for corner in corners)
    return (x1, y1, x2, y2) if x2 else None
