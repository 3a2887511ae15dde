"""Some patches of an image, one beside the other, and back in their places."""

import torch
from torch import Tensor

GREY = 127  # between patches, where somebody looks at them


def pack(image: Tensor, mask: Tensor) -> Tensor:
    """Return the patches of an image (3, H, W) that a mask (rows, columns) chooses, as one strip (3, p, k · p).

    They are in the order of the mask, row by row. A strip is an image too, so that any codec can compress it.
    """
    rows, columns = mask.shape
    height, width = image.shape[1] // rows, image.shape[2] // columns
    tiles = image.reshape(3, rows, height, columns, width).permute(1, 3, 0, 2, 4)  # (rows, columns, 3, p, p)
    return tiles[mask].permute(1, 2, 0, 3).flatten(2).contiguous()


def unpack(strip: Tensor, mask: Tensor) -> Tensor:
    """Return the image (3, H, W) that `pack` took patches from, grey where it took none."""
    rows, columns = mask.shape
    patch = strip.shape[1]
    tiles = torch.full((rows, columns, 3, patch, patch), GREY, dtype=strip.dtype)
    tiles[mask] = strip.reshape(3, patch, -1, patch).permute(2, 0, 1, 3)
    return tiles.permute(2, 0, 3, 1, 4).reshape(3, rows * patch, columns * patch)
