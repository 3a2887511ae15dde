"""From what memory holds to a batch that the model can see."""

from collections.abc import Sequence

import torch
from torch import Tensor

from cuter.memory import Item
from cuter.stream.batch import Batch
from cuter.stream.resize import resize


def as_batch(items: Sequence[Item], names: tuple[str, ...], size: int, unknown: str) -> Batch:
    """Bring items of any size to one size. `unknown` says what whole images tell of classes nobody looked for.

    A cut-out shows one class and none of the others, also of those that came after it was stored: the paper's one-hot
    target. A whole image can say the same ('absent'). That is wrong where it does hold a class of another task; but
    otherwise ('ignored') the classes of different tasks are never told from each other: no image of a cat would ever
    say that it shows no dog.
    """
    images = [resize(item.image[None], size) for item in items]
    tells_all = torch.tensor([item.box is not None or unknown == "absent" for item in items], dtype=torch.bool)
    return Batch(
        images=torch.cat(images) if images else torch.empty(0, 3, size, size, dtype=torch.uint8),
        labels=_stack([item.labels for item in items], len(names)),
        known=_stack([item.known for item in items], len(names)) | tells_all.unsqueeze(1),
        names=names,
        ids=tuple(item.id for item in items),
    )


def _stack(rows: Sequence[Tensor], columns: int) -> Tensor:
    """Stack rows of different lengths; what a row lacks is False."""
    matrix = torch.zeros(len(rows), columns, dtype=torch.bool)
    for index, row in enumerate(rows):
        matrix[index, : len(row)] = row
    return matrix
