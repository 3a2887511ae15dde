"""Keepers answer: what of a batch may be kept?"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from cuter.learn.model import View
from cuter.memory import Item
from cuter.stream.batch import Batch


@dataclass(frozen=True, slots=True)
class Kept:
    """Items for memory, and what became of all that was considered: how many were kept, and refused for what."""

    items: Sequence[Item]
    selection: Counter[str] = field(default_factory=Counter)


Keeper = Callable[[Batch, View], Kept]


def whole_images(batch: Batch, view: View) -> Kept:
    """Offer every image as it came, with what is known of its labels."""
    rows = zip(batch.images.cpu(), batch.labels.cpu(), batch.known.cpu(), batch.ids, strict=True)
    return Kept([Item(image, labels, known, id) for image, labels, known, id in rows])
