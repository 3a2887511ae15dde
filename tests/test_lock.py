"""One holder at a time: locks that processes inherit or do not, and that are gone with the last of them."""

import errno
import fcntl
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cuter.errors import ConfigError, CuterError
from cuter.lock import claim, locked, locked_file, owner, write_owner


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let the system refuse a lock with some error number."""

    def refuse(number: int) -> None:
        def flock(*_: Any) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(fcntl, "flock", flock)

    return refuse


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.EAGAIN, "is in use by another process"),
        (errno.EACCES, "is in use by another process"),
        (errno.ENOLCK, r"cannot be locked .*on a file system with locks"),
        (errno.ENOSYS, r"cannot be locked .*on a file system with locks"),
    ],
)
def test_what_keeps_a_folder_from_being_held_is_told(tmp_path: Path, refuse: Any, number: int, message: str) -> None:
    refuse(number)
    with pytest.raises(ConfigError, match=message), locked(tmp_path):
        pytest.fail("it was held")


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"cannot be locked .*choose a folder"), locked(tmp_path / "file"):
        pytest.fail("it was held")


def test_a_folder_is_held_by_one_process_and_not_by_its_workers(tmp_path: Path) -> None:
    (tmp_path / ".lock").write_text("a file of somebody else with this name")
    release, context = multiprocessing.Event(), multiprocessing.get_context("fork")
    with locked(tmp_path):
        worker = context.Process(target=release.wait)
        worker.start()
        with pytest.raises(ConfigError, match="is in use by another process"), locked(tmp_path):
            pytest.fail("it was held twice")
    with locked(tmp_path):  # the worker is still there
        assert worker.is_alive()
    release.set()
    worker.join()
    assert (tmp_path / ".lock").read_text() == "a file of somebody else with this name"


def test_a_file_is_held_by_one_process_and_no_lock_stays(tmp_path: Path) -> None:
    file = tmp_path / "tags.csv"
    with locked_file(file):
        with pytest.raises(ConfigError, match=r"tags\.csv is in use by another process"), locked_file(file):
            pytest.fail("it was held twice")
        with locked_file(tmp_path / "other.csv"):
            assert not file.exists()
    assert not list(tmp_path.iterdir())
    with locked_file(file):
        pass


def test_a_claim_has_one_owner_and_ends_with_it(tmp_path: Path) -> None:
    file = tmp_path / "jobs" / "rs.lock"
    assert owner(file) == "nobody"
    first = claim(file)
    assert first is not None
    assert owner(file).startswith(f"process {os.getpid()} on ")
    assert claim(file) is None
    first.close()
    again = claim(file)
    assert again is not None
    again.close()


def test_a_run_holds_the_claim_after_its_command_is_gone(tmp_path: Path) -> None:
    file = tmp_path / "rs.lock"
    lock = claim(file)
    assert lock is not None
    run = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(lock.fileno(),))
    write_owner(lock, run.pid)
    lock.close()
    assert owner(file).startswith(f"process {run.pid} on "), "who can be stopped"
    assert claim(file) is None
    run.kill()
    run.wait()
    taken_over = claim(file)
    assert taken_over is not None
    taken_over.close()


def test_a_file_system_without_locks_is_told_at_once(tmp_path: Path, refuse: Any) -> None:
    refuse(errno.ENOSYS)
    with pytest.raises(CuterError, match=r"rs\.lock cannot be locked .*choose an --out"):
        claim(tmp_path / "rs.lock")
