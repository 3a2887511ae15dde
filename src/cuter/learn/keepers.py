"""Keepers answer: what of a batch may be kept?"""

from collections.abc import Callable

from cuter.learn.model import View
from cuter.memory import Item
from cuter.stream.batch import Batch

Keeper = Callable[[Batch, View], list[Item]]


def whole_images(batch: Batch, view: View) -> list[Item]:
    """Offer every image as it came, with what is known of its labels."""
    return [
        Item(image, labels, known, id)
        for image, labels, known, id in zip(
            batch.images.cpu(), batch.labels.cpu(), batch.known.cpu(), batch.ids, strict=True
        )
    ]
