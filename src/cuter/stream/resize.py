"""Squashing images that are tensors already."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor


def resize(images: Tensor, size: int) -> Tensor:
    """Squash uint8 images (B, 3, H, W) to size × size, smoothly. Images of that size come back as they are."""
    if images.shape[-2:] == (size, size):
        return images
    squashed = F.interpolate(images.float(), (size, size), mode="bilinear", antialias=True)
    return squashed.round().clamp(0, 255).to(torch.uint8)


def enlarged(images: Tensor, boxes: Sequence[Sequence[int]]) -> Tensor:
    """Return what is in one box x1, y1, x2, y2 of each uint8 image (k, 3, S, S), as large as the image."""
    rows = zip(images, boxes, strict=True)
    return torch.cat([resize(image[None, :, y1:y2, x1:x2], image.shape[-1]) for image, (x1, y1, x2, y2) in rows])
