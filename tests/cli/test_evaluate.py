"""`cuter evaluate` as a person uses it."""

import csv
import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from command import cuter
from cuter.models import evaluating as module
from cuter.runs import run as runs
from cuter.runs.config import RunConfig
from cuter.show import run_display
from cuter.show.evaluation_folder import FILES
from cuter.show.run_display import RunDisplay
from made_up_runs import Page
from shapes import CLASSES, render_shapes


@pytest.fixture(scope="module")
def finished(config: RunConfig, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "shapes"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_display, "draw_run", lambda folder, **_: [])
        runs.start(config, folder, RunDisplay(Console(file=io.StringIO())))
    return folder


@pytest.fixture
def command(finished: Path, shapes: Path) -> list[object]:
    return ["evaluate", finished, "--dataset", "folder", "--data-root", shapes, "--device", "cpu"]


def test_it_gives_what_the_run_gave_and_more(command: list[object], finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "some" / "where"
    done = cuter(*command, "--out", out, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found == json.loads((out / "evaluation.json").read_text(encoding="utf-8"))
    last = json.loads((finished / "summary.json").read_text())["last"]
    for figure in ("map", "cf1_mean@0.8", "cf1_harmonic@0.8", "of1@0.8"):
        assert found["figures"][figure] == pytest.approx(last[figure]), "every test image shows a class"
    assert (found["images"], found["split"], found["dataset"]) == (30, "test", "folder")
    assert sorted(one.name for one in out.iterdir()) == sorted(FILES)
    rows = list(csv.DictReader((out / "table.csv").open(encoding="utf-8")))
    assert sorted(row["name"] for row in rows) == sorted(CLASSES)
    precisions = [float(row["ap"]) for row in rows]
    assert precisions == sorted(precisions)
    text = (out / "table.md").read_text(encoding="utf-8")
    assert f"| mAP | {last['map']:.1f} | {last['map']:.1f} |" in text
    assert "cuter evaluate" in text
    assert "raw score" in done.stderr
    page = Page((out / "evaluation.html").read_text(encoding="utf-8"))
    figures, _, classes, _ = page.tables
    assert figures[1][:2] == ["mAP", f"{last['map']:.1f}"]
    assert [row[0] for row in classes[1:]] == [row["name"] for row in rows]
    assert all(address.startswith(("#", "data:")) for address in page.addresses), "nothing from elsewhere"
    assert {link[1:] for link in page.addresses if link.startswith("#")} <= set(page.ids)


def test_a_draw_of_the_training_images_with_thresholds_and_regions(command: list[object], tmp_path: Path) -> None:
    file = tmp_path / "thresholds.json"
    file.write_text(json.dumps({"circle": 0.01, "star": 1}))
    done = cuter(*command, "--split", "train", "--limit", 7, "--thresholds", file, "--regions", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["images"], found["limit"], found["regions"], found["thresholds"]) == (7, 7, True, str(file))
    by_name = {one["name"]: one for one in found["classes"]}
    assert (by_name["circle"]["threshold"], by_name["star"]["threshold"]) == (0.01, 1)
    assert by_name["star"]["precision"] is None, "nothing is above one"
    assert by_name["cross"]["threshold"] == 0.5
    assert "thresholds of their own for 2 of 8 classes" in " ".join(done.stderr.split())


def test_unreadable_images_and_strange_classes_are_named(command: list[object], tmp_path: Path) -> None:
    root = tmp_path / "data"
    render_shapes(root, train=1, test=12, seed=3)
    rows = (root / "test.csv").read_text(encoding="utf-8").replace("circle", "zebra")
    (root / "test.csv").write_text(rows, encoding="utf-8")
    (root / "images" / "test-00004.png").write_bytes(b"?")
    command[command.index("--data-root") + 1] = root
    done = cuter(*command, "--json", "--out", tmp_path / "out")
    assert done.returncode == 2
    found = json.loads(done.stdout)
    assert [Path(one["path"]).name for one in found["unreadable"]] == ["test-00004.png"]
    assert "unreadable: " in done.stderr
    assert "test-00004.png" in done.stderr
    assert found["images"] == 11
    assert (found["unknown_classes"], found["absent_classes"]) == (["zebra"], ["circle"])
    told = " ".join(done.stderr.split())
    assert "Left out, because the model does not know them: zebra." in told
    assert "Left out, because nobody looked for them in the data: circle." in told
    page = (tmp_path / "out" / "evaluation.html").read_text(encoding="utf-8")
    assert "Images that could not be read" in page
    assert "1 unreadable image was skipped." in page


def test_only_an_earlier_evaluation_is_replaced(command: list[object], tmp_path: Path) -> None:
    out = tmp_path / "out"
    for limit in (6, 5):
        assert cuter(*command, "--limit", limit, "--out", out).returncode == 0
    assert json.loads((out / "evaluation.json").read_text(encoding="utf-8"))["limit"] == 5
    (out / "mine.txt").write_text("mine")
    done = cuter(*command, "--limit", 4, "--out", out)
    assert done.returncode == 1
    assert "holds something else than an evaluation" in done.stderr
    assert json.loads((out / "evaluation.json").read_text(encoding="utf-8"))["limit"] == 5


def test_stopped_it_leaves_nothing_behind(
    command: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "evaluate_batches", stop)
    done = cuter(*command, "--out", tmp_path / "out")
    assert done.returncode == 130
    assert list(tmp_path.iterdir()) == []


def test_mistakes_are_told_before_anything_is_written(command: list[object], tmp_path: Path) -> None:
    out = tmp_path / "out"
    for wrong, told in (
        (["--split", "tset"], "unknown split 'tset'. Did you mean 'test'?"),
        (["--thresholds", tmp_path / "none.json"], "cannot be read as thresholds"),
        (["--limit", 0], "--limit"),
    ):
        done = cuter(*command, *wrong, "--out", out)
        assert done.returncode == 1
        assert told in done.stderr
    assert not out.exists()
    done = cuter("evaluate", tmp_path, "--dataset", "folder", "--data-root", command[5])
    assert done.returncode == 1
