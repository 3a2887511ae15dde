"""A file to fill in: rows for the images of a folder, none of which teaches anything before it is filled in."""

import json
import os
from pathlib import Path

import pytest
from PIL import Image

from command import cuter
from cuter.errors import ConfigError, DataError
from cuter.stream import fill_in
from cuter.stream.datasets import load_dataset
from cuter.stream.fill_in import write_rows_to_fill_in
from malformed import malformed_images


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "my photos"
    for name in ("10.jpg", "2.PNG", "cat/1.jpg", "cat/black/1.jpg", "søk/1.webp", ".hidden/1.jpg"):
        write(folder / name)
    write(folder / "cat" / "._1.jpg")
    (folder / "notes.txt").write_text("no image")
    return folder


def write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 8)).save(path, "PNG")


def lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8-sig").splitlines()


ALL = ["10.jpg", "2.PNG", "cat/1.jpg", "cat/black/1.jpg", "søk/1.webp"]


def test_a_row_for_each_image_in_the_order_of_paths(photos: Path) -> None:
    done = write_rows_to_fill_in(photos)
    assert lines(photos / "labels.csv") == ["path,labels", *(f"{path},?" for path in ALL)]
    assert (done.file, done.added, done.labelled, done.listed) == (photos / "labels.csv", 5, 0, 0)
    assert done.left_out == {}
    with pytest.raises(DataError, match=r"labels\.csv: no image is annotated yet"):
        load_dataset("folder", photos)


def test_what_is_filled_in_is_learned_and_the_rest_is_left_out(photos: Path) -> None:
    write_rows_to_fill_in(photos)
    file = photos / "labels.csv"
    filled = file.read_text(encoding="utf-8").replace("2.PNG,?", "2.PNG,cup;lamp").replace("10.jpg,?", "10.jpg,")
    file.write_text(filled, encoding="utf-8")
    data = load_dataset("folder", photos, test_share=0.9)
    assert {s.id: set(s.labels) for s in (*data.train, *data.test)} == {"10.jpg": set(), "2.PNG": {"cup", "lamp"}}


def test_labels_from_folders(photos: Path) -> None:
    done = write_rows_to_fill_in(photos, from_folders=True)
    assert lines(done.file)[1:] == [
        "10.jpg,?",
        "2.PNG,?",
        "cat/1.jpg,cat",
        "cat/black/1.jpg,cat;black",
        "søk/1.webp,søk",
    ]
    assert (done.added, done.labelled) == (5, 3)


def test_a_file_is_never_overwritten(photos: Path) -> None:
    write_rows_to_fill_in(photos, from_folders=True)
    before = (photos / "labels.csv").read_bytes()
    with pytest.raises(ConfigError, match=r"labels\.csv is there already.* --add adds .* --out names another file"):
        write_rows_to_fill_in(photos)
    assert (photos / "labels.csv").read_bytes() == before
    other = photos.parent / "other.csv"
    assert write_rows_to_fill_in(photos, other).added == 5
    assert lines(other)[1] == "10.jpg,?"
    with pytest.raises(ConfigError, match=r"other\.txt: the name of the file must end in \.csv"):
        write_rows_to_fill_in(photos, photos / "other.txt")
    with pytest.raises(ConfigError, match=r"nowhere: no such folder to write x\.csv into"):
        write_rows_to_fill_in(photos, photos / "nowhere" / "x.csv")
    (photos / "labels.csv").rename(photos / "train.csv")
    with pytest.raises(ConfigError, match=r"holds train\.csv, and labels\.csv cannot stand beside it"):
        write_rows_to_fill_in(photos)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("path,labels\n10.jpg,cup\n2.PNG,?", "path,labels\n10.jpg,cup\n2.PNG,?\n{}"),
        (
            "labels;path;known\ncup|lamp;10.jpg;\n;./2.PNG;cup\n",
            "labels;path;known\ncup|lamp;10.jpg;\n;./2.PNG;cup\n{}",
        ),
        ("path\tlabels\r\n10.jpg\tcup\r\n2.PNG\t\r\n", "path\tlabels\n10.jpg\tcup\n2.PNG\t\n{}"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_new_images_are_added_to_what_is_filled_in(photos: Path, before: str, after: str, encoding: str) -> None:
    file = photos / "labels.csv"
    file.write_bytes(before.encode(encoding))
    done = write_rows_to_fill_in(photos, add=True, from_folders=True)
    assert (done.added, done.listed) == (3, 2)
    rows = [("cat/1.jpg", "cat"), ("cat/black/1.jpg", "cat|black"), ("søk/1.webp", "søk")]
    if before.startswith("labels;"):
        new = "".join(f"{labels};{path};\n" for path, labels in rows)
    else:
        new = "".join(f"{path}{before[4]}{labels.replace('|', ';')}\n" for path, labels in rows)
    assert file.read_text(encoding="utf-8-sig") == after.format(new)
    again = file.read_bytes()
    assert write_rows_to_fill_in(photos, add=True).added == 0
    assert file.read_bytes() == again
    load_dataset("folder", photos, test_share=0.5)


def test_a_file_that_cannot_be_read_is_not_added_to(photos: Path) -> None:
    file = photos / "labels.csv"
    file.write_text("path,labels\n/10.jpg,cup\n2.PNG\n")
    with pytest.raises(DataError, match="2 faults were found") as caught:
        write_rows_to_fill_in(photos, add=True)
    assert "labels.csv line 2" in str(caught.value)
    assert "labels.csv line 3" in str(caught.value)
    assert file.read_text() == "path,labels\n/10.jpg,cup\n2.PNG\n"


def test_a_file_that_somebody_fills_in_meanwhile_is_left_as_it_is(photos: Path) -> None:
    file = photos / "labels.csv"
    for before in (None, "path,labels\n10.jpg,?\n"):
        if before is not None:
            file.write_text(before)
        with pytest.raises(ConfigError, match="was changed while the images were read"):
            write_rows_to_fill_in(
                photos, add=True, progress=lambda *_: file.write_text("path,labels\n2.PNG,cup\n") and None
            )
        assert file.read_text() == "path,labels\n2.PNG,cup\n"


def test_a_disk_that_refuses(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fill_in, "write_text", refuse)
    with pytest.raises(ConfigError, match=r"labels\.csv cannot be written: no space left on device"):
        write_rows_to_fill_in(photos)


def test_what_cannot_be_listed_is_named(photos: Path) -> None:
    (photos / "bad.jpg").write_text("hello")
    write(photos / "cats, dogs" / "1.jpg")
    write(photos / "car\rriage.jpg")
    write(photos / "back\\slash.jpg")
    write(Path(os.fsdecode(os.fsencode(photos) + b"/\xff.jpg")))
    done = write_rows_to_fill_in(photos, from_folders=True)
    assert done.added == 5
    reasons = {Path(path).name: why for path, why in done.left_out.items()}
    assert reasons.pop("bad.jpg").startswith("cannot read the image: not an image")
    assert reasons.pop("1.jpg") == "the name of its folder 'cats, dogs' cannot be a label: rename it"
    assert reasons.pop("\\xff.jpg") == "its name is not UTF-8 text: rename it"
    assert set(reasons.values()) == {"its name cannot be written in a CSV file: rename it"}
    assert len(reasons) == 2
    done = write_rows_to_fill_in(photos, add=True)
    assert lines(done.file)[-1] == '"cats, dogs/1.jpg",?'
    assert len(write_rows_to_fill_in(photos, add=True, from_folders=True).left_out) == 4, "it has a row now"


def test_a_folder_without_images(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds no image, nor do its sub-folders\. Formats read: JPEG"):
        write_rows_to_fill_in(tmp_path)
    with pytest.raises(DataError, match="gone: no such folder"):
        write_rows_to_fill_in(tmp_path / "gone")
    assert not list(tmp_path.iterdir())


def test_names_of_all_kinds_are_read_again_as_they_were(tmp_path: Path) -> None:
    paths = [path for path in malformed_images(tmp_path, count=200) if path.is_file()]
    for path in paths:
        write(path)
    done = write_rows_to_fill_in(tmp_path)
    seen = [path for path in paths if not path.name.startswith(".")]
    assert done.added == len(seen) > 190
    assert done.left_out == {}
    file = tmp_path / "labels.csv"
    file.write_text(file.read_text(encoding="utf-8").replace(",?\n", ",cup\n"), encoding="utf-8")
    data = load_dataset("folder", tmp_path)
    samples = [*data.train, *data.test]
    assert {sample.path for sample in samples} == set(seen)


def test_on_the_command_line(photos: Path) -> None:
    done = cuter("data", "init", photos)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert f"{photos}/labels.csv: 5 images added" in done.stderr
    assert "replace each ? by what the image shows" in done.stderr
    assert f"cuter data check '{photos}'" in done.stderr
    refused = cuter("data", "init", photos)
    assert refused.returncode in (1, 2)
    assert "is there already" in refused.stderr

    (photos / "new.jpg").write_bytes(b"?")
    write(photos / "newer.jpg")
    done = cuter("data", "init", photos, "--add", "--json")
    assert done.returncode == 2
    told = json.loads(done.stdout)
    assert (told["added"], told["listed"], list(told["left_out"])) == (1, 5, [f"{photos}/new.jpg"])
    assert f"left out: {photos}/new.jpg: cannot read the image" in cuter("data", "init", photos, "--add").stdout

    done = cuter("data", "init", photos, "--from-folders", "--out", photos / "x.csv")
    assert "3 of them labelled by their folders" in done.stderr
    assert "put it there under this name" in done.stderr
