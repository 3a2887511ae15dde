import json
from pathlib import Path

import pytest
import torch
from PIL import Image

from cuter.backbone import Backbone, Features
from cuter.cut import CutSettings, Localiser
from cuter.errors import BatchError, ConfigError, CuterError, DataError
from cuter.show import cutting
from cuter.show.cutting import cut_photos, cut_summary, file_names, find_images
from cuter.stream.photos import BATCH

BLUE, RED = (0, 0, 200), (200, 0, 0)


class RedOrNot(torch.nn.Module):
    """Stands in for a backbone: all red patches are alike, and so are all others."""

    name, image_size, patch_size = "red-or-not", 32, 8

    def set_features(self, features: str) -> None:
        pass

    def forward(self, images: torch.Tensor) -> Features:
        red = (images[:, 0] > 100).unfold(1, 8, 8).unfold(2, 8, 8).float().mean(dim=(3, 4)).flatten(1) > 0.5
        patches = torch.stack([red, ~red], dim=-1).float()
        return Features(patches.mean(dim=1), patches, (4, 4), patches)


@pytest.fixture
def localiser() -> Localiser:
    return Localiser(RedOrNot(), CutSettings("keys", tau=0.2))  # type: ignore[arg-type]


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    """A blue image, twice as wide as high, with a red object in its upper right half."""
    image = Image.new("RGB", (240, 120), BLUE)
    image.paste(RED, (120, 0, 180, 60))
    file = tmp_path / "photos" / "photo.png"
    file.parent.mkdir()
    image.save(file)
    return file


def test_crops_are_of_the_original(photo: Path, tmp_path: Path, localiser: Localiser) -> None:
    out = tmp_path / "out" / "new"
    seen: list[tuple[int, int]] = []
    report = cut_photos([photo], out, localiser, 1, lambda done, of: seen.append((done, of)))
    assert report == json.loads((out / "regions.json").read_text())
    (image,) = report["images"]
    (region,) = image["regions"]
    assert (image["image"], image["width"], image["height"], image["grid"]) == (str(photo), 240, 120, [4, 4])
    assert (region["round"], region["box"], region["crop"]) == (1, [120, 0, 180, 60], "photo-1.png")
    assert region["seed"] in (2, 6)  # patches of the object: third column, rows one and two
    assert 0.9 < region["score"] <= 1
    with Image.open(out / "photo-1.png") as crop:
        assert crop.size == (60, 60)
        assert set(crop.get_flattened_data()) == {RED}
    assert report["settings"]["origin"] == "given"
    assert (report["backbone"], report["rounds"], report["unreadable"]) == ("red-or-not", 1, {})
    assert seen == [(0, 1), (1, 1)]
    assert {file.name for file in out.iterdir()} == {"photo.png", "photo-1.png", "contact-sheet.png", "regions.json"}


def test_an_unreadable_image_does_not_stop_the_others(photo: Path, tmp_path: Path, localiser: Localiser) -> None:
    broken, gone = photo.with_name("broken.jpg"), photo.with_name("gone.jpg")
    broken.write_bytes(b"?")
    report = cut_photos([broken, photo, gone], tmp_path / "out", localiser)
    assert [image["image"] for image in report["images"]] == [str(photo)]
    assert set(report["unreadable"]) == {str(broken), str(gone)}
    assert "no such file" in report["unreadable"][str(gone)]


def test_nothing_readable_gives_no_picture(photo: Path, tmp_path: Path, localiser: Localiser) -> None:
    photo.write_bytes(b"?")
    assert cut_photos([photo], tmp_path / "out", localiser)["images"] == []
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["regions.json"]


def test_batches_do_not_mix_images_up(tmp_path: Path, localiser: Localiser) -> None:
    paths = []
    for number in range(BATCH + 3):
        image = Image.new("RGB", (40 + number, 80), BLUE)
        column = number % 3
        image.paste(RED, (column * image.width // 4, 20, (column + 1) * image.width // 4, 40))
        paths.append(tmp_path / f"{number}.png")
        image.save(paths[-1])
    report = cut_photos(paths, tmp_path / "out", localiser, max_regions=1)
    for number, image in enumerate(report["images"]):
        x1, y1, _, y2 = image["regions"][0]["box"]
        assert (image["image"], image["width"]) == (str(paths[number]), 40 + number)
        assert (x1, y1, y2) == (number % 3 * image["width"] // 4, 20, 40)


def test_what_is_in_a_folder_already_stays(photo: Path, localiser: Localiser) -> None:
    before = photo.read_bytes()
    with pytest.raises(ConfigError, match="is not empty: choose another --out"):
        cut_photos([photo], photo.parent, localiser)
    assert (list(photo.parent.iterdir()), photo.read_bytes()) == ([photo], before)


def test_a_place_that_cannot_be_written_is_told(photo: Path, localiser: Localiser) -> None:
    with pytest.raises(CuterError, match=r"photo\.png/out cannot be written"):
        cut_photos([photo], photo / "out", localiser)


def test_a_failure_leaves_no_empty_folder(photo: Path, tmp_path: Path, localiser: Localiser) -> None:
    with pytest.raises(BatchError, match="max_regions must be at least 1"):
        cut_photos([photo], tmp_path / "out", localiser, max_regions=0)
    assert not (tmp_path / "out").exists()
    (tmp_path / "mine").mkdir()
    with pytest.raises(BatchError, match="max_regions must be at least 1"):
        cut_photos([photo], tmp_path / "mine", localiser, max_regions=0)
    assert (tmp_path / "mine").exists()


def test_many_images_take_several_sheets(
    photo: Path, tmp_path: Path, localiser: Localiser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cutting, "PAGE", 2)
    cut_photos([photo] * 5, tmp_path / "out", localiser)
    sheets = sorted(file.name for file in (tmp_path / "out").glob("contact-sheet*"))
    assert sheets == ["contact-sheet-2.png", "contact-sheet-3.png", "contact-sheet.png"]


def test_the_cut_of_a_real_backbone(tiny: Backbone, shapes: Path, tmp_path: Path) -> None:
    paths = find_images([shapes / "images"])[:3]
    report = cut_photos(paths, tmp_path / "out", Localiser(tiny), max_regions=2)
    assert len(report["images"]) == 3
    for image in report["images"]:
        for region in image["regions"]:
            x1, y1, x2, y2 = region["box"]
            with Image.open(tmp_path / "out" / region["crop"]) as crop:
                assert crop.size == (x2 - x1, y2 - y1)


def test_images_of_a_folder(tmp_path: Path) -> None:
    for name in ("b.JPG", "a.png", "notes.txt", "c.webp", ".DS_Store"):
        (tmp_path / name).write_bytes(b"?")
    (tmp_path / "deeper").mkdir()
    single = tmp_path / "notes.txt"  # whoever names a file means it
    assert [path.name for path in find_images([tmp_path, single])] == ["a.png", "b.JPG", "c.webp", "notes.txt"]
    with pytest.raises(DataError, match=r"deeper holds no image\. Formats read: JPEG, PNG"):
        find_images([tmp_path / "deeper"])


def test_no_image_takes_the_files_of_another() -> None:
    paths = [Path(name) for name in ("a.jpg", "x/a.png", "A.gif", "a-1.jpg", "a_2.jpg", "contact-sheet.jpg", "b.jpg")]
    names = file_names(paths, max_regions=2, taken=["contact-sheet"])
    assert names == ["a", "a_2", "A_3", "a-1_2", "a_2_2", "contact-sheet_2", "b"]
    files = [f"{name}{end}".lower() for name in names for end in ("", "-1", "-2")]
    assert len(set(files) - {"contact-sheet"}) == len(files)


def test_the_summary_tells_why_these_settings(localiser: Localiser) -> None:
    assert cut_summary(localiser) == "red-or-not: keys, tau 0.2, not centred, self-loops 0 (given)"
