"""From what memory holds to a batch that the model can see."""

from collections.abc import Sequence

import torch
from torch import Tensor

from cuter.memory import Item
from cuter.memory.patches import unpack
from cuter.stream.augment import Augment
from cuter.stream.batch import Batch
from cuter.stream.resize import resize


def as_batch(items: Sequence[Item], names: tuple[str, ...], size: int, unknown: str) -> Batch:
    """Bring items of any size to one size. `unknown` says what whole images say of classes nobody looked for.

    A cut-out shows one class and none of the others, also of those that came after it was stored: the paper's one-hot
    target. A whole image can say the same ('absent'). That is wrong where it does hold a class of another task; but
    otherwise ('ignored') the classes of different tasks are never separated: no image of a cat would ever
    say that it shows no dog.
    """
    images = [resize(_canvas(item)[None], size) for item in items]
    tells_all = torch.tensor([item.box is not None or unknown == "absent" for item in items], dtype=torch.bool)
    return Batch(
        images=torch.cat(images) if images else torch.empty(0, 3, size, size, dtype=torch.uint8),
        labels=_stack([item.labels for item in items], len(names)),
        known=_stack([item.known for item in items], len(names)) | tells_all.unsqueeze(1),
        names=names,
        ids=tuple(item.id for item in items),
        visible=_visible([item.mask for item in items]),
    )


def augmented(batch: Batch, augment: Augment) -> tuple[Tensor, Tensor | None]:
    """Augment what is replayed: return images (B, 3, H, W), float in 0..1, and their visible patches; None: all.

    Patches go where their pixels go. A cut-out that would leave the image stays as it is.
    """
    images = batch.images.float() / 255
    seen = augment(images)
    if batch.visible is None:
        return seen.images, None
    visible = seen.carried(batch.visible)
    gone = ~visible.flatten(1).any(dim=1)[:, None, None]
    return torch.where(gone.unsqueeze(1), images, seen.images), torch.where(gone, batch.visible, visible)


def _canvas(item: Item) -> Tensor:
    return item.image if item.mask is None else unpack(item.image, item.mask)


def _visible(masks: Sequence[Tensor | None]) -> Tensor | None:
    """Stack masks, all of one grid; an item without one is visible everywhere."""
    some = next((mask for mask in masks if mask is not None), None)
    if some is None:
        return None
    return torch.stack([torch.ones_like(some) if mask is None else mask for mask in masks])


def _stack(rows: Sequence[Tensor], columns: int) -> Tensor:
    """Stack rows of different lengths; what a row lacks is False."""
    matrix = torch.zeros(len(rows), columns, dtype=torch.bool)
    for index, row in enumerate(rows):
        matrix[index, : len(row)] = row
    return matrix
