"""The demonstration, with a few scenes and a tiny transformer."""

import io
import json
import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from cuter.errors import ConfigError
from cuter.runs import run as runs
from cuter.runs.config import load_config
from cuter.runs.stopping import StopRequest
from cuter.show import run_display
from cuter.show.demo import BACKBONE, COMPARED, OPTIONS, can_go_on, run_demo
from cuter.show.run_display import RunDisplay
from cuter.stream.tasks import make_tasks
from cuter.toybox import CLASSES
from made_up_runs import Page
from small_demo import small_demo


@pytest.fixture(scope="module")
def small(backbone_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Arguments of `run_demo` that make it small; scenes go to a cache of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUTER_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(run_display, "draw_run", lambda folder, **_: [])  # as in conftest.py, but for a module
        yield small_demo(backbone_folder) | {"device": "cpu"}


@pytest.fixture(scope="module")
def finished(small: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, dict[str, Any]]:
    """A finished demonstration: its folder, what was told, and what was returned."""
    out = tmp_path_factory.mktemp("demo") / "demo"
    told, returned = told_by(out, small)
    return out, told, returned


def told_by(out: Path, small: dict[str, Any], **more: Any) -> tuple[str, dict[str, Any]]:
    file = io.StringIO()
    returned = run_demo(out, RunDisplay(Console(file=file, width=80), brief=True), **{**small, **more})
    return file.getvalue(), returned


def summary(folder: Path) -> Any:
    return json.loads((folder / "summary.json").read_text())


def times(folder: Path) -> dict[str, int]:
    """When each file of the runs was last written."""
    files = [file for method in COMPARED for file in (folder / method).rglob("*") if file.is_file()]
    return {str(file.relative_to(folder)): file.stat().st_mtime_ns for file in files}


def test_three_methods_meet_one_stream(finished: tuple[Path, str, dict[str, Any]]) -> None:
    out, told, returned = finished
    assert told.count("after task 5/5: mAP") == 3
    assert "AP of each class" not in told, "a table a task and run would be too many"
    assert returned == {method: summary(out / method) for method in ("finetune", "rs", "cuter")}
    assert len({run["images"] for run in returned.values()}) == 1
    assert len({json.dumps([[t["classes"], t["images"]] for t in run["tasks"]]) for run in returned.values()}) == 1
    assert [len(task["classes"]) for task in returned["rs"]["tasks"]] == [5, 10, 15, 20, 25]
    assert returned["finetune"]["memory_items"] == 0, "what the method chooses goes before the options"
    assert returned["rs"]["memory_items"] > 0
    assert returned["cuter"]["config"]["learner"]["keeper"]["kind"] == "cut-outs"


def test_the_table_has_the_figures_of_the_runs(finished: tuple[Path, str, dict[str, Any]]) -> None:
    out, told, _ = finished
    page = Page((out / "report.html").read_text(encoding="utf-8"))
    for method in COMPARED:
        run = summary(out / method)
        figures = [run[when][name] for name in ("map", "cf1_mean@0.8", "of1@0.8") for when in ("average", "last")]
        expected = [method, *(f"{x:.1f}" for x in (*figures, run["mean_forgetting"], run["train_images_per_second"]))]
        assert " ".join(expected) in " ".join(told.split()), "on the terminal"
        assert expected in [shown[: len(expected)] for shown in page.tables[0]], "and in the page"


def test_once_more_repeats_nothing(finished: tuple[Path, str, dict[str, Any]], small: dict[str, Any]) -> None:
    out, _, returned = finished
    assert not can_go_on(out, **small)
    before, page = times(out), (out / "report.html").read_bytes()
    (out / "report.html").unlink()
    assert can_go_on(out, **small), "all runs are finished, but the page is missing"
    told, again = told_by(out, small)
    assert told.count("It is finished.") == 3
    assert again == returned
    assert times(out) == before
    assert (out / "report.html").read_bytes() == page


def test_stopped_in_the_second_run_it_comes_to_the_same_result(
    finished: tuple[Path, str, dict[str, Any]], small: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "demo"
    metrics = out / "rs" / "metrics.jsonl"

    class StopInTheThirdStep(StopRequest):
        @property
        def asked(self) -> bool:
            return metrics.exists() and metrics.read_bytes().count(b"\n") >= 3

        @asked.setter
        def asked(self, value: bool) -> None: ...

    with monkeypatch.context() as patched:
        patched.setattr(runs, "stop_on_signals", lambda: nullcontext(StopInTheThirdStep()))
        with pytest.raises(runs.Interrupted):
            told_by(out, small)
    assert {path.name for path in out.iterdir()} == {"finetune", "rs"}
    assert can_go_on(out, **small)
    before = times(out)
    told, _ = told_by(out, small)
    assert told.index("It is finished.") < told.index("It goes on where it stopped.")
    assert {name: time for name, time in times(out).items() if name.startswith("finetune")} == {
        name: time for name, time in before.items() if name.startswith("finetune")
    }
    for method in COMPARED:
        lines = [(folder / method / "metrics.jsonl").read_text() for folder in (out, finished[0])]
        assert lines[0] == lines[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 1}, "demo was begun with seed 0, not 1: ask for the same, or choose another --out"),
        ({"device": "auto"}, "demo was begun with device cpu, not auto"),
        (
            {"options": {"dataset_options": {"train": 30}}},
            "begun with dataset_options train=60, test=40, not train=30",
        ),
    ],
)
def test_other_settings_are_refused(
    finished: tuple[Path, str, dict[str, Any]], small: dict[str, Any], change: dict[str, Any], message: str
) -> None:
    out = finished[0]
    before = times(out)
    asked = small | change | {"options": small["options"] | change.get("options", {})}
    with pytest.raises(ConfigError, match=message):
        told_by(out, asked)
    assert times(out) == before


def test_what_is_no_demonstration_stays_as_it_is(small: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("mine")
    with pytest.raises(ConfigError, match=r"holds something else than a demonstration, notes\.md"):
        told_by(tmp_path, small)
    with pytest.raises(ConfigError, match=r"notes\.md is a file: --out names a folder"):
        told_by(tmp_path / "notes.md", small)
    assert not can_go_on(tmp_path, **small)
    assert not can_go_on(tmp_path / "nothing", **small)
    assert (tmp_path / "notes.md").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 1


def test_an_unfinished_one_of_another_seed_is_not_gone_on_with(
    finished: tuple[Path, str, dict[str, Any]], small: dict[str, Any], tmp_path: Path
) -> None:
    shutil.copytree(finished[0] / "finetune", tmp_path / "demo" / "finetune")
    assert can_go_on(tmp_path / "demo", **small)
    assert not can_go_on(tmp_path / "demo", **small | {"seed": 1})


def test_the_options_fit_the_toybox() -> None:
    config = load_config(None, OPTIONS | {"backbone": BACKBONE})
    assert [len(task.classes) for task in make_tasks(config.tasks, CLASSES, config.class_order)] == [5] * 5
