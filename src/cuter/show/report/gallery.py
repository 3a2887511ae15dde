"""What memory holds: thumbnails, spread over the classes."""

from __future__ import annotations

from dataclasses import dataclass

from PIL import Image

from cuter.learn.learner import Learner
from cuter.memory import Item
from cuter.show.pictures import fitted_size
from cuter.show.report.embed import data_uri

SHOWN = 32
SIDE = 112  # pixels of the longer side


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


def memory_thumbnails(learner: Learner, most: int = SHOWN) -> list[Thumbnail]:
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
