"""From what memory holds to a batch that the model can see."""

from collections.abc import Sequence

import torch
from torch import Tensor

from cuter.memory import Item
from cuter.stream.batch import Batch
from cuter.stream.resize import resize


def as_batch(items: Sequence[Item], names: tuple[str, ...], size: int) -> Batch:
    """Bring items of any size to one size. Classes that came after an item was stored are unknown for it."""
    images = [resize(item.image[None], size) for item in items]
    return Batch(
        images=torch.cat(images) if images else torch.empty(0, 3, size, size, dtype=torch.uint8),
        labels=_stack([item.labels for item in items], len(names)),
        known=_stack([item.known for item in items], len(names)),
        names=names,
        ids=tuple(item.id for item in items),
    )


def _stack(rows: Sequence[Tensor], columns: int) -> Tensor:
    matrix = torch.zeros(len(rows), columns, dtype=torch.bool)
    for index, row in enumerate(rows):
        matrix[index, : len(row)] = row
    return matrix
