"""Locks: one owner at a time, handed on to who inherits them, gone with the last of them."""

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cuter.errors import CuterError
from cuter.tables.execute.lockfile import claim, owner, write_owner


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


def test_a_file_system_without_locks_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(CuterError, match=r"rs\.lock cannot be locked .*choose an --out"):
        claim(tmp_path / "rs.lock")
