"""One file from a server that can do wrong."""

import errno
import io
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cuter.errors import DataError
from cuter.stream.download.fetch import PAUSES, WebFile, fetch
from small_homes import web_file
from small_web import SmallWeb, small_web

CONTENT = random.Random(0).randbytes(100_000)


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallWeb]:
    monkeypatch.setenv("no_proxy", "*")
    with small_web() as web:
        web.files["/big.zip"] = CONTENT
        yield web


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that would have been waited."""
    waited: list[float] = []
    monkeypatch.setattr("time.sleep", waited.append)
    return waited


class Getting:
    """Fetches the file, and remembers what was told and shown."""

    def __init__(self, file: WebFile, folder: Path):
        self.file = file
        self.folder = folder
        self.told: list[str] = []
        self.shown: list[tuple[str, int, int]] = []
        self.part = folder / "big.zip.part"

    def __call__(self) -> bytes:
        path = fetch(self.file, self.folder, lambda *state: self.shown.append(state), self.told.append)
        assert path == self.folder / "big.zip"
        assert not self.part.exists()
        return path.read_bytes()


@pytest.fixture
def get(web: SmallWeb, tmp_path: Path) -> Getting:
    return Getting(web_file(f"{web.url}/big.zip", CONTENT), tmp_path)


def test_a_file_is_fetched_once(web: SmallWeb, get: Getting):
    assert get() == CONTENT
    assert get() == CONTENT
    assert web.requests == [("/big.zip", None)]
    assert get.told == []
    assert get.shown[-1] == ("checking big.zip", 100_000, 100_000)
    fetching = [done for what, done, _ in get.shown if what == "fetching big.zip"]
    assert fetching == sorted(fetching)
    assert fetching[-1] == 100_000


@pytest.mark.parametrize("reset", [False, True])
def test_a_broken_connection_goes_on_where_it_broke(
    web: SmallWeb, get: Getting, pauses: list[float], reset: bool
) -> None:
    web.breaks, web.reset = [30_000, 20_000, 0], reset
    assert get() == CONTENT
    asked = web.ranges_of("/big.zip")
    if reset:  # what was on its way when it came may be lost, but what was written is not asked for again
        starts = [int((one or "=0").split("=")[1].rstrip("-")) for one in asked]
        assert starts == sorted(starts)
        assert any("reset" in told for told in get.told)
    else:
        assert asked == [None, "bytes=30000-", "bytes=50000-", "bytes=50000-"]
        assert pauses == [1, 1, 4]
        assert "big.zip: the connection ended after 30000 of 100000 bytes. Tries again in 1 s" in get.told
    assert len(asked) == 4


def test_it_gives_up_when_nothing_comes_any_more_and_keeps_what_came(
    web: SmallWeb, get: Getting, pauses: list[float]
) -> None:
    web.breaks = [10_000, *[0] * len(PAUSES)]
    with pytest.raises(DataError, match=r"big\.zip cannot be fetched: .* 10000 of 100000 bytes are kept"):
        get()
    assert pauses == list(PAUSES)
    assert get.part.read_bytes() == CONTENT[:10_000]
    web.breaks, web.requests = [], []
    assert get() == CONTENT
    assert web.requests == [("/big.zip", "bytes=10000-")]


def test_failures_are_forgotten_when_bytes_come(web: SmallWeb, get: Getting, pauses: list[float]) -> None:
    web.breaks = [1000] * (3 * len(PAUSES))
    assert get() == CONTENT
    assert pauses == [1] * (3 * len(PAUSES))


def test_no_connection_at_all(get: Getting, pauses: list[float]) -> None:
    get.file = replace(get.file, url="http://127.0.0.1:9/big.zip")
    with pytest.raises(DataError, match=r"127\.0\.0\.1:9/big\.zip cannot be fetched: no connection \(.*refused"):
        get()
    assert pauses == list(PAUSES)


def test_a_connection_on_which_nothing_comes_counts_as_broken(
    web: SmallWeb, get: Getting, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cuter.stream.download.fetch.TIMEOUT", 0.1)
    web.stall_at = 40_000
    assert get() == CONTENT
    assert web.ranges_of("/big.zip") == [None, "bytes=40000-", "bytes=80000-"]
    assert "big.zip: the connection broke after 40000 of 100000 bytes (timed out). Tries again in 1 s" in get.told


def test_a_server_that_ignores_ranges_starts_again(web: SmallWeb, get: Getting) -> None:
    get.part.write_bytes(b"?" * 40_000)
    web.ranges = False
    assert get() == CONTENT
    assert web.requests == [("/big.zip", "bytes=40000-")]
    assert get.told == ["big.zip: the server can't go on with a file that has begun. It starts again"]


def test_a_server_that_ignores_ranges_and_breaks_does_not_go_on_for_ever(
    web: SmallWeb, get: Getting, pauses: list[float]
) -> None:
    web.ranges, web.breaks = False, [5000] * 100
    with pytest.raises(DataError, match="5000 of 100000 bytes are kept"):
        get()
    assert len(pauses) <= 1 + len(PAUSES)


def test_a_part_that_the_server_cannot_continue_starts_again(web: SmallWeb, get: Getting) -> None:
    get.part.write_bytes(b"?" * 40_000)
    web.statuses = [416]
    assert get() == CONTENT
    assert web.ranges_of("/big.zip") == ["bytes=40000-", None]
    assert get.told == ["big.zip can't go on where it stopped: the server has no byte 40000. It starts again"]


def test_another_length_on_the_server_starts_again(web: SmallWeb, get: Getting) -> None:
    get.part.write_bytes(b"?" * 40_000)
    web.lengths = [99_999]
    assert get() == CONTENT
    assert web.ranges_of("/big.zip") == ["bytes=40000-", None]
    assert "asked for byte 40000 of 100000, the server answers with 'bytes 40000-99998/99999'" in get.told[0]


def test_a_file_that_has_moved_is_continued_at_its_new_place(web: SmallWeb, get: Getting) -> None:
    get.part.write_bytes(CONTENT[:40_000])
    web.moved["/big.zip"], web.files["/new"] = "/new", web.files.pop("/big.zip")
    assert get() == CONTENT
    assert web.requests == [("/big.zip", "bytes=40000-"), ("/new", "bytes=40000-")]
    assert get.told == []


@pytest.mark.parametrize("ranges", [True, False])
def test_a_file_that_is_not_the_known_one_is_refused_before_it_costs_the_part(
    web: SmallWeb, get: Getting, ranges: bool
) -> None:
    get.part.write_bytes(CONTENT[:40_000])
    web.files["/big.zip"], web.ranges = b"<html>Log in first</html>" * 2000, ranges
    with pytest.raises(DataError, match="must be a file of 100000 bytes, but the server offers one of 50000"):
        get()
    assert get.part.read_bytes() == CONTENT[:40_000]


def test_a_length_that_is_not_told(web: SmallWeb, get: Getting, pauses: list[float]) -> None:
    web.tell_length = False
    web.files["/big.zip"] = CONTENT + b"and more"  # never written, however long it goes on
    assert get() == CONTENT
    assert pauses == []


def test_a_wrong_checksum_deletes_what_came(web: SmallWeb, get: Getting) -> None:
    wrong = bytes(100_000)
    web.files["/big.zip"] = wrong
    with pytest.raises(DataError, match="wrong checksum") as caught:
        get()
    for said in ("big.zip", get.file.md5, web_file("", wrong).md5):
        assert said in str(caught.value)
    assert list(get.folder.iterdir()) == []
    web.files["/big.zip"] = CONTENT
    assert get() == CONTENT


def test_a_part_of_another_file_is_found_out(web: SmallWeb, get: Getting) -> None:
    get.part.write_bytes(b"?" * 100_000)
    with pytest.raises(DataError, match="wrong checksum"):
        get()
    get.part.write_bytes(b"?" * 100_001)
    assert get() == CONTENT
    assert "longer than the file" in get.told[0]


def test_a_whole_file_of_somebody_else_is_checked_and_never_deleted(web: SmallWeb, get: Getting) -> None:
    mine = get.folder / "big.zip"
    mine.write_bytes(CONTENT)
    assert get() == CONTENT
    mine.write_bytes(CONTENT[:-1] + b"?")
    with pytest.raises(DataError, match=f"its MD5 must be {get.file.md5}, not .*Move it away"):
        get()
    assert mine.exists()
    assert web.requests == []


def test_answers_that_are_final_and_answers_that_pass(web: SmallWeb, get: Getting, pauses: list[float]) -> None:
    web.statuses = [503, 429]
    assert get() == CONTENT
    assert "the server answers 503 Service Unavailable. Tries again in 1 s" in get.told[0]
    assert pauses == [1, 4]
    (get.folder / "big.zip").unlink()
    del web.files["/big.zip"]
    with pytest.raises(DataError, match=r"big\.zip cannot be fetched: the server answers 404 Not Found"):
        get()
    assert len(web.requests) == 4
    assert pauses == [1, 4]


def full_after(room: int) -> Callable[..., Any]:
    """Return a `Path.open` on a disk with room for so many more bytes in files that are being fetched."""
    usual = Path.open

    class FullDisk(io.FileIO):
        def write(self, data: Any) -> int:
            nonlocal room
            if room == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            written = super().write(memoryview(data).cast("B")[:room]) or 0  # as a disk does: first a part
            room -= written
            return written

    def opened(path: Path, mode: str = "r", *rest: Any, **options: Any) -> Any:
        if path.suffix == ".part" and mode in ("ab", "wb"):
            return io.BufferedWriter(FullDisk(path, mode))
        return usual(path, mode, *rest, **options)

    return opened


def test_a_full_disk_leaves_the_part(web: SmallWeb, get: Getting) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Path, "open", full_after(12_345))
        with pytest.raises(OSError, match="No space left on device"):
            get()
    assert get.part.read_bytes() == CONTENT[:12_345]
    assert get() == CONTENT
    assert web.ranges_of("/big.zip") == [None, "bytes=12345-"]
