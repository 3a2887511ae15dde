"""The command line as a person uses it, killed without mercy."""

import functools
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from safetensors.torch import load_file
from typer.testing import CliRunner

from command import cuter, cuter_in_a_process
from cuter.cli import app
from cuter.cli.common import option_of
from cuter.cli.tune_thresholds import tune_thresholds
from cuter.pretrain.display import PretrainDisplay
from cuter.pretrain.pretraining import start
from cuter.pretrain.settings import PretrainSettings
from cuter.runs.config import field_names
from cuter.show import demo
from small_demo import make_the_demo_small, small_demo
from waiting import wait_for


@pytest.fixture
def run(shapes: Path, backbone_folder: Path) -> list[object]:
    """A run of 19 steps with worker processes and frequent checkpoints."""
    options = ["--data-root", shapes, "--backbone", backbone_folder, "--tasks", "4x2", "--batch-size", 6]
    more = ["--memory.images", 10, "--replay.size", 3, "--checkpoint-steps", 2, "--probe-images", 4]
    more += ["--lr", 0.001, "--device", "cpu"]
    return ["run", "--dataset", "folder", *options, *more]


def outcome(folder: Path) -> tuple[object, str, dict[str, bytes]]:
    summary = json.loads((folder / "summary.json").read_text())
    figures = {key: value for key, value in summary.items() if "second" not in key}
    tensors = load_file(max((folder / "checkpoints").glob("step-*")) / "learner.safetensors")
    weights = {name: tensor.numpy().tobytes() for name, tensor in tensors.items()}
    return figures, (folder / "metrics.jsonl").read_text(), weights


def stop_at(
    folder: Path,
    lines: int,
    how: signal.Signals,
    told: Path,
    *arguments: object,
    first: Callable[[], object] | None = None,
) -> tuple[int | None, str]:
    """Start a command and send it a signal once its metrics have so many lines; return its exit code and its words."""
    metrics = folder / "metrics.jsonl"
    process = cuter_in_a_process(told, *arguments, first=first)
    wait_for(lambda: metrics.exists() and metrics.read_bytes().count(b"\n") >= lines, process)
    os.kill(process.pid or 0, how)
    process.join()
    return process.exitcode, told.read_text()


@pytest.mark.parametrize("method", ["rs", "cuter"])
def test_killed_at_three_steps_and_resumed_it_gives_the_same_bits(
    run: list[object], method: str, tmp_path: Path
) -> None:
    run = [*run, "--method", method]
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    finished = cuter(*run, "--out", whole, "--json")
    assert finished.returncode == 0, finished.stderr
    assert json.loads(finished.stdout.splitlines()[-1]) == json.loads((whole / "summary.json").read_text())
    total = (whole / "metrics.jsonl").read_bytes().count(b"\n")

    arguments = [*run, "--out", broken]
    for lines in (total // 3, total // 2, total - 5):
        code, told = stop_at(broken, lines, signal.SIGKILL, tmp_path / "told", *arguments)
        assert code == -signal.SIGKILL, told
        arguments = ["run", "--resume", broken]
    last = cuter(*arguments)
    assert last.returncode == 0, last.stderr
    assert outcome(broken) == outcome(whole)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_checkpoints_and_tells_how_to_go_on(run: list[object], tmp_path: Path, how: signal.Signals) -> None:
    folder = tmp_path / "run"
    code, told = stop_at(folder, 3, how, tmp_path / "told", *run, "--checkpoint-steps", 1000, "--out", folder)
    assert code == 130, told
    assert f"cuter run --resume {folder}" in told
    assert "Traceback" not in told
    assert len(list((folder / "checkpoints").glob("step-*"))) == 1
    assert cuter("run", "--resume", folder).returncode == 0
    assert (folder / "summary.json").exists()


def test_pretraining_that_was_killed_and_stopped_gives_the_same_bits(shapes: Path, tmp_path: Path) -> None:
    fields: dict[str, object] = {"images": shapes / "images", "image_size": 32, "dim": 16, "depth": 1, "heads": 2}
    fields |= {"prototypes": 16, "batch_size": 8, "steps": 24, "scores": 2, "probe_images": 4}
    fields |= {"checkpoint_minutes": 1e-9, "device": "cpu"}
    whole, broken = tmp_path / "whole", tmp_path / "my broken one"
    start(PretrainSettings(**fields), whole, PretrainDisplay(Console(file=io.StringIO())))  # type: ignore[arg-type]

    options = [word for name, value in fields.items() for word in (f"--{name.replace('_', '-')}", value)]
    code, told = stop_at(broken, 7, signal.SIGKILL, tmp_path / "told", "pretrain", *options, "--out", broken)
    assert code == -signal.SIGKILL, told
    code, told = stop_at(broken, 14, signal.SIGINT, tmp_path / "told", "pretrain", "--resume", broken)
    assert code == 130, told
    assert f"cuter pretrain --resume '{broken}'" in told
    last = cuter("pretrain", "--resume", broken, "--json")
    assert last.returncode == 0, last.stderr
    assert json.loads(last.stdout.splitlines()[-1]) == json.loads((broken / "summary.json").read_text())
    assert f"The backbone is in {broken}/backbone" in last.stderr
    for file in ("metrics.jsonl", "checkpoints/step-00000024/trainer.safetensors", "backbone/model.safetensors"):
        assert (broken / file).read_bytes() == (whole / file).read_bytes(), file


def test_ctrl_c_in_the_demo_tells_how_to_go_on(
    tmp_path: Path, backbone_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUTER_CACHE", str(tmp_path / "cache"))
    out = tmp_path / "my demo"
    arguments = ["demo", "--out", out, "--device", "cpu"]
    first = functools.partial(make_the_demo_small, backbone_folder)
    code, told = stop_at(out / "finetune", 3, signal.SIGINT, tmp_path / "told", *arguments, first=first)
    assert code == 130, told
    assert f"Stopped. Go on with:  cuter demo --out '{out}' --seed 0 --device cpu" in told
    assert "Traceback" not in told
    assert {path.name for path in out.iterdir()} == {"finetune"}


def test_the_demo_goes_on_and_tells_where_its_report_is(
    tmp_path: Path, backbone_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = small_demo(backbone_folder)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUTER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(demo, "run_demo", functools.partial(demo.run_demo, **small))
    monkeypatch.setattr(demo, "can_go_on", functools.partial(demo.can_go_on, **small))

    def ctrl_c(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(demo, "write_report", ctrl_c)
        stopped = CliRunner().invoke(app, ["demo", "--device", "cpu"])
    assert stopped.exit_code == 130
    assert "Go on with:  cuter demo --out runs/demo --seed 0 --device cpu" in stopped.stderr

    finished = CliRunner().invoke(app, ["demo", "--device", "cpu"])
    assert finished.exit_code == 0
    assert "runs/demo is not finished yet: it goes on" in finished.stderr
    assert finished.stderr.count("It is finished.") == 3
    assert (tmp_path / "runs" / "demo" / "report.html").as_uri() in finished.stderr

    folders: list[Path] = []
    monkeypatch.setattr(demo, "run_demo", lambda folder, *_: folders.append(folder))
    assert CliRunner().invoke(app, ["demo", "--device", "cpu"]).exit_code == 0
    assert folders == [Path("runs/demo-2")], "a finished one stays as it is"


def test_help_answers_at_once_and_names_every_setting() -> None:
    slow = "import sys; import cuter.cli; print([m for m in ('torch', 'transformers', 'sklearn') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", slow], text=True).strip() == "[]"
    text = cuter("run", "--help", env={"COLUMNS": "200"}).stdout
    for option in ("--dataset", "--data-root", "--limit-train", "--memory.images", "--resume", "--json"):
        assert option in text
    assert len(text.splitlines()) < 100
    everything = cuter("run", "--help-all", env={"COLUMNS": "200"}).stdout
    assert all(option_of(name) in everything for name in field_names())
    assert "(default: 2e-05)" in text
    manual = cuter("--help").stdout
    assert all(f"cuter {command.name or command.callback.__name__}" in manual for command in app.registered_commands
               if command.callback is not tune_thresholds)  # fmt: skip
    assert "cuter tune-thresholds" in manual


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "--dataset", "vok"], "unknown data set 'vok'. Did you mean 'voc'?"),
        (
            ["run", "--dataset", "voc", "--data-root", "nowhere", "--backbone", "x"],
            "tasks is needed: 5x4, 11+7x10, or class names",
        ),
        (
            ["run", "--dataset", "voc", "--backbone", "x", "--tasks", "5x4"],
            "data set 'voc' needs --data-root, the folder that holds it",
        ),
        (["assess", "--backbone", "x", "--dataset", "coco"], "data set 'coco' needs --data-root"),
        (["data", "check"], "name a folder, or with --dataset a data set that needs none: toybox"),
        (["run", "--resume", "nowhere", "--lr", "1"], "--resume takes the run's own settings: drop --lr"),
        (["run", "--resume", "x", "--seed", "1"], "only --data-root, --workers, --max-unreadable, --device may change"),
        (["run", "--resume", "nowhere"], "nowhere holds no run"),
        (["run", "--dataset-options", "train"], "'train' must be NAME=VALUE"),
        (["data", "check", "nowhere"], "nowhere: no such folder"),
        (["data", "check", __file__], "test_cli.py: a file, not a folder"),
        (["data", "get", "nuswide"], "NUS-WIDE cannot be fetched: there is no official download of its images"),
        (
            ["data", "get", "vok", "--root", "x"],
            "'vok' is not one that can be fetched. Did you mean 'voc'? Accepted: coco, voc.",
        ),
        (["data", "get", "coco"], "name the folder for the data set with --root"),
        (["run", "--config", "gone.yaml"], "cannot read the configuration gone.yaml"),
        (["run", "--resume", "runs[old]/x"], "runs[old]/x holds no run"),
        (["compare", "nowhere", "gone"], "nowhere holds no run: config.yaml is missing"),
        (["cut", ".", "--backbone", "x"], ". holds no image. Formats read: JPEG, PNG"),
        (["cut", "x.jpg", "--backbone", "./gone"], "no such file or folder: ./gone"),
        (["cut", "x.jpg", "--backbone", "x", "--tau", "2"], "less than or equal to 1"),
        (["assess", "--backbone", "x", "--dataset", "vok", "--data-root", "."], "unknown data set 'vok'"),
        (["pretrain"], "images are needed: either a folder (--images) or a data set (--dataset), and not both"),
        (["pretrain", "--images", "nowhere"], "nowhere: no such folder"),
        (["pretrain", "--images", "."], "holds no image, nor do its sub-folders. Formats read: JPEG, PNG"),
        (["pretrain", "--image-size", "100"], "error: image_size must be a multiple of patch_size 8, not 100"),
        (["pretrain", "--resume", "nowhere"], "nowhere holds no run"),
        (["pretrain", "--resume", "x", "--epochs", "3"], "--resume takes the run's own settings: drop --epochs"),
    ],
)
def test_mistakes_are_told_in_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = cuter(*arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert message in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_the_toybox_needs_no_data_root(tmp_path: Path, backbone_folder: Path) -> None:
    here: dict[str, Any] = {"cwd": tmp_path, "env": {"CUTER_CACHE": str(tmp_path / "cache")}}
    sizes = ["--dataset", "toybox", "--dataset-options", "train=24", "--dataset-options", "test=12"]
    options = ["--backbone", backbone_folder, "--tasks", "tree,cup;book,cat", "--workers", 0]
    done = cuter("run", *sizes, *options, "--json", **here)
    summary = json.loads(done.stdout.splitlines()[-1])
    assert summary["config"]["data_root"] is None
    assert summary["tasks"][-1]["classes"] == ["tree", "cup", "book", "cat"]
    told = json.loads(cuter("data", "check", *sizes, "--json", **here).stdout)
    assert [(split["dataset"], split["images"], split["classes"]) for split in told] == [
        ("toybox", 24, 25),
        ("toybox", 12, 25),
    ]


def test_a_config_file_with_overrides(run: list[object], tmp_path: Path) -> None:
    names = [str(name).removeprefix("--").replace("-", "_") for name in run[1::2]]
    fields = "\n".join(f"{name}: {value}" for name, value in zip(names, run[2::2], strict=True))
    (tmp_path / "x.yaml").write_text(fields + "\nlimit_train: 20\n")
    done = cuter("run", "--config", tmp_path / "x.yaml", "--seed", 4, "--out", tmp_path / "run", "--json")
    assert done.returncode == 0, done.stderr
    config = json.loads(done.stdout)["config"]
    assert (config["learner"]["seed"], config["limit_train"], config["batch_size"]) == (4, 20, 6)


def test_data_check_tells_what_is_there(tmp_path: Path, shapes: Path) -> None:
    done = cuter("data", "check", shapes, "--json")
    assert done.returncode == 0, done.stderr
    train, test = json.loads(done.stdout)
    assert (train["images"], test["images"], train["classes"], train["unreadable"]) == (60, 30, 8, {})
    table = cuter("data", "check", shapes).stdout
    assert "60" in table
    assert "triangle" in table

    broken = tmp_path / "broken"
    shutil.copytree(shapes, broken)
    (broken / "images" / "test-00004.png").write_bytes(b"?")
    done = cuter("data", "check", broken)
    assert done.returncode == 2
    assert "test-00004.png" in done.stdout


def test_cut_goes_on_after_an_unreadable_image(tmp_path: Path, shapes: Path, backbone_folder: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    (photos / "good.png").write_bytes((shapes / "images" / "test-00000.png").read_bytes())
    (photos / "bad.jpg").write_bytes(b"?")
    done = cuter("cut", photos, "--backbone", backbone_folder, "--tau", 0.3, "--no-centre", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert f"skipped: {photos}/bad.jpg: cannot read the image" in done.stderr
    assert "tau 0.3, not centred" in done.stderr
    assert "(given)" in done.stderr
    assert done.stdout == ""
    (folder,) = (tmp_path / "cuts").iterdir()
    assert folder.name == backbone_folder.name
    report = json.loads((folder / "regions.json").read_text())
    assert [Path(image["image"]).name for image in report["images"]] == ["good.png"]
    assert (folder / "good.png").exists()


def test_assess_puts_json_on_stdout_and_the_table_on_stderr(
    tmp_path: Path, shapes: Path, backbone_folder: Path
) -> None:
    options = ["--backbone", backbone_folder, "--features", "keys", "--features", "tokens", "--images", 5]
    done = cuter("assess", *options, "--dataset", "folder", "--data-root", shapes, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert [row["images"] for row in report["rows"]] == [5, 5]
    assert "Fiedler value" in done.stderr
    assert report == json.loads((tmp_path / "assessments" / "folder-train" / "assessment.json").read_text())


def test_ctrl_c_in_an_assessment(tmp_path: Path, shapes: Path, backbone_folder: Path) -> None:
    out = tmp_path / "out"
    options = ["--backbone", backbone_folder, "--dataset", "folder", "--data-root", shapes, "--out", out]
    for features in ("tokens", "keys", "values", "queries", "keys@1", "values@1", "queries@1"):  # it shall take a while
        options += ["--features", features]
    process = cuter_in_a_process(tmp_path / "told", "assess", *options)
    wait_for(out.exists, process)
    os.kill(process.pid or 0, signal.SIGINT)
    process.join()
    told = (tmp_path / "told").read_text()
    assert process.exitcode == 130, told
    assert "Stopped" in told
    assert "Traceback" not in told


def test_methods_are_listed_for_people_and_for_programs() -> None:
    listed = cuter("methods")
    assert listed.returncode == 0, listed.stderr
    assert "class-attention  pseudo" in listed.stdout
    methods = json.loads(cuter("methods", "--json").stdout)
    assert {"krt", "agcn++", "cuter+fiedler"} <= {method["method"] for method in methods}


def test_parts_mix_and_what_makes_no_sense_is_refused(run: list[object], tmp_path: Path) -> None:
    mixed = cuter(*run, "--method", "krt", "--memory", "prs", "--limit-train", 12, "--out", tmp_path / "run", "--json")
    assert mixed.returncode == 0, mixed.stderr
    learner = json.loads(mixed.stdout.splitlines()[-1])["config"]["learner"]
    kinds = [learner[part]["kind"] for part in ("head", "teacher", "memory")]
    assert kinds == ["class-attention", "pseudo", "prs"]
    for options, reason in (
        (["--teacher", "soft-graph"], "only the head label-graph has, not linear"),
        (
            ["--method", "cuter", "--keeper.selection.tau1", 0.3],
            "unknown setting keeper.selection.tau1 of the selection 'relative'",
        ),
    ):
        refused = cuter(*run, *options, "--out", tmp_path / "refused")
        assert refused.returncode == 1
        assert reason in refused.stderr.replace("\n", " ")
        assert not (tmp_path / "refused").exists()


def test_the_module_is_the_program() -> None:
    import cuter as package

    command = [sys.executable, "-m", "cuter"]
    assert subprocess.check_output([*command, "--version"], text=True).strip() == package.__version__
    mistaken = subprocess.run([*command, "run", "--resume", "nowhere"], capture_output=True, text=True, check=False)
    assert (mistaken.returncode, mistaken.stdout) == (1, "")
    assert mistaken.stderr == "error: nowhere holds no run: config.yaml is missing\n"
