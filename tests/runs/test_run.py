"""A run that survives anything: in this process, by stopping it at every step."""

import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from safetensors.torch import load_file

from command import cuter_in_a_process
from cuter.errors import CheckpointError, ConfigError, DataError
from cuter.learn import predictors
from cuter.learn.learner import Learner
from cuter.runs import directory as directories
from cuter.runs import run as runs
from cuter.runs.config import RunConfig, overridden
from cuter.runs.plan import make_plan
from cuter.runs.stopping import StopRequest
from cuter.show.run_display import RunDisplay
from shapes import render_shapes


def silent() -> RunDisplay:
    return RunDisplay(Console(file=io.StringIO(), width=120))


def with_method(config: RunConfig, **choices: Any) -> RunConfig:
    return RunConfig(**overridden(config.dump(), choices))


def outcome(folder: Path) -> dict[str, Any]:
    """All that must be equal: figures, every line of the metrics and every weight."""
    summary = json.loads((folder / "summary.json").read_text())
    checkpoint = max((folder / "checkpoints").glob("step-*"))
    tensors = load_file(checkpoint / "learner.safetensors")
    return {
        "figures": {key: value for key, value in summary.items() if "second" not in key},
        "metrics": (folder / "metrics.jsonl").read_text(),
        "weights": {name: tensor.numpy().tobytes() for name, tensor in tensors.items()},
    }


def test_a_run_leaves_everything_in_its_folder(config: RunConfig, tmp_path: Path) -> None:
    summary = runs.start(config, tmp_path / "run", silent())
    assert [len(task["classes"]) for task in summary["tasks"]] == [2, 4, 6, 8]
    assert summary == json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["images"] == sum(len(batch) for batches in make_plan(config).learn for batch in batches)
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert {
        "config.yaml",
        "environment.json",
        "run.log",
        "metrics.jsonl",
        "summary.json",
        "tensorboard",
        "checkpoints",
    } <= names
    assert len(list((tmp_path / "run" / "checkpoints").iterdir())) == 2
    assert "mAP" in (tmp_path / "run" / "summary.md").read_text()
    assert list((tmp_path / "run" / "tensorboard").glob("events*"))
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if "loss" in line] == list(range(1, summary["steps"] + 1))
    assert [line["test"] for line in lines if "test" in line] == summary["tasks"]


def test_regions_are_tested_in_the_same_pass(
    config: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predictors, "UNDECIDED", 0.0)  # after so few steps no second score is high
    plain = runs.start(config, tmp_path / "plain", silent())
    both = runs.start(with_method(config, predictor="regions"), tmp_path / "both", silent())
    assert "regions" not in plain
    assert both["average"] == plain["average"], "whole images are scored as ever"
    assert both["last"] == plain["last"]
    found = [task["region_scores"]["map"] for task in both["tasks"]]
    assert both["regions"]["last"]["map"] == found[-1]
    assert both["regions"]["average"]["map"] == pytest.approx(sum(found) / len(found))
    assert found != [task["scores"]["map"] for task in both["tasks"]]
    assert "threshold 0.8, with regions" in (tmp_path / "both" / "summary.md").read_text()


@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"method": "cuter", "memory.codec": "jpeg", "keeper.shape": "patches", "predictor": "regions"},
        {"method": "cuter-frozen", "regulariser": "cut-energy"},
        {"method": "krt"},
        {"method": "agcn", "memory": "prs"},
        {"method": "nsce", "replay.steps": 3},
    ],
)
def test_stopped_at_any_step_and_resumed_it_comes_to_the_same_result(
    config: RunConfig, choices: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = with_method(config, **choices)
    runs.start(config, tmp_path / "whole", silent())

    class StopEveryFifthLook(StopRequest):
        looks = 0

        @property
        def asked(self) -> bool:
            StopEveryFifthLook.looks += 1
            return StopEveryFifthLook.looks % 5 == 0

        @asked.setter
        def asked(self, value: bool) -> None: ...

    from contextlib import contextmanager

    @contextmanager
    def restless() -> Any:
        yield StopEveryFifthLook()

    monkeypatch.setattr(runs, "stop_on_signals", restless)
    interruptions = 0
    with pytest.raises(runs.Interrupted):
        runs.start(config, tmp_path / "broken", silent())
    while not (tmp_path / "broken" / "summary.json").exists():
        try:
            runs.resume(tmp_path / "broken", silent())
        except runs.Interrupted:
            interruptions += 1
    assert interruptions >= 3
    assert outcome(tmp_path / "broken") == outcome(tmp_path / "whole")


def test_the_bound_of_joint_learning_shows_all_that_came_before_again(config: RunConfig, tmp_path: Path) -> None:
    fields = config.dump()
    del fields["learner"]["memory"], fields["learner"]["replay"]  # which bounds do not have
    joint = RunConfig(**overridden(fields, {"method": "joint", "passes": 2}))
    summary = runs.start(joint, tmp_path / "run", silent())
    plan = make_plan(joint)
    assert summary["images"] == sum(len(batch) for batches in plan.learn for batch in batches)
    assert summary["memory_items"] == 0
    assert Learner.load(tmp_path / "run", device="cpu").settings.method == "joint"
    assert [len(task["classes"]) for task in summary["tasks"]] == [2, 4, 6, 8], "tested as any other method"
    for task, batches in enumerate(plan.learn):
        visits = [visit for batch in batches for visit in batch]
        assert {name for visit in visits for name in visit.known} == set(plan.seen(task))
    once = RunConfig(**overridden(fields, {"method": "finetune", "tasks": "8"}))
    last = sum(map(len, plan.learn[-1]))
    assert last == 2 * sum(map(len, make_plan(once).learn[0])), "the last task shows all images, twice"


def test_a_run_with_cut_outs_tells_and_shows_what_became_of_them(config: RunConfig, tmp_path: Path) -> None:
    config = with_method(config, method="cuter")
    runs.start(config, tmp_path / "run", silent())
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    steps = [line for line in lines if "loss" in line]
    visits = [batch for batches in make_plan(config).learn for batch in batches]
    for line, batch in zip(steps, visits, strict=True):
        assert sum(line["selection"].values()) - line["selection"].get("whole image", 0) == 2 * len(batch)
    tests = [line for line in lines if "test" in line]
    assert [list(line["classes"]) for line in tests] == [line["test"]["classes"] for line in tests]
    assert all("fiedler" in line["localisation"] for line in tests)


def test_classes_that_memory_never_was_offered_count_as_none(config: RunConfig, tmp_path: Path) -> None:
    runs.start(
        with_method(config, method="cuter-paper", keeper={"selection": {"tau1": 1.0, "tau2": 1.0}}),
        tmp_path / "run",
        silent(),
    )
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    last = [line for line in lines if "test" in line][-1]
    assert last["classes"] == dict.fromkeys(last["test"]["classes"], 0)


@pytest.mark.usefixtures("pictures")
def test_a_run_with_cut_outs_draws_its_pictures(config: RunConfig, tmp_path: Path) -> None:
    runs.start(with_method(config, method="cuter"), tmp_path / "run", silent())
    assert {"selection.png", "balance.png", "localisation.png"} <= {path.name for path in (tmp_path / "run").iterdir()}


def test_a_damaged_checkpoint_is_noticed_and_the_one_before_it_used(
    config: RunConfig, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    runs.start(config.model_copy(update={"checkpoint_steps": 4}), tmp_path / "whole", silent())
    for damaged in (1, 2):
        folder = tmp_path / f"damaged {damaged}"
        shutil.copytree(tmp_path / "whole", folder)
        (folder / "summary.json").unlink()
        checkpoints = sorted((folder / "checkpoints").glob("step-*"))
        for checkpoint in checkpoints[-damaged:]:
            file = checkpoint / "learner.safetensors"
            file.write_bytes(file.read_bytes()[:-100])
        (folder / "checkpoints" / ".step-1.part").mkdir()  # half-written when the machine went down
        (folder / "checkpoints" / ".DS_Store").touch()
        runs.resume(folder, silent())
        assert "is damaged" in caplog.text
        assert outcome(folder) == outcome(tmp_path / "whole")
    assert "starts from its beginning" in caplog.text


def test_a_run_does_not_go_on_with_other_data(config: RunConfig, tmp_path: Path) -> None:
    render_shapes(tmp_path / "data", train=30, test=20)
    config = config.model_copy(update={"data_root": tmp_path / "data"})
    runs.start(config, tmp_path / "run", silent())
    (tmp_path / "run" / "summary.json").unlink()
    rows = (tmp_path / "data" / "train.csv").read_text().splitlines()
    (tmp_path / "data" / "train.csv").write_text("\n".join(rows[:-5]))
    with pytest.raises(ConfigError, match="are not those it began with"):
        runs.resume(tmp_path / "run", silent())


def test_other_surroundings_are_told(
    config: RunConfig, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs.start(config, tmp_path / "run", silent())
    (tmp_path / "run" / "summary.json").unlink()
    monkeypatch.setattr(runs, "describe_environment", lambda _: {"threads": 99})
    runs.resume(tmp_path / "run", silent())
    assert "started with threads 1, now it is 99" in caplog.text


def test_lost_metrics_are_told_and_not_filled_up(
    config: RunConfig, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    runs.start(config, tmp_path / "run", silent())
    (tmp_path / "run" / "summary.json").unlink()
    (tmp_path / "run" / "metrics.jsonl").unlink()
    runs.resume(tmp_path / "run", silent())
    assert "has lost lines" in caplog.text
    assert b"\0" not in (tmp_path / "run" / "metrics.jsonl").read_bytes()


def test_paths_are_kept_absolute(config: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(config.data_root.parent)
    relative = config.model_copy(update={"data_root": Path(config.data_root.name), "limit_train": 10})
    runs.start(relative, tmp_path / "run", silent())
    (tmp_path / "run" / "summary.json").unlink()
    monkeypatch.chdir(tmp_path)
    runs.resume(tmp_path / "run", silent())


def test_unreadable_images_are_skipped_counted_and_named(
    config: RunConfig, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    render_shapes(tmp_path / "data", train=30, test=20)
    broken = [tmp_path / "data" / "images" / name for name in ("train-00003.png", "test-00005.png")]
    broken[0].write_bytes(b"")
    broken[1].write_bytes(broken[1].read_bytes()[:200])
    config = config.model_copy(update={"data_root": tmp_path / "data"})
    summary = runs.start(config, tmp_path / "run", silent())
    assert set(summary["skipped"]) == {str(path) for path in broken}
    log = (tmp_path / "run" / "run.log").read_text()
    assert all(path.name in caplog.text and path.name in log for path in broken)
    with pytest.raises(DataError, match="strict"):
        runs.start(config.model_copy(update={"strict": True}), tmp_path / "strict", silent())


def test_limits_draw_the_same_images_for_every_seed(config: RunConfig) -> None:
    one_task = config.model_copy(update={"limit_train": 7, "limit_test": 5, "tasks": "8"})
    first, second = (make_plan(one_task.with_fields(seed=seed)) for seed in (0, 1))
    ids = [[visit.sample.id for visit in plan.learn[0][0]] for plan in (first, second)]
    assert [len(ids[0]), len(first.test[0])] == [7, 5]
    assert ids[0] != ids[1]
    assert set(ids[0]) == set(ids[1])


def test_a_task_that_never_came_is_told_and_ranks_nothing(
    config: RunConfig, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rare = config.model_copy(update={"limit_train": 3, "tasks": "8x1"})
    summary = runs.start(rare, tmp_path / "run", silent())
    assert len(summary["tasks"][-1]["classes"]) == 8
    assert "no training image has a class of task" in caplog.text
    Learner.load(tmp_path / "run")  # a run's folder is as good as a saved learner


def test_a_test_without_one_readable_image_is_an_error(config: RunConfig, tmp_path: Path) -> None:
    render_shapes(tmp_path / "data", train=20, test=10)
    for image in (tmp_path / "data" / "images").glob("test-*.png"):
        image.write_bytes(b"")
    allowed = {"data_root": tmp_path / "data", "max_unreadable": 1.0}
    with pytest.raises(DataError, match=r"none of the \d+ test images of task 1 is readable"):
        runs.start(config.model_copy(update=allowed), tmp_path / "run", silent())


def test_a_damaged_summary_is_told(config: RunConfig, tmp_path: Path) -> None:
    directories.RunDirectory.create(tmp_path / "run", config)
    (tmp_path / "run" / "summary.json").write_text('{"tasks": [')
    with pytest.raises(CheckpointError, match=r"summary\.json is damaged"):
        runs.resume(tmp_path / "run", silent())


def test_a_blurry_run(config: RunConfig, tmp_path: Path) -> None:
    summary = runs.start(config.model_copy(update={"blurry": 0.3}), tmp_path / "run", silent())
    assert len(summary["tasks"]) == 4


def test_a_finished_run_is_not_repeated(config: RunConfig, tmp_path: Path) -> None:
    summary = runs.start(config, tmp_path / "run", silent())
    before = (tmp_path / "run" / "metrics.jsonl").stat().st_mtime_ns
    told = io.StringIO()
    assert runs.resume(tmp_path / "run", RunDisplay(Console(file=told, width=120))) == summary
    assert "is finished" in told.getvalue()
    assert "forgetting" in told.getvalue()
    assert (tmp_path / "run" / "metrics.jsonl").stat().st_mtime_ns == before


def test_wrong_folders_are_told(config: RunConfig, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(ConfigError, match=r"full is not empty\. Continue it with 'cuter run --resume"):
        runs.start(config, tmp_path / "full", silent())
    with pytest.raises(ConfigError, match=r"holds no run: config\.yaml is missing"):
        runs.resume(tmp_path / "full", silent())
    with pytest.raises(ConfigError, match="file/run cannot be written"):
        runs.start(config, tmp_path / "full" / "file" / "run", silent())
    with pytest.raises(DataError):
        runs.start(config.model_copy(update={"data_root": tmp_path / "gone"}), tmp_path / "new", silent())
    with pytest.raises(ConfigError, match="asks for 20 classes"):
        runs.start(config.model_copy(update={"tasks": "5x4"}), tmp_path / "new", silent())
    assert not (tmp_path / "new").exists(), "a wrong path must not leave a folder behind"


def test_a_task_that_cannot_be_tested_is_told_before_it_is_learned(config: RunConfig, tmp_path: Path) -> None:
    render_shapes(tmp_path / "data", train=30, test=20)
    rows = (tmp_path / "data" / "test.csv").read_text().splitlines()
    (tmp_path / "data" / "test.csv").write_text("\n".join(row for row in rows if "star" not in row))
    config = config.model_copy(update={"data_root": tmp_path / "data", "tasks": "star;circle"})
    with pytest.raises(ConfigError, match="no test image has a class of task 1: star"):
        runs.start(config, tmp_path / "run", silent())
    assert not (tmp_path / "run").exists()


def test_two_processes_cannot_work_on_one_run(config: RunConfig, tmp_path: Path) -> None:
    run = directories.RunDirectory.create(tmp_path / "run", config)
    with run.locked():
        second = cuter_in_a_process(tmp_path / "told", "run", "--resume", run.path)
        second.join()
    assert second.exitcode == 1
    assert "in use by another process" in " ".join((tmp_path / "told").read_text().split())
