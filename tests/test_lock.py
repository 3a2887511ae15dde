"""A folder for one process at a time."""

import errno
import fcntl
import os
from pathlib import Path
from typing import Any

import pytest

from cuter.errors import ConfigError
from cuter.lock import locked


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.EAGAIN, "is in use by another process"),
        (errno.EACCES, "is in use by another process"),
        (errno.ENOLCK, "cannot be locked .*choose a file system with locks"),
    ],
)
def test_what_keeps_a_folder_from_being_held_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, message: str
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "lockf", refuse)
    with pytest.raises(ConfigError, match=message), locked(tmp_path):
        pytest.fail("it was held")
