"""What a cut finds: masks, boxes, and crops of the pixels."""

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from cuter.errors import BatchError


@dataclass(frozen=True, slots=True, eq=False)
class Regions:
    """Regions of B images, one a round; where nothing was found the mask is empty, box and score are zero.

    masks: (B, max_regions, rows, columns) bool; boxes: (B, max_regions, 4), half-open x1, y1, x2, y2 in grid cells;
    seeds: (B, max_regions), the patch that the region grew from, row by row; -1 where nothing was found;
    scores: (B, max_regions) in 0..1, how cleanly the region parts from the rest;
    vectors: (B, max_regions, rows, columns), the eigenvector, turned so that the foreground is its upper side;
    values: (B, max_regions), λ2; exact: (B, max_regions), single precision did not do.
    """

    masks: Tensor
    boxes: Tensor
    seeds: Tensor
    scores: Tensor
    vectors: Tensor
    values: Tensor
    exact: Tensor

    @property
    def found(self) -> Tensor:
        """(B, max_regions): where there is a region."""
        return self.seeds >= 0

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of patches."""
        return self.masks.shape[2], self.masks.shape[3]

    def to(self, device: torch.device | str) -> "Regions":
        """Move all to a device."""
        return Regions(*(getattr(self, field.name).to(device) for field in fields(self)))

    def pixel_boxes(self, height: int, width: int) -> Tensor:
        """Return the boxes in whole pixels of an image of this size: all pixels that a patch of the box touches."""
        rows, columns = self.grid
        return _scaled(self.boxes, height, width, rows, columns)


def _scaled(boxes: Tensor, height: int, width: int, rows: int, columns: int) -> Tensor:
    x1, y1, x2, y2 = boxes.unbind(dim=-1)
    return torch.stack(
        [x1 * width // columns, y1 * height // rows, -(-x2 * width // columns), -(-y2 * height // rows)], dim=-1
    )


def bounding_boxes(masks: Tensor) -> Tensor:
    """Return half-open boxes x1, y1, x2, y2 of masks (..., rows, columns); zeros for an empty mask."""
    across, down = masks.any(dim=-2), masks.any(dim=-1)
    box = [*_extent(across), *_extent(down)]
    return torch.stack([box[0], box[2], box[1], box[3]], dim=-1)


def _extent(occupied: Tensor) -> tuple[Tensor, Tensor]:
    marks = occupied.int()
    first = marks.argmax(dim=-1)
    end = marks.shape[-1] - marks.flip(-1).argmax(dim=-1)
    return first, torch.where(occupied.any(dim=-1), end, torch.zeros_like(end))


def crop(images: Tensor, regions: Regions) -> list[list[Tensor]]:
    """Cut the found regions' boxes out of uint8 images (B, 3, H, W); for each image its crops, at native size."""
    if images.ndim != 4 or images.shape[1] != 3 or images.dtype != torch.uint8 or len(images) != len(regions.masks):
        raise BatchError(
            f"crops are cut from uint8 images of shape ({len(regions.masks)}, 3, H, W), not from {images.dtype} "
            f"{tuple(images.shape)}"
        )
    boxes = regions.pixel_boxes(*images.shape[2:]).tolist()
    found = regions.found.tolist()
    return [
        [image[:, y1:y2, x1:x2].clone() for (x1, y1, x2, y2), is_there in zip(row, there, strict=True) if is_there]
        for image, row, there in zip(images, boxes, found, strict=True)
    ]
