"""Data sets from a small web, with kills, full disks and two processes at once."""

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections import namedtuple
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.filesize import decimal
from typer.testing import CliRunner

from cuter.cli import app
from cuter.errors import ConfigError, DataError
from cuter.lock import locked
from cuter.stream.datasets import detect, load_dataset
from cuter.stream.download import homes
from cuter.stream.download.get import get_dataset
from small_homes import small_homes, tarred, web_file
from small_web import SmallWeb, small_web
from waiting import wait_for

ARCHIVES = {
    "voc": ["/VOCtrainval_06-Nov-2007.tar", "/VOCtest_06-Nov-2007.tar"],
    "coco": ["/train2014.zip", "/val2014.zip", "/annotations_trainval2014.zip"],
}
TRAINVAL, TEST = ARCHIVES["voc"]


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallWeb]:
    monkeypatch.setenv("no_proxy", "*")
    with small_web() as web:
        small, web.files = small_homes(web.url)
        monkeypatch.setattr(homes, "HOMES", small)
        yield web


def paths(web: SmallWeb) -> list[str]:
    return [path for path, _ in web.requests]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {".lock"}


@pytest.mark.parametrize(("name", "images"), [("voc", (2, 1)), ("coco", (3, 2))])
def test_what_was_fetched_can_be_read(web: SmallWeb, tmp_path: Path, name: str, images: tuple[int, int]):
    told: list[str] = []
    root = tmp_path / "new" / "data"
    get_dataset(name, root, say=told.append)
    data = load_dataset(detect(root), root)
    assert (data.name, len(data.train), len(data.test)) == (name, *images)
    assert paths(web) == ARCHIVES[name]
    assert names(root) == ({"VOCdevkit"} if name == "voc" else {"train2014", "val2014", "annotations"})
    assert sum("deleted" in text for text in told) == len(homes.HOMES[name].pieces)
    assert not list(root.rglob("*.part"))

    get_dataset(name, root, say=told.append)
    assert told[-1] == f"All of it is in {root} already"
    assert len(web.requests) == len(ARCHIVES[name])


def test_archives_can_be_kept_and_are_used_again(web: SmallWeb, tmp_path: Path):
    told: list[str] = []
    get_dataset("voc", tmp_path, keep_archives=True, say=told.append)
    assert {TRAINVAL[1:], TEST[1:]} < names(tmp_path)
    assert told[-1].endswith("VOCtrainval_06-Nov-2007.tar and VOCtest_06-Nov-2007.tar kept")
    shutil.rmtree(tmp_path / "VOCdevkit")
    get_dataset("voc", tmp_path)
    assert names(tmp_path) == {"VOCdevkit"}
    assert len(web.requests) == 2


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("voc", "VOCdevkit/VOC2007", "VOC2007"),
        ("voc", "VOCdevkit/VOC2007/.", "."),
        ("coco", "train2014", "images/train2014"),
        ("coco", "val2014", "images/val2014"),
    ],
)
def test_what_the_reader_finds_elsewhere_is_not_fetched_again(
    web: SmallWeb, tmp_path: Path, name: str, before: str, after: str
):
    get_dataset(name, tmp_path / "first")
    shutil.copytree(tmp_path / "first", tmp_path / "second", ignore=shutil.ignore_patterns(Path(before).parts[0]))
    shutil.copytree(tmp_path / "first" / before, tmp_path / "second" / after, dirs_exist_ok=True)
    web.requests.clear()
    get_dataset(name, tmp_path / "second")
    assert web.requests == []
    load_dataset(name, tmp_path / "second")


def test_only_the_missing_folder_is_fetched(web: SmallWeb, tmp_path: Path):
    get_dataset("coco", tmp_path)
    shutil.rmtree(tmp_path / "val2014")
    web.requests.clear()
    get_dataset("coco", tmp_path)
    assert paths(web) == ["/val2014.zip"]


def test_a_folder_that_is_not_whole_is_refused_and_stays(web: SmallWeb, tmp_path: Path):
    get_dataset("voc", tmp_path)
    year = tmp_path / "VOCdevkit" / "VOC2007"
    (year / "JPEGImages" / "000002.jpg").unlink()
    with pytest.raises(DataError, match=r"VOC2007 is there, but is not whole: it holds 2 of 3 JPEGImages/\*\.jpg"):
        get_dataset("voc", tmp_path)
    year.rename(tmp_path / "VOC2007")
    with pytest.raises(DataError, match="is there, but is not whole"):
        get_dataset("voc", tmp_path)
    shutil.rmtree(tmp_path / "VOC2007")
    year.mkdir()
    with pytest.raises(DataError, match="it holds 0 of 3"):
        get_dataset("voc", tmp_path)
    assert len(web.requests) == 2


def test_other_years_stay_where_they_are(web: SmallWeb, tmp_path: Path):
    (tmp_path / "VOCdevkit" / "VOC2012").mkdir(parents=True)
    get_dataset("voc", tmp_path)
    assert names(tmp_path / "VOCdevkit") == {"VOC2007", "VOC2012"}


def test_an_archive_with_too_little_in_it_leaves_no_folder(
    web: SmallWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (piece,) = homes.HOMES["voc"].pieces
    few = tarred({"VOCdevkit/VOC2007/JPEGImages/1.jpg": b"?"})
    web.files["/few.tar"] = few
    archives = (web_file(f"{web.url}/few.tar", few),)
    monkeypatch.setitem(homes.HOMES, "voc", homes.Home((replace(piece, archives=archives),), "5x4"))
    with pytest.raises(DataError, match=r"few\.tar: held only 1 of 3 JPEGImages/\*\.jpg"):
        get_dataset("voc", tmp_path)
    assert list((tmp_path / "VOCdevkit").iterdir()) == []


Usage = namedtuple("Usage", "total used free")


def with_free(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**12, 10**12 - free, free))


@pytest.mark.parametrize("keep", [False, True])
def test_the_disk_is_looked_at_before_the_first_byte(
    web: SmallWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: bool
):
    train, val, annotations = (len(web.files[path]) for path in ARCHIVES["coco"])
    # beside what is unpacked there is one archive at a time, unless all stay
    needed = 150_000 + train + val + annotations if keep else max(50_000 + train, 100_000 + val, 150_000 + annotations)
    with_free(monkeypatch, needed - 1)
    with pytest.raises(DataError, match=r"the disk is too full\. 15\d\.\d kB are needed, .*; 15\d\.\d kB are free"):
        get_dataset("coco", tmp_path, keep_archives=keep)
    assert web.requests == []
    assert names(tmp_path) == set()
    with_free(monkeypatch, needed)
    get_dataset("coco", tmp_path, keep_archives=keep)


def test_what_is_on_the_disk_needs_no_more_room(web: SmallWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    trainval, test = web.files[TRAINVAL], web.files[TEST]
    (tmp_path / TRAINVAL[1:]).write_bytes(trainval)
    (tmp_path / f"{TEST[1:]}.part").write_bytes(test[:1000])
    (tmp_path / "VOCdevkit" / ".VOC2007.0123abcd.part" / "JPEGImages").mkdir(parents=True)  # of a process that died
    told: list[str] = []
    with_free(monkeypatch, 50_000 + len(test) - 1000)
    get_dataset("voc", tmp_path, say=told.append)
    assert web.requests == [(TEST, "bytes=1000-")]
    assert names(tmp_path / "VOCdevkit") == {"VOC2007"}
    assert told[0].startswith(f"{(len(test) - 1000) / 1000:.1f} kB to fetch")


def test_sizes_in_the_help_are_those_of_the_homes():
    told = " ".join(CliRunner().invoke(app, ["data", "get", "--help"], env={"COLUMNS": "300"}).stdout.split())
    for name, home in homes.HOMES.items():
        assert f"{sum(file.size for piece in home.pieces for file in piece.archives) / 1e9:.1f} GB" in told
        held, most = 0, 0
        for piece in home.pieces:
            most = max(most, held + piece.unpacked + sum(file.size for file in piece.archives))
            held += piece.unpacked
        assert f"{decimal(most)} for {name}" in told


def full(*_: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_disk_that_gets_full_keeps_what_was_fetched(web: SmallWeb, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("shutil.copyfileobj", full)
        with pytest.raises(DataError, match=r"no space left on device\. What was fetched is kept"):
            get_dataset("voc", tmp_path)
    assert names(tmp_path) == {TRAINVAL[1:], TEST[1:], "VOCdevkit"}
    assert names(tmp_path / "VOCdevkit") == set()
    get_dataset("voc", tmp_path)
    assert len(web.requests) == 2
    assert len(load_dataset("voc", tmp_path).train) == 2


# The command line in a process of its own, with the small web instead of the large one. The second argument is a
# statement that is carried out first.
PROGRAM = """
import os, shutil, signal, sys
import cuter.cli
from cuter.stream.download import homes
from small_homes import small_homes
homes.HOMES = small_homes(sys.argv.pop(1))[0]
exec(sys.argv.pop(1))
cuter.cli.main()
"""
DIE_ON_THE_FOURTH_FILE = """
usual, count = shutil.copyfileobj, 0
def copy(*files):
    global count
    count += 1
    usual(*files)
    if count == 4:
        os.kill(os.getpid(), signal.SIGKILL)
shutil.copyfileobj = copy
"""


def started(web: SmallWeb, *arguments: object, first: str = "") -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, web.url, first, "data", "get", *map(str, arguments)]
    path = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": path})


@pytest.mark.parametrize("name", ["voc", "coco"])
def test_killed_while_it_unpacks_it_looks_like_no_data_set(web: SmallWeb, tmp_path: Path, name: str) -> None:
    killed = started(web, name, "--root", tmp_path, first=DIE_ON_THE_FOURTH_FILE)
    assert killed.wait() == -signal.SIGKILL
    assert list(tmp_path.rglob(".*.part/*")), "it was killed too early to show anything"
    with pytest.raises(DataError, match="no data set recognised"):
        detect(tmp_path)
    with pytest.raises(DataError):
        load_dataset(name, tmp_path)
    get_dataset(name, tmp_path)
    assert sorted(paths(web)) == sorted(ARCHIVES[name]), "nothing is fetched twice"
    assert not list(tmp_path.rglob(".*.part"))
    load_dataset(name, tmp_path)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_stopped_on_the_way_it_goes_on_where_it_was(web: SmallWeb, tmp_path: Path, how: signal.Signals) -> None:
    root, web.stall_at = tmp_path / "my data", 9000
    process = started(web, "voc", "--root", root, "--keep-archives")
    part = root / f"{TRAINVAL[1:]}.part"
    wait_for(lambda: process.poll() is not None or (part.exists() and part.stat().st_size))
    process.send_signal(how)
    _, told = process.communicate()
    assert process.returncode == (130 if how == signal.SIGINT else -signal.SIGKILL)
    assert "Traceback" not in told
    if how == signal.SIGINT:
        assert f"Stopped. Go on with:  cuter data get voc --root '{root}' --keep-archives" in told
    length = part.stat().st_size
    assert 0 < length <= 9000
    web.stall_at = None
    get_dataset("voc", root)
    assert web.requests[1] == (TRAINVAL, f"bytes={length}-")
    load_dataset("voc", root)


def test_two_processes_do_not_work_on_one_folder(web: SmallWeb, tmp_path: Path) -> None:
    with locked(tmp_path):
        second = started(web, "voc", "--root", tmp_path)
        _, told = second.communicate()
    assert second.returncode == 1
    assert f"{tmp_path} is in use by another process" in told
    assert web.requests == []
    third = started(web, "voc", "--root", tmp_path)
    _, told = third.communicate()
    assert third.returncode == 0, told


def test_the_command_tells_how_to_go_on(web: SmallWeb, tmp_path: Path) -> None:
    root = tmp_path / "my data"
    done = CliRunner().invoke(app, ["data", "get", "coco", "--root", str(root)])
    assert done.exit_code == 0
    assert f"{root}/annotations is there; annotations_trainval2014.zip deleted" in done.stderr
    assert f"cuter data check '{root}' --dataset coco" in done.stderr
    assert f"cuter run --dataset coco --data-root '{root}' --backbone dino-vits16 --tasks 8x10" in done.stderr
    assert done.stdout == ""
    assert CliRunner().invoke(app, ["data", "check", str(root), "--dataset", "coco"]).exit_code == 0


def test_nothing_is_written_where_all_is_there(web: SmallWeb, tmp_path: Path) -> None:
    get_dataset("voc", tmp_path)
    (tmp_path / ".lock").unlink()
    get_dataset("voc", tmp_path)
    assert not (tmp_path / ".lock").exists()


def test_a_root_that_cannot_be(web: SmallWeb, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(DataError, match="file exists"):
        get_dataset("voc", tmp_path / "file")
    with pytest.raises(ConfigError, match="name the folder for the data set with --root"):
        CliRunner().invoke(app, ["data", "get", "voc"], catch_exceptions=False)
