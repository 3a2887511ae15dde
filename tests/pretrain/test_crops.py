import colorsys
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from cuter.pretrain import crops
from cuter.pretrain.crops import (
    ColourMap,
    View,
    crop,
    draw_colours,
    draw_windows,
    make_view,
    multi_crop,
    uniform,
    whole,
)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def photos(count: int, height: int = 32, width: int = 32, seed: int = 0) -> torch.Tensor:
    return torch.randint(256, (count, 3, height, width), dtype=torch.uint8, generator=seeded(seed))


def draw(parts: torch.Tensor, shares: tuple[float, float], seed: int) -> torch.Tensor:
    generator = seeded(seed)
    return draw_windows(parts, uniform(len(parts), shares, generator), generator)


def plain(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Neither mirrored nor blurred."""
    return torch.zeros(count, dtype=torch.bool), torch.zeros(count)


def test_a_view_of_all_without_changes_is_the_image(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crops, "ASPECT", (1, 1))
    images = photos(6) / 255
    views = make_view(images, View(32, (1, 1)), seeded(), colour=0)
    as_it_is = [torch.allclose(view, image, atol=1e-6) for view, image in zip(views, images, strict=True)]
    mirrored = [torch.allclose(view, image.flip(-1), atol=1e-6) for view, image in zip(views, images, strict=True)]
    assert [a != b for a, b in zip(as_it_is, mirrored, strict=True)] == [True] * 6
    assert any(as_it_is)
    assert any(mirrored)


@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(8, 30), st.integers(8, 30))
def test_a_crop_is_cutting_out_and_resizing(seed: int, size: int, height: int, width: int) -> None:
    images = photos(3, height, width, seed) / 255
    windows = draw(whole(images), (0.05, 1.0), seed)
    views = crop(images, windows, size, *plain(3))
    for image, (x1, y1, x2, y2), view in zip(images, windows.int().tolist(), views, strict=True):
        part = image[None, :, y1:y2, x1:x2]
        expected = F.interpolate(part, (size, size), mode="bilinear", antialias=True)[0]
        assert torch.allclose(view, expected, atol=1e-5)


def test_blur_is_a_gaussian_and_mirroring_turns_left_and_right() -> None:
    image = torch.zeros(2, 3, 33, 33)
    image[:, :, 16, 10] = 1
    whole = torch.tensor([[0.0, 0, 33, 33]] * 2)
    sharp, blurred = crop(image, whole, 33, torch.tensor([True, True]), torch.tensor([0.0, 1.5]))
    assert torch.equal(sharp, image[0].flip(-1))
    line = np.exp(-((np.arange(33) - 22) ** 2) / (2 * 1.5**2))
    column = np.exp(-((np.arange(33) - 16) ** 2) / (2 * 1.5**2))
    expected = np.outer(column / column.sum(), line / line.sum())
    assert np.allclose(blurred[1], expected, atol=1e-5)


@given(st.integers(0, 10_000), st.floats(0.05, 0.9), st.integers(8, 60), st.integers(8, 60))
def test_windows_are_inside_and_as_large_as_asked(seed: int, least: float, height: int, width: int) -> None:
    windows = draw(whole(photos(50, height, width)), (least, 1.0), seed)
    x1, y1, x2, y2 = windows.unbind(1)
    assert ((x1 >= 0) & (y1 >= 0) & (x2 <= width) & (y2 <= height) & (x2 > x1) & (y2 > y1)).all()
    areas = (x2 - x1) * (y2 - y1) / (height * width)
    rounding = 1 / height + 1 / width
    smallest_side = math.sqrt(least * 3 / 4)  # sides stop at the image's, which makes long windows smaller
    assert areas.min() >= min(least, smallest_side) - rounding


@given(st.integers(0, 10_000), st.floats(0.05, 1.0))
def test_windows_of_parts_are_inside_of_them(seed: int, least: float) -> None:
    parts = draw(whole(photos(50, 40, 30)), (0.1, 0.3), seed)
    windows = draw(parts, (least, 1.0), seed + 1)
    assert (windows[:, :2] >= parts[:, :2]).all()
    assert (windows[:, 2:] <= parts[:, 2:]).all()
    assert (windows[:, 2:] > windows[:, :2]).all()


def test_all_views_of_an_image_show_the_same_part_of_it() -> None:
    places = torch.arange(240, dtype=torch.uint8).expand(20, 3, 240, 240)  # brightness tells the column
    views = multi_crop(places, [View(16, (0.3, 1.0)), View(8, (0.1, 0.3))] * 10, seeded(), colour=0, part=0.04)
    seen = torch.cat([view.flatten(1) for view in views], dim=1) * 255
    widths = seen.amax(1) - seen.amin(1)
    assert widths.max() < 240 * math.sqrt(0.04 * 4 / 3) + 1
    assert widths.min() > 3, "and not one place of it only"
    assert widths.max() > 2 * widths.min(), "near and far"
    assert seen.mean(1).std() > 40, "another part of each image"


def test_windows_reach_every_place() -> None:
    windows = draw(whole(photos(2000, 8, 8)), (0.2, 0.5), 0)
    assert (windows[:, :2].min(), windows[:, 2:].max()) == (0, 8)
    share = torch.zeros(8, 8)
    for x1, y1, x2, y2 in windows.int().tolist():
        share[y1:y2, x1:x2] += 1 / 2000
    assert torch.allclose(share, share.T, atol=0.05)
    assert torch.allclose(share, share.flip(0), atol=0.05)


def test_changes_of_colour_are_those_of_their_definitions() -> None:
    images = 0.3 + 0.3 * torch.rand(1, 3, 5, 5, generator=seeded())  # nothing is clipped
    luma = (torch.tensor([0.299, 0.587, 0.114]).view(1, 3, 1, 1) * images).sum(1, keepdim=True)
    one = torch.ones(1)
    saturated = ColourMap(crops._saturating(1.5 * one), one)(images)
    assert torch.allclose(saturated, luma + 1.5 * (images - luma), atol=1e-5)
    contrasted = ColourMap(torch.eye(3)[None], 0.6 * one)(images)
    assert torch.allclose(contrasted, 0.6 * images + 0.4 * luma.mean(), atol=1e-5)
    assert torch.allclose(ColourMap(crops._saturating(0 * one), one)(images), luma.expand(1, 3, 5, 5), atol=1e-5)


@pytest.mark.parametrize("turn", [-0.1, 0.05, 0.1])
def test_the_hue_turns_and_brightness_stays(turn: float) -> None:
    colours = [(0.8, 0.3, 0.3), (0.3, 0.7, 0.4), (0.3, 0.4, 0.8)]
    turned = crops._turning(torch.tensor([turn]))[0] @ torch.tensor(colours).T
    assert torch.allclose(crops.LUMA @ turned, crops.LUMA @ torch.tensor(colours).T, atol=1e-3)
    for before, after in zip(colours, turned.T.tolist(), strict=True):
        difference = (colorsys.rgb_to_hsv(*after)[0] - colorsys.rgb_to_hsv(*before)[0] + 0.5) % 1 - 0.5
        assert abs(difference) == pytest.approx(abs(turn), rel=0.75)  # the hexagon of HSV is not quite a circle
        assert (difference > 0) == (turn < 0)


def test_colours_stay_without_strength_and_some_images_are_grey_with_it() -> None:
    images = photos(200, 4, 4) / 255
    assert torch.allclose(draw_colours(200, 0.0, seeded())(images), images, atol=1e-6)
    grey = [bool((image.std(dim=0) < 1e-5).all()) for image in draw_colours(200, 1.0, seeded())(images)]
    assert 20 < sum(grey) < 60, "a fifth of them"


def test_ranges_sizes_and_that_every_image_has_its_own_draw() -> None:
    views = [View(24, (0.4, 1), blur=1.0, solarise=0.5), View(16, (0.05, 0.4), blur=0.5)]
    image = photos(1)
    large, small = multi_crop(image.expand(12, -1, -1, -1), views, seeded())
    assert (large.shape, small.shape) == ((12, 3, 24, 24), (12, 3, 16, 16))
    for view in (large, small):
        assert view.min() >= 0
        assert view.max() <= 1
        assert len({tuple(one.flatten()[::37].tolist()) for one in view}) == 12


def test_solarising_turns_bright_pixels_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crops, "JITTER", 0.0)
    monkeypatch.setattr(crops, "GREY", 0.0)
    images = photos(40) / 255
    view = View(32, (0.3, 1.0))
    expected = make_view(images, view, seeded())
    solarised = make_view(images, View(32, (0.3, 1.0), solarise=1.0), seeded())
    assert torch.allclose(solarised, torch.where(expected < 0.5, expected, 1 - expected))
    assert solarised.max() <= 0.5


def test_the_generator_alone_decides_and_goes_on_after_its_state_is_given_back() -> None:
    images, views = photos(5), [View(24, (0.4, 1), blur=1.0), View(16, (0.05, 0.4), blur=0.5, solarise=0.5)]
    generator = seeded(3)
    multi_crop(images, views, generator)
    state = generator.get_state()
    torch.manual_seed(1)
    second = multi_crop(images, views, generator)
    third = multi_crop(images, views, generator)
    resumed = torch.Generator()
    resumed.set_state(state)
    torch.manual_seed(2)
    assert all(map(torch.equal, multi_crop(images, views, resumed), second))
    assert all(map(torch.equal, multi_crop(images, views, resumed), third))
    assert not any(map(torch.equal, second, third))


def test_what_is_drawn_does_not_depend_on_the_settings_of_a_view() -> None:
    one, other = seeded(), seeded()
    multi_crop(photos(5), [View(24, (0.4, 1), blur=1.0, solarise=1.0)], one, colour=1.0)
    multi_crop(photos(5, seed=7), [View(8, (0.1, 0.2))], other, colour=0.0)
    assert torch.equal(one.get_state(), other.get_state())
