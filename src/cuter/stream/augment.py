"""Augmentation of a batch on its device, reproducible from a generator.

The paper follows KRT: squash to the backbone's size, cut-out of half the side, RandAugment. Squashing is done when an
image is decoded; the rest is done here.
"""

from collections.abc import Callable

import torch
from torch import Tensor

Augment = Callable[[Tensor], Tensor]

# kornia draws RandAugment's operations once a call. Small groups give images of one batch different operations,
# at nearly the cost of one call.
GROUP = 3


def make_augment(kind: str) -> Augment:
    """Return a function from float images in 0..1 to augmented ones: 'paper', 'flip' or 'none'.

    It draws from torch's global generator, as kornia does.
    """
    if kind == "none":
        return lambda images: images
    import kornia.augmentation as K

    if kind == "flip":
        return K.RandomHorizontalFlip(p=0.5)  # type: ignore[no-any-return]
    policy = K.auto.RandAugment(n=2, m=9, transformation_matrix_mode="skip")
    cut_out = K.RandomErasing(p=1.0, scale=(0.25, 0.25), ratio=(1.0, 1.0), value=0.5)

    def augment(images: Tensor) -> Tensor:
        groups = [policy(images[start : start + GROUP]) for start in range(0, len(images), GROUP)]
        return cut_out(torch.cat(groups)).clamp(0, 1)  # type: ignore[no-any-return]

    return augment
