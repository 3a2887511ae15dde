"""Worker processes decode ahead, so that the learner does not wait for images."""

import functools
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

import torch
import torch.utils.data
from torch import Tensor

from cuter.errors import DataError
from cuter.stream.batch import Batch, membership
from cuter.stream.images import path_text, read_squashed
from cuter.stream.tasks import StreamSample

Source = TypeVar("Source")
Decoded = tuple[Tensor, dict[int, str]]  # images (B, 3, size, size); by place in the batch, why one is missing


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An image that had to be skipped."""

    id: str
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """A decoded batch, without the images that could not be read."""

    batch: Batch
    skipped: tuple[Unreadable, ...]


def load_batches(
    batches: Sequence[Sequence[StreamSample]],
    names: Sequence[str],
    image_size: int,
    *,
    workers: int = 1,
    strict: bool = False,
    start: int = 0,
) -> Iterator[Loaded]:
    """Decode batches of visits in order, beginning with number `start`.

    `names` are the columns of the labels; classes outside a visit's `known` are unknown. With `workers` processes
    that decode ahead (0: in this process). An unreadable image is left out of its batch and reported, or raises
    `DataError` when `strict`.
    """
    paths = [[visit.sample.path for visit in visits] for visits in batches]
    read = functools.partial(read_squashed, size=image_size)
    columns = tuple(names)
    decoded = decode_batches(paths, read, image_size, workers=workers, start=start)
    for visits, (images, failures) in zip(batches[start:], decoded, strict=True):
        skipped = tuple(
            Unreadable(visits[i].sample.id, path_text(visits[i].sample.path), why) for i, why in failures.items()
        )
        if strict and skipped:
            raise DataError(f"{skipped[0].reason} (strict: an unreadable image is an error)")
        yield Loaded(_label([v for i, v in enumerate(visits) if i not in failures], images, columns), skipped)


def decode_batches(
    batches: Sequence[Sequence[Source]],
    read: Callable[[Source], Tensor],
    image_size: int,
    *,
    workers: int = 1,
    start: int = 0,
) -> Iterator[Decoded]:
    """Yield batches of images in order, beginning with number `start`; `read` gives one as uint8 (3, size, size).

    At most `workers` processes decode ahead, no more than there are batches. An image for which `read` raises
    `DataError` is left out of its batch, and the reason is given.
    """
    rest = islice(batches, start, None)
    yield from decode_ahead(rest, read, image_size, workers=min(workers, len(batches) - start))


def decode_ahead(
    batches: Iterable[Sequence[Source]], read: Callable[[Source], Tensor], image_size: int, *, workers: int = 1
) -> Iterator[Decoded]:
    """Yield batches as `decode_batches` does, of any number: only those that are begun are asked for."""
    yield from torch.utils.data.DataLoader(
        _Decoder(read, image_size),
        batch_size=None,
        sampler=batches,
        num_workers=workers,
        prefetch_factor=4 if workers else None,
        worker_init_fn=_leave_signals_to_the_parent,
    )


def _label(visits: Sequence[StreamSample], images: Tensor, names: tuple[str, ...]) -> Batch:
    return Batch(
        images=images,
        labels=membership([visit.labels for visit in visits], names),
        known=membership([visit.known for visit in visits], names),
        names=names,
        ids=tuple(visit.sample.id for visit in visits),
    )


class _Decoder(torch.utils.data.Dataset[Decoded], Generic[Source]):
    """Gives the images of a batch; what a loader calls an index are the sources themselves."""

    def __init__(self, read: Callable[[Source], Tensor], image_size: int):
        self.read = read
        self.image_size = image_size

    def __getitem__(self, sources: Sequence[Source]) -> Decoded:
        images: list[Tensor] = []
        failures: dict[int, str] = {}
        for place, source in enumerate(sources):
            try:
                images.append(self.read(source))
            except DataError as error:
                failures[place] = str(error)
        empty = torch.empty(0, 3, self.image_size, self.image_size, dtype=torch.uint8)
        return torch.stack(images) if images else empty, failures


def _leave_signals_to_the_parent(_worker: int) -> None:
    # Ctrl-C and a scheduler's SIGTERM reach every process of the group; the parent alone decides how to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
