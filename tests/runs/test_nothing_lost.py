"""Nothing is lost, nothing is silent: full disks, images that cannot be read, data that were moved."""

import errno
import io
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from safetensors.torch import load_file

from cuter.errors import CheckpointError, ConfigError, CuterError, DataError
from cuter.learn.learner import Learner
from cuter.runs import directory as directories
from cuter.runs import run as runs
from cuter.runs.config import RunConfig
from cuter.show.run_display import RunDisplay
from cuter.storage import save_states
from shapes import render_shapes


def silent() -> RunDisplay:
    return RunDisplay(Console(file=io.StringIO(), width=120))


@pytest.fixture
def small(config: RunConfig) -> RunConfig:
    """A run of two tasks and a few steps."""
    return config.model_copy(
        update={"tasks": "2x4", "limit_train": 24, "limit_test": 12, "probe_images": 0, "track": []}
    )


def outcome(folder: Path) -> dict[str, Any]:
    summary = json.loads((folder / "summary.json").read_text())
    tensors = load_file(max((folder / "checkpoints").glob("step-*")) / "learner.safetensors")
    return {
        "figures": {key: value for key, value in summary.items() if "second" not in key and key != "config"},
        "metrics": (folder / "metrics.jsonl").read_text(),
        "weights": {name: tensor.numpy().tobytes() for name, tensor in tensors.items()},
    }


def full_after(saves: int) -> Callable[..., None]:
    """Return a `save_states` for which the disk is full after so many calls."""
    calls: list[Path] = []

    def save(folder: Path, states: Any) -> None:
        calls.append(folder)
        if len(calls) > saves:
            raise OSError(errno.ENOSPC, "No space left on device")
        save_states(folder, states)

    return save


def test_a_run_whose_last_checkpoint_finds_no_room_is_not_finished(
    small: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs.start(small, tmp_path / "whole", silent())
    with monkeypatch.context() as patch:
        patch.setattr(directories, "save_states", full_after(1))
        with pytest.raises(
            CuterError, match=r"run is not finished: its last checkpoint cannot be written .*No space"
        ) as e:
            runs.start(small, tmp_path / "run", silent())
        assert f"cuter run --resume {tmp_path / 'run'}" in str(e.value)
    assert not (tmp_path / "run" / "summary.json").exists()
    runs.resume(tmp_path / "run", silent())
    assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")


def test_a_disk_that_is_full_for_a_while_costs_a_checkpoint_but_not_the_run(
    small: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    full, calls = full_after(0), []

    def save(folder: Path, states: Any) -> None:
        calls.append(folder)
        (full if len(calls) == 1 else save_states)(folder, states)

    monkeypatch.setattr(directories, "save_states", save)
    assert len(runs.start(small, tmp_path / "run", silent())["tasks"]) == 2
    assert "could not be written" in caplog.text
    assert len(list((tmp_path / "run" / "checkpoints").iterdir())) == 1


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[Callable[[int], None]]:
    """Mount a file system of this size, and yield what changes its size."""
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)]
    if os.name != "posix" or os.geteuid() != 0 or subprocess.run(["mount", *options], check=False).returncode:
        pytest.skip("a file system can be mounted by root alone")
    try:
        yield lambda size: subprocess.run(["mount", "-o", f"remount,size={size}k", str(folder)], check=True) and None
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_on_a_small_disk_a_run_stops_and_goes_on_when_there_is_room(small: RunConfig, tmp_path: Path) -> None:
    runs.start(small, tmp_path / "whole", silent())
    first = min((tmp_path / "whole" / "checkpoints").iterdir())
    kilobytes = sum(file.stat().st_size for file in first.iterdir()) // 1024
    with small_disk(tmp_path / "disk", int(1.5 * kilobytes)) as resize:
        run = tmp_path / "disk" / "run"
        with pytest.raises(CuterError, match=r"last checkpoint cannot be written .*go on with: cuter run --resume"):
            runs.start(small, run, silent())
        assert not (run / "summary.json").exists()
        resize(10 * kilobytes)
        runs.resume(run, silent())
        assert outcome(run) == outcome(tmp_path / "whole")


def test_a_finished_run_without_its_last_checkpoint_makes_it_again(
    small: RunConfig, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As earlier versions left it on a full disk."""
    run = tmp_path / "run"
    runs.start(small, run, silent())
    before = outcome(run)
    shutil.rmtree(max((run / "checkpoints").iterdir()))
    assert Learner.load(run, device="cpu").steps < json.loads((run / "summary.json").read_text())["steps"]
    assert "but the run ended with step" in caplog.text
    runs.resume(run, silent())
    assert "lacks its last checkpoint" in caplog.text
    assert outcome(run) == before
    caplog.clear()
    Learner.load(run, device="cpu")
    assert not caplog.text
    shutil.rmtree(run / "checkpoints")  # deleted by somebody who needs the room
    runs.resume(run, silent())
    assert not (run / "checkpoints").exists()


def test_a_damaged_checkpoint_is_passed_over_when_a_learner_is_loaded(
    small: RunConfig, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = tmp_path / "run"
    runs.start(small, run, silent())
    older, newer = sorted((run / "checkpoints").iterdir())
    steps = Learner.load(older, device="cpu").steps
    (newer / "learner.json").write_text("{")
    assert Learner.load(run, device="cpu").steps == steps
    assert f"{newer / 'learner.json'} is damaged" in caplog.text
    assert f"{older} is read in its place" in caplog.text
    (older / "learner.json").write_text("{")
    with pytest.raises(CheckpointError, match=rf"{newer.name}/learner\.json is damaged"):
        Learner.load(run)


def test_a_learner_that_cannot_be_saved_is_an_error_of_our_own(tiny: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    one = Learner.create(backbone=tiny, device="cpu")
    with pytest.raises(CheckpointError, match=r"the learner cannot be saved in .*file/x: .*[Ff]ile"):
        one.save(tmp_path / "file" / "x")


@pytest.mark.usefixtures("pictures")
def test_pictures_that_find_no_room_are_an_error_and_are_drawn_later(
    small: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from matplotlib.figure import Figure

    def full(self: Figure, file: Path) -> None:
        Path(file).write_bytes(b"half of it")
        raise OSError(errno.ENOSPC, "No space left on device")

    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(Figure, "savefig", full)
        with pytest.raises(CuterError, match=r"results of .*run are in summary\.json.* pictures .*No space left"):
            runs.start(small, run, silent())
    assert not list(run.glob("*.png")) + list(run.glob(".*.png")), "a picture is whole or not there"
    runs.resume(run, silent())
    assert (run / "balance.png").read_bytes().startswith(b"\x89PNG")


def test_a_log_on_a_full_disk_prints_no_traceback(
    small: RunConfig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    run = directories.RunDirectory.create(tmp_path / "run", small)
    (run.path / "run.log").symlink_to("/dev/full")
    with run.logged():
        directories.logger.info("a line that is lost")
    assert "Traceback" not in capsys.readouterr().err


def with_data(config: RunConfig, root: Path, broken: int, **choices: Any) -> RunConfig:
    """Return the run on 40 training images of which some are broken."""
    render_shapes(root, train=40, test=12)
    for image in sorted((root / "images").glob("train-*.png"))[:broken]:
        image.write_bytes(b"")
    return config.model_copy(update={"data_root": root, "limit_train": None} | choices)


@pytest.mark.parametrize(("broken", "workers"), [(40, 1), (5, 0)])
def test_too_many_unreadable_images_stop_a_run(small: RunConfig, tmp_path: Path, broken: int, workers: int) -> None:
    config = with_data(small, tmp_path / "data", broken, workers=workers)
    with pytest.raises(
        DataError, match=r"\d+ of 40 training images are unreadable so far, more than max_unreadable 0\.1"
    ) as e:
        runs.start(config, tmp_path / "run", silent())
    assert "train-0000" in str(e.value)
    assert f"cuter run --resume {tmp_path / 'run'}" in str(e.value)
    assert not (tmp_path / "run" / "summary.json").exists()


def test_more_unreadable_images_may_be_allowed_also_when_it_goes_on(small: RunConfig, tmp_path: Path) -> None:
    config = with_data(small, tmp_path / "data", 5)
    with pytest.raises(DataError):
        runs.start(config, tmp_path / "run", silent())
    assert len(runs.resume(tmp_path / "run", silent(), {"max_unreadable": 0.2})["skipped"]) == 5
    runs.start(config.model_copy(update={"max_unreadable": 0.2}), tmp_path / "whole", silent())
    assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")


def test_a_stream_without_one_readable_image_is_an_error_whatever_is_allowed(small: RunConfig, tmp_path: Path) -> None:
    config = with_data(small, tmp_path / "data", 40, max_unreadable=1.0)
    with pytest.raises(DataError, match="none of the training images of task 1 is readable"):
        runs.start(config, tmp_path / "run", silent())


def test_a_run_goes_on_where_its_data_were_moved_to(
    small: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = with_data(small, tmp_path / "data", 3, checkpoint_steps=1)
    runs.start(config, tmp_path / "whole", silent())
    with monkeypatch.context() as patch:
        patch.setattr(directories, "save_states", full_after(5))
        with pytest.raises(CuterError):
            runs.start(config, tmp_path / "run", silent())
    (tmp_path / "data").rename(tmp_path / "elsewhere")
    with pytest.raises(DataError, match="data: no such folder"):
        runs.resume(tmp_path / "run", silent())
    moved = {"data_root": str(tmp_path / "elsewhere"), "workers": 1, "device": "cpu"}
    summary = runs.resume(tmp_path / "run", silent(), moved)
    noted = directories.RunDirectory.open(tmp_path / "run").config
    assert (noted.data_root, noted.workers) == (tmp_path / "elsewhere", 1)
    assert len(summary["skipped"]) == 3
    assert all(path.startswith(str(tmp_path / "elsewhere")) for path in summary["skipped"])
    one, other = outcome(tmp_path / "run"), outcome(tmp_path / "whole")
    skipped = [len(both["figures"].pop("skipped")) for both in (one, other)]
    assert skipped == [3, 3]
    assert one == other
    # and a finished one, whose report needs its data
    runs.resume(tmp_path / "whole", silent(), {"data_root": tmp_path / "elsewhere"})
    assert directories.RunDirectory.open(tmp_path / "whole").config.data_root == tmp_path / "elsewhere"


def test_other_data_and_other_settings_are_refused_when_a_run_goes_on(small: RunConfig, tmp_path: Path) -> None:
    runs.start(small, tmp_path / "run", silent())
    render_shapes(tmp_path / "data", train=24, test=12, seed=1)
    with pytest.raises(ConfigError, match="are not those it began with"):
        runs.resume(tmp_path / "run", silent(), {"data_root": tmp_path / "data"})
    with pytest.raises(
        ConfigError,
        match=r"a run goes on with its own lr\. What may change: data_root, workers, max_unreadable, device",
    ):
        runs.resume(tmp_path / "run", silent(), {"lr": 1.0})
    with pytest.raises(ConfigError, match=r"workers: .* not 1000"):
        runs.resume(tmp_path / "run", silent(), {"workers": 1000})
    assert directories.RunDirectory.open(tmp_path / "run").config == small
