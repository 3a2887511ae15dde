"""kill -9 at random moments, fifty times for each verb: nothing is half-written, and going on gives the same."""

import json
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from command import cuter, cuter_in_a_process
from cuter import Learner
from cuter.models.teaching import teach
from cuter.models.versions import ModelFolder
from cuter.storage import verify
from months import FIRST, SECOND, copied, first_month, make_month, next_month

KILLS = 50


@pytest.fixture(scope="module")
def learned(backbone_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two months, and a model that was taught the first one."""
    folder = tmp_path_factory.mktemp("kills")
    first = first_month(make_month(folder / "april", FIRST, seed=1), backbone_folder)
    make_month(folder / "may", SECOND, seed=2)
    teach(folder / "tagger", first)
    return folder


def killed_often(
    tmp_path: Path, arguments: list[object], is_done: Callable[[], bool], again: Callable[[], None]
) -> int:
    """Start a command and kill it at a random moment, fifty times; return how often it came to its end meanwhile.

    Whenever it is done, `again` sets back what it works on.
    """
    moments = random.Random(0)
    duration, ends = 60.0, 0  # of the command: as long as it took last
    for number in range(KILLS + 2):
        began = time.monotonic()
        process = cuter_in_a_process(tmp_path / "told", *arguments)
        process.join(duration if number < 2 else moments.uniform(0.05 * duration, duration))
        elapsed = time.monotonic() - began
        process.kill()
        process.join()
        if is_done():
            ends += 1
            duration = min(duration, elapsed)
            again()
    assert 2 <= ends < KILLS, "it was never killed before its end"


def checksums(model: Path) -> list[str]:
    """Return the checksums of all versions, of which each must be whole."""
    folder = ModelFolder.open(model)
    for version in folder.versions:
        verify(folder.folder_of(version))
    return [(folder.folder_of(version) / "manifest.json").read_text() for version in folder.versions]


def test_teach(learned: Path, tmp_path: Path) -> None:
    model, expected = tmp_path / "tagger", tmp_path / "expected"
    teach(copied(learned / "tagger", expected), next_month(learned / "may"))
    copied(learned / "tagger", model)
    arguments = ["teach", model, "--data-root", learned / "may", "--batch-size", 6, "--workers", 0, "--device", "cpu",
                 "--checkpoint-minutes", 0]  # fmt: skip

    def is_done() -> bool:
        found = checksums(model)  # at any moment the model is whole, the old one or the new one
        assert found in (checksums(learned / "tagger"), checksums(expected))
        Learner.load(model, device="cpu")
        return len(found) == 2

    def again() -> None:
        assert checksums(model) == checksums(expected)
        shutil.rmtree(model)
        copied(learned / "tagger", model)

    killed_often(tmp_path, arguments, is_done, again)
    done = cuter(*arguments)
    assert done.returncode == 0, done.stderr
    assert checksums(model) == checksums(expected)
    assert len(list((model / "versions").iterdir())) == 2
    assert not (model / "teaching").exists()


def test_forget(learned: Path, tmp_path: Path) -> None:
    start, expected, model = tmp_path / "start", tmp_path / "expected", tmp_path / "tagger"
    teach(copied(learned / "tagger", start), next_month(learned / "may"))
    unwanted = Learner.load(start, device="cpu").memory.items[0].id
    assert cuter("forget", copied(start, expected), "--id", unwanted).returncode == 0
    copied(start, model)
    before, after = checksums(start), checksums(expected)
    assert before != after

    def is_done() -> bool:
        found = checksums(model)
        assert found in (before, after), "all versions, or none"
        return found == after

    def again() -> None:
        assert checksums(model) == after
        shutil.rmtree(model)
        copied(start, model)

    killed_often(tmp_path, ["forget", model, "--id", unwanted], is_done, again)
    assert cuter("forget", model, "--id", unwanted).returncode == 0
    assert checksums(model) == after
    files = [path for path in model.rglob("*") if path.is_file()]
    assert not [path for path in files if unwanted.encode() in path.read_bytes()], "not in what was left behind, either"


def test_forget_in_a_saved_learner(learned: Path, tmp_path: Path) -> None:
    learner = Learner.load(learned / "tagger", device="cpu")
    learner.save(tmp_path / "start")
    unwanted = learner.memory.items[0].id
    model = copied(tmp_path / "start", tmp_path / "saved")

    def is_done() -> bool:
        return model.is_dir() and unwanted not in (model / "learner.json").read_text()

    def again() -> None:
        verify(model)
        for entry in [model, *tmp_path.glob(".saved.*")]:
            shutil.rmtree(entry)
        copied(tmp_path / "start", model)

    killed_often(tmp_path, ["forget", model, "--id", unwanted], is_done, again)
    assert cuter("forget", model, "--id", unwanted).returncode == 0
    verify(model)
    assert not list(tmp_path.glob(".saved.*"))
    assert unwanted not in {item.id for item in Learner.load(model, device="cpu").memory.items}


def test_rollback(learned: Path, tmp_path: Path) -> None:
    model = copied(learned / "tagger", tmp_path / "tagger")
    teach(model, next_month(learned / "may"))
    whole = checksums(model)

    def current() -> int:
        assert checksums(model) == whole
        return int(json.loads((model / "model.json").read_text())["current"])

    def again() -> None:
        ModelFolder.open(model).rollback(2)

    killed_often(tmp_path, ["models", model, "--rollback", 1], lambda: current() == 1, again)
    assert cuter("models", model, "--rollback", 1).returncode == 0
    assert current() == 1
