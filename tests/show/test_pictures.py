import numpy as np
import pytest
import torch
from PIL import Image

from cuter.cut import Regions
from cuter.cut.cutout import Cutout, cutouts
from cuter.show import pictures
from cuter.show.pictures import COLOURS, contact_sheet, cut_picture, eigenvector_colours, marked

GREY = (128, 128, 128)
FIRST, SECOND = COLOURS[:2]


def cutout(box: tuple[int, int, int, int], number: int = 1, found: bool = True) -> Cutout:
    mask = np.zeros((4, 4), dtype=bool)
    mask[0, 3] = True  # the upper right sixteenth
    return Cutout(number, found, box, score=0.75, seed=3, mask=mask, vector=mask.astype(np.float32))


def test_boxes_are_in_pixels_of_an_original_that_is_not_square() -> None:
    masks = torch.zeros(2, 2, 4, 4, dtype=torch.bool)
    masks[1, 0, :2, 3] = True
    boxes = torch.zeros(2, 2, 4, dtype=torch.int64)
    boxes[1, 0] = torch.tensor([3, 0, 4, 2])
    seeds = torch.full((2, 2), -1)
    seeds[1, 0] = 7
    zeros = torch.zeros(2, 2)
    first, second = cutouts(
        Regions(masks, boxes, seeds, zeros + 0.5, masks.float(), zeros, zeros.bool()), 1, size=(400, 100)
    )
    assert (first.number, first.found, first.box, first.score, first.seed) == (1, True, (300, 0, 400, 50), 0.5, 7)
    assert (second.number, second.found) == (2, False)


def test_a_found_box_is_drawn_where_it_is() -> None:
    image = Image.new("RGB", (200, 100), GREY)
    shown = marked(image, [cutout((120, 10, 180, 60))], (400, 400), truths=[(20, 20, 60, 80)], details=False)
    assert shown.size == (400, 200)
    for corner in ((240, 20), (359, 20), (240, 119), (359, 119), (241, 70)):
        assert shown.getpixel(corner) == FIRST
    assert shown.getpixel((300, 70)) == GREY  # nothing inside the box
    assert shown.getpixel((160, 70)) == GREY  # nor at the mirrored place
    dashes = {shown.getpixel((x, 40)) for x in range(40, 120)}
    assert dashes == {(255, 255, 255), pictures.INK}


def test_masks_and_scores_are_details() -> None:
    image = Image.new("RGB", (200, 100), GREY)
    region = cutout((150, 0, 200, 25))
    plain = marked(image, [region], (400, 400), details=False)
    detailed = marked(image, [region], (400, 400))
    assert plain.getpixel((390, 42)) == GREY
    shade = detailed.getpixel((390, 42))
    assert shade == tuple(round(0.4 * colour + 0.6 * 128) for colour in FIRST)
    assert detailed.getpixel((10, 42)) == GREY  # the mirrored place
    assert detailed.getpixel((390, 190)) == GREY


def test_regions_that_were_not_found_are_not_drawn() -> None:
    image = Image.new("RGB", (200, 100), GREY)
    shown = marked(image, [cutout((0, 0, 0, 0), found=False)], (200, 100))
    assert set(shown.get_flattened_data()) == {GREY}


def test_labels_of_two_regions_with_one_box_are_both_there() -> None:
    image = Image.new("RGB", (400, 200), GREY)
    shown = marked(image, [cutout((0, 0, 400, 200)), cutout((0, 0, 400, 200), number=2)], (400, 200))
    assert shown.getpixel((399, 100)) == FIRST  # the first round's outline is on top
    assert shown.getpixel((6, 2)) == FIRST
    assert shown.getpixel((393, 15)) == SECOND
    assert SECOND not in {shown.getpixel((x, 15)) for x in range(200)}


def test_a_label_stays_in_the_picture() -> None:
    image = Image.new("RGB", (200, 200), GREY)
    shown = marked(image, [cutout((190, 190, 200, 200))], (200, 200))
    assert shown.getpixel((140, 185)) == FIRST  # moved away from the edge, else cut off


def test_the_eigenvector_is_orange_where_the_object_is() -> None:
    vector = np.full((4, 6), -0.1)
    vector[1, 2:4] = 1.0
    colours = np.asarray(eigenvector_colours(vector)).astype(int)
    assert colours.shape == (4, 6, 3)
    redder = colours[..., 0] > colours[..., 2]
    assert redder.sum() == 2
    assert redder[1, 2:4].all()


def test_one_patch_far_out_does_not_make_the_others_look_flat() -> None:
    vector = np.full((10, 10), -1.0)
    vector[:2] = 2.0
    vector[0, 0] = 100.0
    colours = np.asarray(eigenvector_colours(vector)).astype(int)
    assert (colours[:2] == colours[0, 0]).all()
    assert (colours[2:, :, 2] > colours[2:, :, 0]).all()


def test_an_eigenvector_of_zeros_is_shown_without_warning(recwarn: pytest.WarningsRecorder) -> None:
    colours = np.asarray(eigenvector_colours(np.zeros((3, 3))))
    assert len(np.unique(colours.reshape(-1, 3), axis=0)) == 1
    assert not recwarn.list


@pytest.mark.parametrize("size", [(300, 200), (200, 300), (1000, 100), (100, 1000), (1, 1)])
def test_the_picture_of_a_cut_shows_photo_eigenvectors_and_crops(size: tuple[int, int]) -> None:
    width, height = size
    image = Image.new("RGB", size, GREY)
    box = (width * 3 // 4, 0, width, -(-height // 4))
    image.paste((255, 0, 0), box)
    max_regions = [cutout(box), cutout((0, 0, 0, 0), number=2, found=False)]
    picture = cut_picture(image, max_regions, "a rather long name of a photo, as cameras and people give them.jpg")
    assert 640 <= max(picture.size) < 1500
    colours = [colour for _, colour in picture.getcolors(maxcolors=2**24) or []]
    assert (255, 0, 0) in colours  # red without a shade is only in the crop
    assert GREY in colours
    assert {FIRST, SECOND} <= set(colours)


def test_a_contact_sheet_is_a_grid() -> None:
    colours = [(10 * number, 0, 0) for number in range(20)]
    cells = [(Image.new("RGB", (240, 120), colour), "x" * 5 * number) for number, colour in enumerate(colours)]
    sheet = contact_sheet(cells, "title", max_regions=2, truths=True)
    pixels = np.asarray(sheet)
    packed = pixels @ np.array([2**16, 2**8, 1])
    centres = []
    for colour in colours:
        rows, columns = np.nonzero(packed == colour[0] * 2**16)
        assert len(rows) == 240 * 120
        centres.append((rows.mean(), columns.mean()))
    assert len({round(row) for row, _ in centres}) == 4
    assert len({round(column) for _, column in centres}) == 5
    assert centres == sorted(centres)
    in_legend = {tuple(colour) for colour in pixels[:90].reshape(-1, 3).tolist()}
    assert {FIRST, SECOND} <= in_legend
    assert COLOURS[2] not in in_legend
