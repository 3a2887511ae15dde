"""Augmentation of a batch on its device, reproducible from a generator.

The paper follows KRT: squash to the backbone's size, cut-out of half the side, RandAugment. Squashing is done when an
image is decoded; the rest is done here.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from cuter.registry import Registry
from cuter.settings import PartSettings


@dataclass(frozen=True, slots=True, eq=False)
class Augmented:
    """Augmented images, and where their pixels went: x' = M x for homogeneous pixel positions, M of (B, 3, 3)."""

    images: Tensor
    matrices: Tensor

    def original_boxes(self, boxes: Tensor) -> Tensor:
        """Return what boxes (B, k, 4) cover in the original images: half-open x1, y1, x2, y2 in whole pixels.

        A box that was turned or sheared becomes the upright box around it, as far as the image goes.
        """
        height, width = self.images.shape[-2:]
        x1, y1, x2, y2 = boxes.unbind(dim=-1)
        x2, y2 = x2 - 1, y2 - 1  # the last pixels inside
        corners = torch.stack([torch.stack([x1, x2, x1, x2], dim=-1), torch.stack([y1, y1, y2, y2], dim=-1)], dim=-1)
        there = torch.cat([corners, torch.ones_like(corners[..., :1])], dim=-1).to(self.matrices)  # (B, k, 4, 3)
        back = there @ torch.linalg.inv(self.matrices).mT.unsqueeze(1)
        positions = back[..., :2] / back[..., 2:]
        first, last = (positions + ROUND_OFF).floor().amin(dim=2), (positions - ROUND_OFF).ceil().amax(dim=2)
        limits = boxes.new_tensor([width, height])
        low = first.to(boxes).clamp(min=0).minimum(limits)
        high = (last.to(boxes) + 1).clamp(min=0).minimum(limits)
        return torch.cat([low, high], dim=-1)

    def original_masks(self, masks: Tensor, grid: tuple[int, int]) -> Tensor:
        """Return which patches (B, k, *grid) of the original images lie in masks (B, k, rows, columns).

        A patch is where its centre is.
        """
        return self._sampled(masks, grid, self.matrices)

    def carried(self, visible: Tensor) -> Tensor:
        """Return where patches (B, rows, columns) of the original images went: the augmented ones that show them."""
        grid = visible.shape[1], visible.shape[2]
        return self._sampled(visible.unsqueeze(1), grid, torch.linalg.inv(self.matrices)).squeeze(1)

    def _sampled(self, masks: Tensor, grid: tuple[int, int], matrices: Tensor) -> Tensor:
        """Return masks (B, k, *grid): at each centre of a patch, what masks (B, k, r, c) are where matrices move it."""
        size = matrices.new_tensor([self.images.shape[-1], self.images.shape[-2]])
        down, across = (torch.arange(count, device=matrices.device) + 0.5 for count in grid)
        centres = torch.stack(torch.meshgrid(across, down, indexing="xy"), dim=-1).flatten(0, 1)  # (n, 2), in patches
        centres = centres * size / size.new_tensor([grid[1], grid[0]]) - 0.5
        moved = torch.cat([centres, torch.ones_like(centres[:, :1])], dim=1) @ matrices.mT  # (B, n, 3)
        cells = size.new_tensor([masks.shape[3], masks.shape[2]])
        x, y = ((moved[..., :2] / moved[..., 2:] + 0.5) * cells / size).floor().long().unbind(dim=-1)
        inside = (x >= 0) & (x < masks.shape[3]) & (y >= 0) & (y < masks.shape[2])
        where = (y * masks.shape[3] + x).masked_fill(~inside, 0).unsqueeze(1).expand(-1, masks.shape[1], -1)
        return (masks.flatten(2).gather(2, where) & inside.unsqueeze(1)).view(*masks.shape[:2], *grid)


Augment = Callable[[Tensor], Augmented]

ROUND_OFF = 1e-2  # of a pixel

# kornia draws RandAugment's operations once a call. Small groups give images of one batch different operations,
# at nearly the cost of one call.
GROUP = 3


AUGMENTATIONS: Registry[Callable[[], Augment]] = Registry(
    "augmentation", "cuter.stream.augment", "cuter.augmentations", PartSettings
)


@AUGMENTATIONS.register("none")
class AsTheyAre:
    """Changes nothing."""

    def __call__(self, images: Tensor) -> Augmented:
        """Return the images."""
        return Augmented(images, torch.eye(3, device=images.device).expand(len(images), 3, 3))


@AUGMENTATIONS.register("flip")
class Flip:
    """Mirrors each image with a chance of one half."""

    def __init__(self) -> None:
        import kornia.augmentation as K

        self.flip = K.RandomHorizontalFlip(p=0.5)

    def __call__(self, images: Tensor) -> Augmented:
        """Mirror some of the images."""
        return Augmented(self.flip(images), self.flip.transform_matrix)


@AUGMENTATIONS.register("paper")
class RandAugmentAndCutOut:
    """RandAugment, then a grey square of half the side."""

    def __init__(self) -> None:
        import kornia.augmentation as K

        self.policy = K.auto.RandAugment(n=2, m=9)
        self.cut_out = K.RandomErasing(p=1.0, scale=(0.25, 0.25), ratio=(1.0, 1.0), value=0.5)

    def __call__(self, images: Tensor) -> Augmented:
        """Augment small groups of images, each with operations of its own."""
        groups = [(self.policy(some), self.policy.transform_matrix) for some in torch.split(images, GROUP)]
        pixels = self.cut_out(torch.cat([some for some, _ in groups])).clamp(0, 1)
        return Augmented(pixels, torch.cat([matrices for _, matrices in groups]))
