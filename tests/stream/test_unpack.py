import tarfile
from pathlib import Path

import pytest

from cuter.errors import DataError
from cuter.stream.download.unpack import unpack
from small_homes import tarred, zipped

FILES = {"top/inner/a.txt": b"a", "top/inner/deep/b.txt": b"bb", "top/innermost.txt": b"?", "README": b"?"}


def written(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(params=["tar", "zip"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def archive(folder: Path, kind: str, files: dict[str, bytes]) -> Path:
    path = folder / f"x.{kind}"
    path.write_bytes(tarred(files) if kind == "tar" else zipped(files))
    return path


def test_what_is_in_the_inner_folder_is_written(tmp_path: Path, kind: str):
    shown: list[tuple[str, int, int]] = []
    path = archive(tmp_path, kind, {**FILES, "top/inner/empty/": b""} if kind == "zip" else FILES)
    unpack(path, "top/inner", tmp_path / "out", lambda *state: shown.append(state))
    assert written(tmp_path / "out") == {"a.txt": b"a", "deep/b.txt": b"bb"}
    ends = [done for _, done, _ in shown]
    assert ends == sorted(ends)
    assert {(what, total) for what, _, total in shown} == {(f"unpacking x.{kind}", path.stat().st_size)}
    assert 0 < ends[-1] <= path.stat().st_size


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "top/inner/../../../evil", "top\\inner\\..\\..\\..\\evil"])
def test_a_path_that_leaves_the_folder_is_refused(tmp_path: Path, kind: str, name: str):
    path = archive(tmp_path, kind, {name: b"evil"})
    with pytest.raises(DataError, match="must be a path relative to the root folder that stays inside it"):
        unpack(path, "top/inner", tmp_path / "a" / "b" / "out", lambda *state: None)
    assert written(tmp_path).keys() == {path.name}


def test_links_are_left_out(tmp_path: Path):
    (tmp_path / "outside").mkdir()
    links = [tarfile.TarInfo("top/inner/link"), tarfile.TarInfo("top/inner/hard")]
    for link, type_, target in zip(links, (tarfile.SYMTYPE, tarfile.LNKTYPE), ("outside", "x.tar"), strict=True):
        link.type, link.linkname = type_, str(tmp_path / target)
    path = tmp_path / "x.tar"
    path.write_bytes(tarred({"top/inner/link/evil": b"evil"}, *links))
    unpack(path, "top/inner", tmp_path / "out", lambda *state: None)
    assert written(tmp_path / "out") == {"link/evil": b"evil"}  # in a folder of that name, as the link was not made
    assert written(tmp_path / "outside") == {}


def test_a_damaged_archive_is_named(tmp_path: Path, kind: str):
    path = archive(tmp_path, kind, {"top/inner/a": bytes(5000)})
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(DataError, match=rf"x\.{kind} cannot be unpacked"):
        unpack(path, "top/inner", tmp_path / "out", lambda *state: None)
