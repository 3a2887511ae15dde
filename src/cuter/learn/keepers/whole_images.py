"""Whole images are kept."""

from dataclasses import dataclass
from typing import Any, Self

from cuter.learn.keepers.base import KEEPERS, Keeper, Kept, RequiredVectors, row_of
from cuter.learn.model import Model, View
from cuter.memory import Item, Memory
from cuter.stream.batch import Batch


@KEEPERS.register("whole-images")
@dataclass(frozen=True, eq=False)
class WholeImages(Keeper):
    """Offers every image as it came, with what is known of its labels, and with the vectors that memory wants."""

    vectors: RequiredVectors

    @classmethod
    def create(cls, settings: Any, model: Model, memory: Memory, vectors: RequiredVectors) -> Self:
        """Make a keeper."""
        return cls(vectors)

    def __call__(self, batch: Batch, view: View) -> Kept:
        """Offer all images of a batch."""
        rows = zip(batch.images.cpu(), batch.labels.cpu(), batch.known.cpu(), batch.ids, strict=True)
        vectors = self.vectors(view, batch.labels, batch.known)
        return Kept([Item(*row, **row_of(vectors, number)) for number, row in enumerate(rows)])
