"""Which images are meant by what is typed."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cuter.errors import ConfigError, NotThereError
from cuter.models.image_paths import ImagePaths


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    names = ["b.jpg", "a.PNG", "notes.txt", ".hidden.jpg", "sub/c.webp", "sub/deep/d.tif", ".git/e.jpg", "z/f.jpeg"]
    for name in names:
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True, parents=True)
        file.touch()
    (tmp_path / "none").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


ALL = ["a.PNG", "b.jpg", "sub/c.webp", "sub/deep/d.tif", "z/f.jpeg"]


@pytest.mark.parametrize(
    ("sources", "found"),
    [
        (["."], ALL),
        (["z", "sub"], ["z/f.jpeg", "sub/c.webp", "sub/deep/d.tif"]),
        (["notes.txt", ".hidden.jpg"], ["notes.txt", ".hidden.jpg"]),
        (["b.jpg", ".", "./b.jpg", "sub/../b.jpg"], ["b.jpg", "a.PNG", *ALL[2:]]),
        (["*.jpg"], ["b.jpg"]),
        (["**/*.[jw]*"], ["b.jpg", "sub/c.webp", "z/f.jpeg"]),
        (["**"], ALL),
        (["sub/**"], ["sub/c.webp", "sub/deep/d.tif"]),
        (["**/deep"], ["sub/deep/d.tif"]),
        (["s*", "?.jpg"], ["sub/c.webp", "sub/deep/d.tif", "b.jpg"]),
        ([".*.jpg"], [".hidden.jpg"]),
        (["**/**/*.jpg"], ["b.jpg"]),
    ],
)
def test_what_is_found(here: Path, sources: list[str], found: list[str]) -> None:
    images = ImagePaths(sources)
    assert [str(path) for path in images] == found
    assert [str(path) for path in images] == found, "once more"
    absolute = [os.path.join(here, source) for source in sources]
    assert [str(path) for path in ImagePaths(absolute)] == [str(here / name) for name in found] or ".." in str(sources)


def test_a_list(here: Path) -> None:
    listed = b"z/f.jpeg\n\nsub\r\nb.jpg\nz/f.jpeg"
    assert [str(path) for path in ImagePaths(["a.PNG", "-"], listed)] == ["a.PNG", "z/f.jpeg", *ALL[2:4], "b.jpg"]


@pytest.mark.parametrize(
    ("sources", "listed", "error", "message"),
    [
        (["b.jpg", "gone.jpg"], None, NotThereError, "^gone.jpg: no such file or folder"),
        (["-"], b"b.jpg\ngone.jpg\n", NotThereError, "line 2 of the list: gone.jpg: no such file or folder"),
        (["-"], b"\n", NotThereError, "the list of paths is empty"),
        (["none"], None, NotThereError, "none holds no image, nor do its sub-folders. Formats read: JPEG"),
        (["*.gif"], None, NotThereError, r"\*.gif: no file matches"),
        (["non*"], None, NotThereError, r"non\*: no file matches, nor has a folder that does an image"),
        (["https://example.org/a.jpg"], None, ConfigError, "a.jpg is a web address: images are read from files"),
    ],
)
def test_mistakes_are_told(
    here: Path, sources: list[str], listed: bytes | None, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        list(ImagePaths(sources, listed))


def test_a_name_with_wildcards_is_a_name_first(here: Path) -> None:
    (here / "[b].jpg").touch()
    assert [str(path) for path in ImagePaths(["[b].jpg"])] == ["[b].jpg"]


def test_links_to_folders_are_passed_over_and_links_to_files_are_not(here: Path) -> None:
    (here / "z" / "loop").symlink_to(here)
    (here / "z" / "g.jpg").symlink_to(here / "b.jpg")
    assert [str(path) for path in ImagePaths(["z"])] == ["z/f.jpeg", "z/g.jpg"]
    assert [str(path) for path in ImagePaths(["**/*.jpg"])] == ["b.jpg", "z/g.jpg"]


def test_pictures_that_are_drawn_meanwhile_are_no_images(here: Path) -> None:
    assert [str(path) for path in ImagePaths(["."], passed_over=Path("sub"))] == ["a.PNG", "b.jpg", "z/f.jpeg"]


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names are Unicode there")
def test_names_of_any_kind_in_the_order_of_their_bytes(tmp_path: Path) -> None:
    names = [b"caf\xe9.jpg", "日本.jpg".encode(), b"two\nlines.jpg", b"a b.jpg", b"-.jpg"]
    for name in names:
        Path(os.fsdecode(bytes(tmp_path) + b"/" + name)).touch()
    assert [os.fsencode(path.name) for path in ImagePaths([tmp_path])] == sorted(names)
    listed = b"\n".join(bytes(tmp_path) + b"/" + name for name in names if b"\n" not in name)
    assert [os.fsencode(path.name) for path in ImagePaths(["-"], listed)] == [n for n in names if b"\n" not in n]


def test_they_are_found_one_by_one(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    scandir: Callable[[str], object] = os.scandir
    monkeypatch.setattr(os, "scandir", lambda folder: (looked.append(folder), scandir(folder))[1])
    images = iter(ImagePaths(["."]))
    next(images)
    assert looked == ["."]
