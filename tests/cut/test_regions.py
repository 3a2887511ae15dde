import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cuter.cut import Regions, crop
from cuter.cut.regions import bounding_boxes
from cuter.errors import BatchError
from maskcut_reference import box_of


def regions_of(masks: torch.Tensor) -> Regions:
    found = masks.flatten(2).any(dim=2)
    flat = masks.flatten(2).float()
    return Regions(
        masks=masks,
        boxes=bounding_boxes(masks),
        seeds=flat.argmax(dim=2).masked_fill(~found, -1),
        scores=found.float(),
        vectors=masks.float(),
        values=found.float(),
        exact=found,
    )


@given(arrays(bool, st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(1, 9))))
def test_bounding_boxes_by_brute_force(masks: np.ndarray) -> None:
    assert bounding_boxes(torch.from_numpy(masks)).tolist() == [box_of(mask) for mask in masks]


def test_pixel_boxes_scale_each_side_on_its_own() -> None:
    masks = torch.zeros(1, 2, 3, 5, dtype=torch.bool)
    masks[0, 0, 1:3, 0:2] = True
    regions = regions_of(masks)
    assert regions.boxes[0, 0].tolist() == [0, 1, 2, 3]
    assert regions.pixel_boxes(30, 100)[0].tolist() == [[0, 10, 40, 30], [0, 0, 0, 0]]


@given(rows=st.integers(1, 20), columns=st.integers(1, 20), height=st.integers(1, 700), width=st.integers(1, 700))
def test_pixel_boxes_stay_inside_and_never_vanish(rows: int, columns: int, height: int, width: int) -> None:
    masks = torch.ones(1, 1, rows, columns, dtype=torch.bool)
    assert regions_of(masks).pixel_boxes(height, width)[0, 0].tolist() == [0, 0, width, height]
    masks = torch.zeros(1, 1, rows, columns, dtype=torch.bool)
    masks[0, 0, rows // 2, columns // 3] = True
    x1, y1, x2, y2 = regions_of(masks).pixel_boxes(height, width)[0, 0].tolist()
    assert 0 <= x1 < x2 <= width
    assert 0 <= y1 < y2 <= height


def test_crops_are_the_pixels_of_the_box_at_native_size() -> None:
    images = torch.arange(2 * 3 * 12 * 20, dtype=torch.int32).remainder(251).to(torch.uint8).view(2, 3, 12, 20)
    masks = torch.zeros(2, 2, 3, 5, dtype=torch.bool)
    masks[0, 0, 0, 3:5] = True
    masks[0, 1, 2, 0] = True
    masks[1, 1, 1:3, 1] = True
    crops = crop(images, regions_of(masks))
    assert [len(of_image) for of_image in crops] == [2, 1]
    assert torch.equal(crops[0][0], images[0, :, 0:4, 12:20])
    assert torch.equal(crops[0][1], images[0, :, 8:12, 0:4])
    assert torch.equal(crops[1][0], images[1, :, 4:12, 4:8])


def test_a_crop_does_not_hold_on_to_its_image() -> None:
    images = torch.zeros(1, 3, 8, 8, dtype=torch.uint8)
    piece = crop(images, regions_of(torch.ones(1, 1, 2, 2, dtype=torch.bool)))[0][0]
    images.fill_(7)
    assert not piece.any()


@pytest.mark.parametrize("images", [torch.zeros(1, 3, 8, 8), torch.zeros(2, 3, 8, 8, dtype=torch.uint8)])
def test_wrong_images_are_refused(images: torch.Tensor) -> None:
    with pytest.raises(BatchError, match=r"uint8 images of shape \(1, 3, H, W\)"):
        crop(images, regions_of(torch.ones(1, 1, 2, 2, dtype=torch.bool)))
