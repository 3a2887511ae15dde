from dataclasses import replace
from pathlib import Path

import pytest
import torch
from PIL import Image

from cuter.measure.purity import purity
from cuter.memory import Item
from cuter.stream.samples import Box, Sample

NAMES = ["cat", "dog"]


@pytest.fixture
def samples(tmp_path: Path) -> dict[str, Sample]:
    """A photo of 200 × 100 pixels with a cat in its right half and a dog in a corner, and one without boxes."""
    Image.new("RGB", (200, 100)).save(tmp_path / "photo.png")
    cat, dog = Box("cat", 120, 40, 180, 90), Box("dog", 0, 0, 30, 30)
    photo = Sample("photo", tmp_path / "photo.png", frozenset(NAMES), boxes=(cat, dog))
    return {"photo": photo, "bare": Sample("bare", tmp_path / "photo.png", frozenset(["cat"]))}


def item(name: str, box: tuple[int, int, int, int] | None, id: str = "photo") -> Item:
    labels = torch.tensor([name == known for known in NAMES])
    return Item(torch.zeros(3, 4, 4, dtype=torch.uint8), labels, torch.ones_like(labels), id, box)


@pytest.mark.parametrize(
    ("name", "box", "is_pure"),
    [
        ("cat", (60, 40, 90, 90), True),  # in a square of 100: the cat exactly
        ("cat", (0, 0, 100, 100), True),  # all of it inside
        ("cat", (70, 50, 75, 55), True),  # a close-up: all cat
        ("cat", (40, 40, 74, 90), False),  # less than half of it, and it fills less than half
        ("cat", (40, 60, 90, 90), True),  # three fifths of it
        ("cat", (40, 60, 90, 60), False),  # no area at all
        ("dog", (60, 40, 90, 90), False),  # the dog is elsewhere
    ],
)
def test_a_cut_out_shows_its_label_or_not(
    samples: dict[str, Sample], name: str, box: tuple[int, int, int, int], is_pure: bool
) -> None:
    assert purity([item(name, box)], NAMES, samples, 100) == float(is_pure)


def test_photos_are_upright_as_the_learner_saw_them(samples: dict[str, Sample], tmp_path: Path) -> None:
    """A portrait that is stored lying down: 100 × 200 pixels with the turn noted beside them."""
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (100, 200)).save(tmp_path / "turned.jpg", exif=exif)
    turned = {"photo": replace(samples["photo"], path=tmp_path / "turned.jpg")}
    assert purity([item("cat", (60, 40, 90, 90))], NAMES, turned, 100) == 1


def test_photos_are_not_decoded(samples: dict[str, Sample], tmp_path: Path) -> None:
    """Of this one only the beginning is there, which has its size."""
    Image.effect_noise((200, 100), 50).save(tmp_path / "whole.jpg")
    (tmp_path / "half.jpg").write_bytes((tmp_path / "whole.jpg").read_bytes()[:1000])
    half = {"photo": replace(samples["photo"], path=tmp_path / "half.jpg")}
    assert purity([item("cat", (60, 40, 90, 90))], NAMES, half, 100) == 1


def test_the_share_counts_cut_outs_of_images_with_boxes_only(samples: dict[str, Sample]) -> None:
    items = [
        item("cat", (60, 40, 90, 90)),
        item("cat", (0, 0, 20, 20)),
        item("cat", None),
        item("cat", (0, 0, 20, 20), id="bare"),
    ]
    assert purity(items, NAMES, samples, 100) == 0.5
    crowd = {"photo": replace(samples["photo"], boxes=samples["photo"].boxes[:1])}  # dogs, but no box of one
    assert purity([item("dog", (0, 0, 20, 20))], NAMES, crowd, 100) is None
    assert purity(items[2:], NAMES, samples, 100) is None
    assert purity([], NAMES, samples, 100) is None


def test_a_set_of_patches_is_where_its_patches_are(samples: dict[str, Sample]) -> None:
    """Both sets have the same box; only one of them is on the cat."""
    on_the_cat, around_it = torch.zeros(10, 10, dtype=torch.bool), torch.zeros(10, 10, dtype=torch.bool)
    on_the_cat[4:9, 6:9] = on_the_cat[0, 0] = on_the_cat[9, 9] = True
    around_it[0] = around_it[:, 0] = around_it[9] = True
    box = (0, 0, 100, 100)
    assert purity([replace(item("cat", box), mask=on_the_cat)], NAMES, samples, 100) == 1
    assert purity([replace(item("cat", box), mask=around_it)], NAMES, samples, 100) == 0
    assert purity([item("cat", box)], NAMES, samples, 100) == 1
