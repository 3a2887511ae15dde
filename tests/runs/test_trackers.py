"""Real clients without a network: all get the same figures, and none of them can do a run harm."""

import io
import json
import logging
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console
from safetensors.torch import load_file

from command import cuter_in_a_process
from cuter.errors import ConfigError
from cuter.learn.learner import Step
from cuter.measure.metrics import Scores
from cuter.measure.protocol import TaskResult
from cuter.runs import run as runs
from cuter.runs.config import RunConfig
from cuter.runs.tracking import group, trackers
from cuter.runs.tracking.group import TrackerGroup
from cuter.show.run_display import RunDisplay
from tracked import Curves, be_patient, mlflow_curves, offline, tensorboard_curves, wandb_curves, wandb_records
from waiting import wait_for

ALL = ["tensorboard", "wandb", "mlflow"]


@pytest.fixture(autouse=True)
def no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in offline(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(trackers, "PATIENCE", trackers.PATIENCE)  # as it was, when the test is over
    be_patient()
    yield
    if sys.modules.get("wandb"):
        sys.modules["wandb"].teardown()  # it reads its variables once


@pytest.fixture(scope="module")
def config(config: RunConfig) -> RunConfig:
    return config.model_copy(update={"batch_size": 6})


def tracked_by(config: RunConfig, *names: str) -> RunConfig:
    return config.model_copy(update={"track": list(names)})


def carry_out(config: RunConfig, folder: Path) -> dict[str, Any]:
    return runs.start(config, folder, RunDisplay(Console(file=io.StringIO(), width=120)))


def outcome(folder: Path) -> tuple[str, dict[str, bytes]]:
    tensors = load_file(max((folder / "checkpoints").glob("step-*")) / "learner.safetensors")
    return (folder / "metrics.jsonl").read_text(), {name: one.numpy().tobytes() for name, one in tensors.items()}


def curves_of(run: Path) -> dict[str, Curves]:
    return {"tensorboard": tensorboard_curves(run), "wandb": wandb_curves(run.parent), "mlflow": mlflow_curves(run)}


def steps(curves: Curves) -> dict[str, list[int]]:
    return {name: [step for step, _ in curve] for name, curve in sorted(curves.items())}


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def result(task: int = 0) -> TaskResult:
    return TaskResult(task, f"task {task + 1}", ("cat", "cup & saucer"), Scores({"map": 50.0}, (40.0, 60.0)), images=9)


@pytest.fixture(scope="module")
def untracked(config: RunConfig, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, bytes]]:
    folder = tmp_path_factory.mktemp("untracked") / "run"
    carry_out(tracked_by(config), folder)
    assert not (folder / "tensorboard").exists()
    return outcome(folder)


def test_all_get_the_same_figures_and_the_run_is_the_same_to_the_bit(
    config: RunConfig, untracked: tuple[str, dict[str, bytes]], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = tmp_path / "my run"
    summary = carry_out(tracked_by(config, *ALL), run)
    assert warnings(caplog) == []
    assert outcome(run) == untracked

    found = curves_of(run)
    assert {"train/loss", "train/memory_fill", "test/map", "test/of1_0.8", "ap/star", "last/map"} <= set(found["wandb"])
    assert steps(found["tensorboard"]) == steps(found["wandb"]) == steps(found["mlflow"])
    assert found["wandb"] == found["mlflow"]
    for name, curve in found["tensorboard"].items():
        assert curve == [(step, pytest.approx(value, rel=1e-6)) for step, value in found["mlflow"][name]]
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert found["wandb"]["train/loss"] == [(line["step"], line["loss"]) for line in lines if "loss" in line]
    last = summary["steps"]
    assert found["wandb"]["average/map"] == [(last, summary["average"]["map"])]
    assert found["wandb"]["forgetting/mean"] == [(last, summary["mean_forgetting"])]

    from mlflow import MlflowClient

    remote = MlflowClient().get_run(json.loads((run / "mlflow.json").read_text())["id"])
    assert (remote.info.run_name, remote.info.status) == ("my run", "FINISHED")
    assert {name: remote.data.params[name] for name in ("method", "lr")} == {"method": "rs", "lr": "0.001"}
    (begun,) = [record.run for record in wandb_records(tmp_path) if record.WhichOneof("record_type") == "run"]
    saved = {item.key: json.loads(item.value_json) for item in begun.config.update}
    assert begun.display_name == "my run"
    assert (saved["method"], saved["lr"], saved["track"]) == ("rs", 0.001, ALL)


@pytest.mark.parametrize(
    ("tracker", "curves", "losses"),
    [
        ("tensorboard", tensorboard_curves, [1, 1, 1, 1, 1, 2, 2]),  # what came after the checkpoint is hidden
        ("wandb", lambda run: wandb_curves(run.parent), [1, 1, 1, 1, 1, 1, 1, 2, 2]),  # what is repeated is there twice
        ("mlflow", mlflow_curves, [1, 1, 1, 1, 1, 1, 1, 2, 2]),
    ],
)
def test_a_resumed_run_continues_its_curves(
    config: RunConfig, tracker: str, curves: Callable[[Path], Curves], losses: list[float], tmp_path: Path
) -> None:
    config, run = tracked_by(config, tracker), tmp_path / "run"
    run.mkdir()
    with TrackerGroup(config, run, next_step=1) as told:
        for number in range(1, 8):  # killed after 7, the checkpoint was at 5
            told.learned(Step(12, 6, loss=1.0), 0.5, number)
    with TrackerGroup(config, run, next_step=6) as told:
        for number in (6, 7):
            told.learned(Step(12, 6, loss=2.0), 0.5, number)
        told.flush()
        told.tested(result(0), {}, 7)
        told.tested(result(1), {}, 7)  # a task of which nothing came
    wait_for(lambda: len(curves(run).get("test/map", ())) == 2)  # a client's own process may write a little later
    found = curves(run)
    assert [loss for _, loss in found["train/loss"]] == losses
    assert {step for step, _ in found["train/loss"]} == set(range(1, 8))
    assert found["test/map"] == [(7, 50.0), (7, 50.0)]
    assert found["ap/cup _ saucer"] == [(7, 60.0), (7, 60.0)]


def be_connected_first() -> None:
    """Let a run that is shorter than the start of a client wait for it."""
    be_patient()
    write = trackers.BufferedTracker.write

    def wait_and_write(self: trackers.BufferedTracker, entry: trackers.Entry) -> None:
        wait_for(self.file.exists)
        write(self, entry)

    trackers.BufferedTracker.write = wait_and_write  # type: ignore[method-assign]


def test_killed_and_resumed_it_is_one_run(
    config: RunConfig, untracked: tuple[str, dict[str, bytes]], tmp_path: Path
) -> None:
    run, file = tmp_path / "run", tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(config.model_dump(mode="json", exclude={"track"}) | {"checkpoint_steps": 4}))
    track = [word for name in ALL for word in ("--track", name)]
    process = cuter_in_a_process(
        tmp_path / "told", "run", "--config", file, "--out", run, *track, first=be_connected_first
    )
    wait_for(lambda: _has_lines(run / "metrics.jsonl", 7), process)
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    before = {name: json.loads((run / f"{name}.json").read_text())["id"] for name in ("wandb", "mlflow")}
    runs.resume(run, RunDisplay(Console(file=io.StringIO(), width=120)))
    after = {name: json.loads((run / f"{name}.json").read_text())["id"] for name in ("wandb", "mlflow")}
    assert before == after
    assert outcome(run) == untracked
    found = {name: steps(curves) for name, curves in curves_of(run).items()}
    whole = found["tensorboard"]["train/loss"]
    assert whole == list(range(1, max(whole) + 1))
    for name in ("wandb", "mlflow"):  # the kill may have taken what was not sent; the rest continues
        assert found[name]["train/loss"][-(max(whole) - 8) :] == list(range(9, max(whole) + 1))
        assert found[name]["last/map"] == [max(whole)]
    assert len(list(tmp_path.glob(f"wandb/offline-run-*-{after['wandb']}"))) == 2


def _has_lines(file: Path, number: int) -> bool:
    return file.exists() and file.read_bytes().count(b"\n") >= number


def test_a_tracker_that_fails_or_hangs_is_warned_of_once_and_changes_nothing(
    config: RunConfig,
    untracked: tuple[str, dict[str, bytes]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    over = threading.Event()

    class Hanging:
        id = "1"

        def __init__(self, *_: object) -> None: ...

        def write(self, _: object) -> None:
            over.wait()

        def close(self, complete: bool) -> None: ...

    class Full(Hanging):
        def write(self, _: object) -> None:
            full()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(trackers, "PATIENCE", 3)
    monkeypatch.setattr(trackers.TensorBoard, "flush", full)
    monkeypatch.setattr(group, "MLflow", Full)
    monkeypatch.setattr(group, "WeightsAndBiases", Hanging)
    run = tmp_path / "run"
    carry_out(tracked_by(config, *ALL).model_copy(update={"checkpoint_steps": 1}), run)
    over.set()
    assert outcome(run) == untracked
    told = sorted(warnings(caplog))
    ending = "fails and is left out, the run goes on without it:"
    assert told == [
        f"mlflow {ending} [Errno 28] No space left on device",
        f"tensorboard {ending} [Errno 28] No space left on device",
        f"wandb {ending} it has not taken everything within 3 seconds",
    ]
    assert all(line in (run / "run.log").read_text() for line in told)


def test_a_tracker_that_cannot_begin_is_warned_of(
    config: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "nonsense://nowhere")
    (tmp_path / "run").mkdir()
    with TrackerGroup(tracked_by(config, "mlflow", "tensorboard"), tmp_path / "run", next_step=1) as told:
        told.learned(Step(12, 6, loss=1.0), 0.5, 1)
    (warning,) = warnings(caplog)
    assert warning.startswith("mlflow fails and is left out, the run goes on without it: ")
    assert "nonsense" in warning
    assert tensorboard_curves(tmp_path / "run")["train/loss"] == [(1, 1.0)]


def test_mlflow_tells_a_stopped_run_from_a_finished_one(config: RunConfig, tmp_path: Path) -> None:
    from mlflow import MlflowClient

    def status() -> str:
        return MlflowClient().get_run(json.loads((tmp_path / "mlflow.json").read_text())["id"]).info.status

    for error, ending in ((runs.Interrupted(), "KILLED"), (None, "FINISHED")):
        told = TrackerGroup(tracked_by(config, "mlflow"), tmp_path, next_step=1).__enter__()
        wait_for((tmp_path / "mlflow.json").exists)
        if error:
            assert status() == "RUNNING"
        told.__exit__(type(error) if error else None, error, None)
        assert status() == ending


@pytest.mark.parametrize(("name", "package"), [("wandb", "wandb"), ("mlflow", "mlflow-skinny")])
def test_a_client_that_is_not_installed_is_told_before_anything_is_written(
    config: RunConfig, name: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigError, match=rf"track {name}: .* 'pip install {package}', .* cuter\[{name}\]"):
        carry_out(tracked_by(config, "tensorboard", name), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_folder_is_not_taken_for_a_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W&B leaves a folder 'wandb' where it runs, which Python could import."""
    (tmp_path / "leftovers").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(trackers.PACKAGES, "leftovers", "leftovers")
    with pytest.raises(ConfigError, match="not installed"):
        trackers.require_clients(["leftovers"])
