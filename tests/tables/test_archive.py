"""The folder of a run on its way: all that it goes on from arrives, and nothing lands elsewhere."""

import io
import tarfile
from pathlib import Path

import pytest

from cuter.errors import CuterError
from cuter.tables.execute.archive import pack, unpack


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_what_a_run_goes_on_from_arrives(tmp_path: Path) -> None:
    run = tmp_path / "run"
    for name in ("config.yaml", "metrics.jsonl", "tensorboard/events.1", "checkpoints/step-00000009/learner.json"):
        write(run / name, name)
    for name in (".lock", ".config.yaml.7.part", "checkpoints/step-00000007/learner.json"):
        write(run / name, "not needed")
    write(run / "checkpoints/.step-00000011.part/learner.json", "half-written")
    archive = pack(run)
    assert archive is not None
    unpack(archive, tmp_path / "there")
    arrived = {str(file.relative_to(tmp_path / "there")) for file in (tmp_path / "there").rglob("*") if file.is_file()}
    assert arrived == {"config.yaml", "metrics.jsonl", "tensorboard/events.1", "checkpoints/step-00000009/learner.json"}
    assert (tmp_path / "there" / "metrics.jsonl").read_text() == "metrics.jsonl"


def test_a_checkpoint_that_is_replaced_while_it_is_packed_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    write(run / "checkpoints/step-00000009/learner.json", "first")
    add = tarfile.TarFile.add

    def replace_and_add(tar: tarfile.TarFile, path: Path, name: Path) -> None:
        write(run / "checkpoints/.new/learner.json", "second")
        (run / "checkpoints/step-00000009").rename(tmp_path / "old")
        (run / "checkpoints/.new").rename(run / "checkpoints/step-00000009")
        add(tar, path, name)

    with monkeypatch.context() as patch:
        patch.setattr(tarfile.TarFile, "add", replace_and_add)
        assert pack(run) is None
    assert pack(run) is not None


@pytest.mark.parametrize("name", ["../outside", "a/../../outside"])
def test_a_file_that_would_land_elsewhere_is_refused(name: str, tmp_path: Path) -> None:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.addfile(tarfile.TarInfo(name), io.BytesIO())
    with pytest.raises(CuterError, match="is not the folder of a run"):
        unpack(archive.getvalue(), tmp_path / "there")
    assert not list(tmp_path.glob("outside*"))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_a_link_or_a_pipe_is_refused(kind: bytes, tmp_path: Path) -> None:
    member = tarfile.TarInfo("metrics.jsonl")
    member.type, member.linkname = kind, "config.yaml"
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.addfile(member)
    with pytest.raises(CuterError, match="not a plain file"):
        unpack(archive.getvalue(), tmp_path / "there")


def test_half_an_archive_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "run" / "metrics.jsonl", "line\n" * 9999)
    archive = pack(tmp_path / "run")
    assert archive is not None
    with pytest.raises(CuterError, match="is not the folder of a run"):
        unpack(archive[:9999], tmp_path / "there")
