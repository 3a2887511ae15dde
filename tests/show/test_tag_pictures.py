"""Pictures of tagged images."""

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from cuter.errors import CuterError
from cuter.models.tagging import Tagged
from cuter.show.pictures import COLOURS, INK
from cuter.show.tag_pictures import LARGEST, TagPictures, tagged_picture

LABELS = {"dog": 0.9, "person": 0.8, "sofa": 0.6}
BOXES = {"dog": (0.25, 0.25, 0.75, 0.75), "person": (0.5, 0.0, 1.0, 0.5), "sofa": None}


def has(picture: np.ndarray, colour: tuple[int, int, int]) -> bool:
    return bool((picture == colour).all(axis=-1).any())


@pytest.mark.parametrize("size", [(1, 1), (30, 20), (224, 224), (4000, 3000), (100, 4000), (4000, 10)])
@pytest.mark.parametrize("count", [0, 1, 100])
def test_they_have_room_for_photo_and_names(size: tuple[int, int], count: int) -> None:
    labels = {f"some class {number}": 0.9 for number in range(count)}
    boxes = dict.fromkeys(labels, (0.1, 0.1, 0.9, 0.9))
    picture = tagged_picture(Image.new("RGB", size, (9, 8, 7)), labels, boxes)
    assert max(picture.size) <= LARGEST
    assert min(picture.size) >= 20
    assert has(np.asarray(picture), INK), "names"


@pytest.mark.parametrize("ground", ["black", "white", (230, 159, 0)])
def test_boxes_are_seen_on_any_ground(ground: Any) -> None:
    picture = np.asarray(tagged_picture(Image.new("RGB", (600, 400), ground), LABELS, BOXES))
    photo, strip = picture[:400], picture[400:]
    assert picture.shape[1] == 600, "neither larger nor smaller than it was"
    assert has(photo, COLOURS[0])
    assert has(photo, COLOURS[1])
    assert not has(photo, COLOURS[2]), "the sofa is the whole image"
    assert has(photo, INK), "a dark edge"
    assert has(strip, COLOURS[0])
    assert has(strip, COLOURS[1])
    assert tuple(photo[100, 150]) in (COLOURS[0], INK), "the corner of the first box"


def test_classes_of_one_region_share_its_box() -> None:
    both = {"dog": BOXES["dog"], "person": BOXES["dog"]}
    picture = np.asarray(tagged_picture(Image.new("RGB", (600, 400)), {"dog": 0.9, "person": 0.8}, both))
    assert has(picture, COLOURS[0])
    assert not has(picture, COLOURS[1])


@pytest.mark.parametrize(
    ("path", "top", "file"),
    [
        ("photos/a/b.jpg", "photos", "a/b.jpg"),
        ("photos/a/b.jpg", None, "photos/a/b.jpg"),
        ("/data/b.PNG", None, "data/b.PNG"),
        ("scan.tif", None, "scan.tif.png"),
        ("photo", None, "photo.png"),
    ],
)
def test_names_are_kept(path: str, top: str | None, file: str) -> None:
    assert TagPictures(Path("out"), top and Path(top)).place(Path(path)) == Path("out", file)


def test_no_picture_leaves_the_folder() -> None:
    place = TagPictures(Path("out")).place(Path("../b.jpg"))
    assert place == Path("out", *Path(os.path.abspath("../b.jpg")).parts[1:])


def test_a_picture_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Image.new("RGB", (300, 200)).save(tmp_path / "a.jpg")
    draw = TagPictures(tmp_path / "drawn", tmp_path)
    draw(Tagged(tmp_path / "a.jpg", LABELS, boxes=BOXES))
    assert Image.open(tmp_path / "drawn" / "a.jpg").format == "JPEG"
    draw(Tagged(tmp_path / "gone.jpg", error="gone"))
    draw(Tagged(tmp_path / "gone.jpg", LABELS))
    before = (tmp_path / "drawn" / "a.jpg").read_bytes()

    def save(image: Image.Image, file: Path, *_: Any, **__: Any) -> None:
        file.write_bytes(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Image.Image, "save", save)
    with pytest.raises(CuterError, match=r"a\.jpg cannot be written: No space left on device"):
        draw(Tagged(tmp_path / "a.jpg", {}))
    assert (tmp_path / "drawn" / "a.jpg").read_bytes() == before
    assert [path.name for path in (tmp_path / "drawn").iterdir()] == ["a.jpg"]
