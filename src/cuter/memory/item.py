"""What memory keeps."""

from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor

from cuter.memory.patches import unpack

NO_LABEL = -1  # the class of items without labels: they share memory as one class more, and are drawn as such


@dataclass(frozen=True, slots=True)
class Item:
    """An image or a part of one at its own size, and what is known of its labels.

    image: uint8 (3, h, w), or (n,) where memory stores it as the bytes of a compressed file. Of a set of patches it is
    the strip that `pack` makes, and mask, bool (rows, columns), says where in the image they were.
    labels and known: bool (C,) over the label space at the time. Columns never change their meaning, so a later, longer
    label space only adds columns at the end. Of a cut-out, known
    says which classes somebody looked for in its image.
    id: the image that it comes from; box: which part of it a cut-out is, half-open x1, y1, x2, y2 in pixels of the
    image as the learner saw it.
    embedding (D,) and logit_grad (C,), the gradient of its loss by its logits: float32, as the model saw the item last;
    only there if the policy wants them.
    """

    image: Tensor
    labels: Tensor
    known: Tensor
    id: str
    box: tuple[int, int, int, int] | None = None
    mask: Tensor | None = None
    embedding: Tensor | None = None
    logit_grad: Tensor | None = None

    @property
    def pixels(self) -> int:
        """What the item costs: a pixel is three bytes, and so are three bytes of a compressed file.

        Its two vectors are not counted, for most policies have none: for an image of 224 × 224 they are about 1 % more.
        """
        return -(-self.image.numel() // 3)

    @property
    def classes(self) -> list[int]:
        """The columns of its labels."""
        return self.labels.nonzero().flatten().tolist() or [NO_LABEL]

    @property
    def picture(self) -> Tensor:
        """The pixels (3, h, w) as somebody would look at them: patches in their places, as far as the box goes."""
        if self.mask is None or self.box is None:
            return self.image
        x1, y1, x2, y2 = self.box
        return unpack(self.image, self.mask)[:, y1:y2, x1:x2]

    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors that are there, by the names of their fields."""
        fields = {name: getattr(self, name) for name in ("image", "labels", "known", "mask", "embedding", "logit_grad")}
        return {name: tensor for name, tensor in fields.items() if tensor is not None}

    def copied(self) -> "Item":
        """Return an item that shares no tensor with this one."""
        copies: dict[str, Any] = {name: tensor.clone() for name, tensor in self.tensors().items()}
        return replace(self, **copies)
