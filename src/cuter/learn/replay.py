"""From what memory holds to a batch that the model can see."""

from collections.abc import Sequence

import torch
from torch import Tensor

from cuter.memory import Item
from cuter.stream.batch import Batch
from cuter.stream.resize import resize


def as_batch(items: Sequence[Item], names: tuple[str, ...], size: int, unknown: str) -> Batch:
    """Bring items of any size to one size. `unknown` says what whole images tell of classes nobody looked for.

    A cut-out shows one class, and says of all others but the doubtful ones that they are absent, also of those that
    came after it was stored: the paper's one-hot target. A whole image can say the same ('absent'). That is wrong where
    it does hold a class of another task; but otherwise ('ignored') the classes of different tasks are never told from
    each other: no image of a cat would ever say that it shows no dog.
    """
    images = [resize(item.image[None], size) for item in items]
    return Batch(
        images=torch.cat(images) if images else torch.empty(0, 3, size, size, dtype=torch.uint8),
        labels=_stack([item.labels for item in items], len(names), [False] * len(items)),
        known=_stack([_told(item, unknown) for item in items], len(names), [_says_no(item, unknown) for item in items]),
        names=names,
        ids=tuple(item.id for item in items),
    )


def _says_no(item: Item, unknown: str) -> bool:
    return item.box is not None or unknown == "absent"


def _told(item: Item, unknown: str) -> Tensor:
    return torch.ones_like(item.known) if item.box is None and unknown == "absent" else item.known


def _stack(rows: Sequence[Tensor], columns: int, rest: Sequence[bool]) -> Tensor:
    """Stack rows of different lengths; `rest` fills what a row lacks."""
    matrix = torch.tensor(rest, dtype=torch.bool).unsqueeze(1).repeat(1, columns)
    for index, row in enumerate(rows):
        matrix[index, : len(row)] = row
    return matrix
