import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from cuter import storage
from cuter.errors import CheckpointError
from cuter.storage import load_state, save_states, verify, write_json

STATE = {
    "number": 3,
    "names": ["ä", "b"],
    "none": None,
    "deep": {"tensor": torch.arange(5), "empty": torch.zeros(0, 3)},
}


def same(a: object, b: object) -> bool:
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return a == b


def test_a_state_comes_back_as_it_was(tmp_path: Path) -> None:
    save_states(tmp_path / "x", {"one": STATE, "two": {"only": 1}})
    verify(tmp_path / "x")
    assert same(load_state(tmp_path / "x", "one"), STATE)
    assert load_state(tmp_path / "x", "two") == {"only": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["x"], "nothing may be left beside it"


def test_an_older_folder_is_replaced_whole(tmp_path: Path) -> None:
    save_states(tmp_path / "x", {"old": STATE})
    save_states(tmp_path / "x", {"new": {"a": 1}})
    assert load_state(tmp_path / "x", "new") == {"a": 1}
    assert not list((tmp_path / "x").glob("old*"))
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("name", ["one.safetensors", "one.json", "manifest.json"])
@pytest.mark.parametrize("harm", ["cut", "flip", "remove"])
def test_any_damage_is_found(tmp_path: Path, name: str, harm: str) -> None:
    save_states(tmp_path / "x", {"one": STATE})
    file = tmp_path / "x" / name
    content = bytearray(file.read_bytes())
    if harm == "cut":
        file.write_bytes(content[: len(content) // 2])
    elif harm == "flip":
        content[len(content) // 2] ^= 4
        file.write_bytes(content)
    else:
        file.unlink()
    with pytest.raises(CheckpointError, match="x"):
        verify(tmp_path / "x")


FULL_DISK = """
import resource, signal, sys, torch
from pathlib import Path
from cuter.storage import save_states

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    save_states(Path(sys.argv[1]), {"one": {"a": torch.zeros(100_000)}})
except OSError as error:
    print("refused:", error)
"""


def test_a_disk_that_takes_no_more_leaves_the_old_one(tmp_path: Path) -> None:
    """A real refusal of the system, by a limit on file sizes: it comes out of safetensors, not of Python."""
    save_states(tmp_path / "x", {"one": {"a": 1}})
    told = subprocess.check_output([sys.executable, "-c", FULL_DISK, str(tmp_path / "x")], text=True)
    assert "refused: one.safetensors" in told
    verify(tmp_path / "x")
    assert load_state(tmp_path / "x", "one") == {"a": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_failed_rename_puts_the_old_one_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_states(tmp_path / "x", {"one": {"a": 1}})
    rename = Path.rename

    def refuse(self: Path, target: Path) -> Path:
        if self.suffix == ".part":
            raise OSError(errno.EIO, "input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(OSError, match="input/output"):
        save_states(tmp_path / "x", {"one": {"a": 2}})
    assert load_state(tmp_path / "x", "one") == {"a": 1}


def test_only_what_was_saved_here_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "holiday.jpg").write_text("precious")
    (tmp_path / "file").write_text("precious")
    for target in ("photos", "file"):
        with pytest.raises(CheckpointError, match="something else than a saved state"):
            save_states(tmp_path / target, {"one": {"a": 1}})
    save_states(tmp_path / "damaged", {"one": {"a": 1}})
    (tmp_path / "damaged" / "manifest.json").write_text("{")
    with pytest.raises(CheckpointError, match="something else"):
        save_states(tmp_path / "damaged", {"one": {"a": 2}})
    save_states(tmp_path / "x", {"one": {"a": 1}})
    (tmp_path / "x" / "notes.txt").touch()
    with pytest.raises(CheckpointError, match="something else"):
        save_states(tmp_path / "x", {"one": {"a": 2}})
    assert (tmp_path / "photos" / "holiday.jpg").read_text() == (tmp_path / "file").read_text() == "precious"


def test_others_may_read_what_is_saved(tmp_path: Path) -> None:
    save_states(tmp_path / "x", {"one": {"a": torch.zeros(3)}})
    (tmp_path / "plain").mkdir()
    (tmp_path / "file").touch()
    assert (tmp_path / "x").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert {path.stat().st_mode for path in (tmp_path / "x").iterdir()} == {(tmp_path / "file").stat().st_mode}


def test_json_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_json(tmp_path / "a.json", {"a": 1})
    monkeypatch.setattr(storage.os, "fsync", lambda _: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
    with pytest.raises(OSError, match="full"):
        write_json(tmp_path / "a.json", {"a": 2})
    assert json.loads((tmp_path / "a.json").read_text()) == {"a": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
