"""The images to learn from: files, or anything that gives uint8 images by number."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from cuter.errors import DataError, NotThereError
from cuter.pretrain.settings import PretrainSettings
from cuter.stream.images import FORMATS, image_suffixes, read_squashed
from cuter.stream.loading import decode_batches
from cuter.stream.resize import resize

logger = logging.getLogger("cuter.pretrain")

CHUNK = 64  # images decoded by a worker at a time, when all are
FEWEST = 2  # images in a batch: with one there is nothing to tell it from, nor a variance to normalise by


class Images(Protocol):
    """Images by number, from 0 on: uint8 (3, H, W). One that can't be read is a `DataError`.

    A uint8 tensor (N, 3, H, W) is one; so is anything that renders or decodes an image when it is asked for.
    """

    def __len__(self) -> int:
        """Return how many there are."""

    def __getitem__(self, number: int, /) -> Tensor:
        """Return one of them."""


class ImageFiles:
    """Files, decoded when they are asked for."""

    def __init__(self, paths: Sequence[Path], size: int):
        self.paths = list(paths)
        self.size = size

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, number: int) -> Tensor:
        return read_squashed(self.paths[number], self.size)


def files_under(folder: Path) -> list[Path]:
    """Return the image files in a folder and its sub-folders, by name."""
    if not folder.is_dir():
        raise NotThereError(f"{folder}: {'a file, not a folder' if folder.exists() else 'no such folder'}")
    suffixes = image_suffixes()
    found = sorted(path for path in folder.rglob("*") if path.suffix.lower() in suffixes and path.is_file())
    if not found:
        raise NotThereError(f"{folder} holds no image, nor do its sub-folders. Formats read: {', '.join(FORMATS)}")
    return found


@dataclass
class Supply:
    """Batches of images in an order that follows from the seed, epoch after epoch.

    held: all of them, uint8 (N, 3, size, size), if they fit; else each is read anew in each epoch.
    skipped: why an image was unreadable, by its name.
    """

    images: Images
    settings: PretrainSettings
    held: Tensor | None = field(default=None, init=False)
    skipped: dict[str, str] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        count, size = len(self.images), self.settings.image_size
        if not count:
            raise DataError("there is no image to learn from")
        if isinstance(self.images, Tensor):
            self.held = resize(_checked(self.images), size)
        elif count * 3 * size**2 <= self.settings.cache_gigabytes * 1e9:
            self.held = self._decode_all(count)
        self.count = count if self.held is None else len(self.held)
        if self.count < FEWEST:
            raise DataError(f"one image is not enough to learn from: at least {FEWEST} are needed")

    @property
    def epoch_steps(self) -> int:
        """Batches in an epoch. Images that do not fill one wait for the next epoch."""
        return max(1, self.count // self.settings.batch_size)

    @property
    def total_steps(self) -> int:
        """Steps of the whole training."""
        return self.settings.steps or self.settings.epochs * self.epoch_steps

    def batches(self, epoch: int, start: int = 0) -> Iterator[Tensor]:
        """Yield the batches of an epoch from number `start` on."""
        order = np.random.default_rng((self.settings.seed, epoch)).permutation(self.count).tolist()
        size = self.settings.batch_size
        batches = [order[place * size : (place + 1) * size] for place in range(self.epoch_steps)]
        if self.held is not None:
            yield from (self.held[batch] for batch in batches[start:])
            return
        for images in self._decode(batches, start):
            if len(images) < FEWEST:
                raise DataError(
                    f"of a batch of {len(batches[0])} images only {len(images)} can be read: {self._reason}"
                )
            yield images

    def some(self, count: int) -> Tensor:
        """Return a fixed draw of the images, always the same: the readable ones among so many."""
        chosen = sorted(np.random.default_rng(0).permutation(self.count)[:count].tolist())
        images = self.held[chosen] if self.held is not None else torch.cat(list(self._decode([chosen])))
        self._require_some(images)
        return images

    def name(self, number: int) -> str:
        """Return the path of an image, or its number if it has none."""
        return str(self.images.paths[number]) if isinstance(self.images, ImageFiles) else f"image {number}"

    def digest(self) -> str:
        """Return a checksum that changes when other images are given, or other ones are readable."""
        digest = hashlib.sha256(f"{self.count} of {len(self.images)}".encode())
        if isinstance(self.images, ImageFiles):
            digest.update("\n".join(map(str, self.images.paths)).encode())
        else:
            for number in (0, len(self.images) - 1):
                try:
                    digest.update(np.asarray(self.images[number]).tobytes())
                except DataError as error:
                    digest.update(str(error).encode())
        return digest.hexdigest()

    def _decode_all(self, count: int) -> Tensor:
        """Return all images that can be read, in memory that is asked for once: there may be little of it."""
        size, filled = self.settings.image_size, 0
        held = torch.empty(count, 3, size, size, dtype=torch.uint8)
        for images in self._decode([range(start, min(start + CHUNK, count)) for start in range(0, count, CHUNK)]):
            held[filled : filled + len(images)] = images
            filled += len(images)
        self._require_some(held[:filled])
        return held[:filled]

    def _decode(self, batches: Sequence[Sequence[int]], start: int = 0) -> Iterator[Tensor]:
        size, workers = self.settings.image_size, self.settings.workers
        decoded = decode_batches(batches, self._read, size, workers=workers, start=start)
        for batch, (images, failures) in zip(batches[start:], decoded, strict=True):
            for place, reason in failures.items():
                name = self.name(batch[place])
                if name not in self.skipped:
                    logger.warning("skipped an unreadable image: %s", reason)
                self.skipped[name] = reason
            yield images

    def _require_some(self, images: Tensor) -> None:
        if not len(images):
            raise DataError(f"none of the images is readable: {self._reason}")

    @property
    def _reason(self) -> str:
        """Why the last one of the unreadable images is."""
        return list(self.skipped.values())[-1]

    def _read(self, number: int) -> Tensor:
        return resize(_checked(self.images[number][None]), self.settings.image_size)[0]


def _checked(images: Tensor) -> Tensor:
    if images.ndim != 4 or images.shape[1] != 3 or images.dtype != torch.uint8:
        raise DataError(f"images must be uint8 (3, H, W) each, not {images.dtype} {tuple(images.shape[1:])}")
    return images
