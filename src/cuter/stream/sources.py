"""Batches from any source of labelled images: a list, a generator, a torch data set or loader, a `datasets` split."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from cuter.errors import BatchError
from cuter.stream.batch import Batch
from cuter.stream.images import path_text, read_images
from cuter.stream.resize import resize

SAMPLE = "a sample is (image, labels), (image, labels, known, id), or a mapping with 'image' and 'labels'"


def as_batches(
    source: Iterable[Any],
    *,
    batch_size: int = 12,
    size: int = 224,
    known: Sequence[str] | None = None,
    columns: tuple[str, str] = ("image", "labels"),
) -> Iterator[Batch]:
    """Yield batches of a source, in its order.

    Args:
        source: Samples, one by one: (image, labels), (image, labels, known), (image, labels, known, id), or mappings,
            as a split of Hugging Face `datasets` has them. Also a torch `Dataset` of such samples, or a `DataLoader` of
            batches of them. An image is a path, encoded bytes, a Pillow image, or a tensor (3, H, W): uint8, or float
            in 0..1. Labels are names; the numbers of a `datasets` split become the names that it has for them. `known`
            may be None. The id is what the image is called later on: by default its path or, without one, its number
            in the source. A mapping may have 'known' and 'id' as well.
        batch_size: Samples per batch; a loader that makes batches has its own.
        size: Height and width in pixels of the batch's images.
        known: Classes that somebody looked for, in samples that do not say so themselves; by default the labels of the
            batch.
        columns: Names of image and labels in mappings.

    Yields:
        Batches for `Learner.observe`.

    Raises:
        BatchError: A sample is none of these.

    Examples:
        >>> import torch
        >>> images = torch.zeros(5, 3, 32, 32, dtype=torch.uint8)
        >>> samples = [(image, ["cat"]) for image in images]
        >>> [len(batch) for batch in as_batches(samples, batch_size=2, size=32, known=["cat", "dog"])]
        [2, 2, 1]
        >>> (batch,) = as_batches([(images[0], ["cat"], ["cat", "dog"], "IMG_0042.jpg")], size=32)
        >>> batch.ids
        ('IMG_0042.jpg',)
    """
    name_of = _names(source, columns[1])
    numbers = count()
    for group in _groups(source, batch_size):
        samples = [_sample(one, columns, next(numbers)) for one in group]
        images = torch.cat([_pixels(one.image, size) for one in samples])
        labels = [[name_of(label) for label in one.labels] for one in samples]
        everywhere = list(known) if known is not None else list(dict.fromkeys(name for row in labels for name in row))
        looked_for = [[name_of(name) for name in one.known] if one.known is not None else everywhere for one in samples]
        yield Batch.of(images, labels, looked_for, ids=[one.id for one in samples])


@dataclass(frozen=True, slots=True)
class _Sample:
    image: Any
    labels: Collection[Any]
    known: Collection[Any] | None
    id: str


def _groups(source: Any, batch_size: int) -> Iterator[list[Any]]:
    """Return the samples of a source some at a time; what a loader has put into batches is taken apart first."""
    if batch_size < 1:
        raise BatchError(f"batch_size must be at least 1, not {batch_size}")
    if hasattr(source, "__getitem__") and hasattr(source, "__len__"):
        rows = (source[index] for index in range(len(source)))  # a torch data set raises no error at its end
    else:
        rows = iter(source)
    for first in rows:
        if _is_batch(first):
            yield list(zip(*first, strict=True))
        else:
            yield [first, *islice(rows, batch_size - 1)]


def _is_batch(item: Any) -> bool:
    return isinstance(item, list | tuple) and isinstance(item[0], Tensor) and item[0].ndim == 4


def _sample(item: Any, columns: tuple[str, str], number: int) -> _Sample:
    if isinstance(item, Mapping):
        if missing := [name for name in columns if name not in item]:
            raise BatchError(f"a sample has no {missing[0]!r}, but {', '.join(map(str, item))}: name it in `columns`")
        item = (*(item[name] for name in columns), item.get("known"), item.get("id"))
    if not isinstance(item, list | tuple) or len(item) not in (2, 3, 4):
        raise BatchError(f"{SAMPLE}, not {type(item).__name__}")
    image, labels, known, name = (*item, None, None)[:4]
    if isinstance(labels, str) or not isinstance(labels, Collection):
        labels = [labels]  # one label per image
    return _Sample(image, labels, known, _id(image, number) if name is None else str(name))


def _id(image: Any, number: int) -> str:
    if isinstance(image, Path):
        return path_text(image)
    return image if isinstance(image, str) else str(number)


def _names(source: Any, column: str) -> Callable[[Any], str]:
    """Return what gives labels their names: those that a `datasets` split has for its numbers."""
    feature = getattr(source, "features", None)
    feature = feature.get(column) if isinstance(feature, Mapping) else None
    feature = getattr(feature, "feature", feature)  # of the members of a list
    names = getattr(feature, "names", None)

    def name_of(label: Any) -> str:
        if isinstance(label, str):
            return label
        if names is None:
            raise BatchError(f"labels must be names of classes, not {label!r}")
        return str(names[int(label)])

    return name_of


def _pixels(image: Any, size: int) -> Tensor:
    """Return an image as uint8 (1, 3, size, size)."""
    if not isinstance(image, Tensor):
        return read_images([image], size)
    if image.is_floating_point():
        image = (image * 255).round().clamp(0, 255).to(torch.uint8)
    return resize(image.unsqueeze(0), size)
