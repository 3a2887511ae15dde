"""The commands predict and tune-thresholds, as a person uses them."""

import csv
import io
import json
import os
import signal
import sys
from pathlib import Path

import pytest
import torch
from PIL import Image

from command import cuter, cuter_in_a_process
from cuter import Batch, Learner
from cuter.backbone import load_backbone
from shapes import CLASSES
from waiting import wait_for


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, backbone_folder: Path) -> Path:
    """A saved learner whose probabilities lie on both sides of one half."""
    learner = Learner.create("rs", backbone=load_backbone(backbone_folder), device="cpu", memory={"images": 4})
    learner.observe(Batch.of(torch.zeros(1, 3, 32, 32, dtype=torch.uint8), [["star"]], known=CLASSES))
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in learner.model.head.parameters():
            parameter.normal_(1.4 if parameter.ndim == 1 else 0.0, 0.6)
    folder = tmp_path_factory.mktemp("model") / "tagger"
    learner.save(folder)
    return folder


@pytest.fixture
def photos(shapes: Path, tmp_path: Path) -> Path:
    """Six photos, one of them in a sub-folder, and notes."""
    folder = tmp_path / "photos"
    (folder / "sub").mkdir(parents=True)
    for number, file in enumerate(sorted((shapes / "images").iterdir())[:6]):
        (folder / ("sub" if number == 5 else ".") / f"{number}.png").write_bytes(file.read_bytes())
    (folder / "notes.txt").write_text("?")
    return folder


class Terminal(io.StringIO):
    """Takes what is written, and says that a person sees it."""

    def isatty(self) -> bool:
        return True


NAMES = ["0.png", "1.png", "2.png", "3.png", "4.png", "sub/5.png"]


def test_a_folder_becomes_a_file(model: Path, photos: Path, tmp_path: Path) -> None:
    done = cuter("predict", model, "photos", "--out", "tags.csv", "--json", "--device", "cpu", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "tags.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["path"] for row in rows] == [f"photos/{name}" for name in NAMES]
    learner = Learner.load(model, device="cpu")
    for row, scores in zip(rows, learner.predict([tmp_path / row["path"] for row in rows]), strict=True):
        above = {name: f"{round(score, 6)}" for name, score in scores.items() if score > 0.5}
        shown = dict(zip(filter(None, row["labels"].split(";")), row["probabilities"].split(";"), strict=False))
        assert shown == above
    summary = json.loads(done.stdout.splitlines()[-1])
    assert list(summary) == ["images", "unreadable", "seconds", "images_per_second", "out"]
    assert (summary["images"], summary["unreadable"], summary["out"]) == (6, 0, "tags.csv")
    assert "6 images, see tags.csv" in done.stderr

    again = cuter("predict", model, "photos", "--out", "tags.csv", "--device", "cpu", cwd=tmp_path)
    assert again.returncode == 1
    assert "replace it with --overwrite" in again.stderr
    replaced = cuter("predict", model, "photos/sub", "--out", "tags.csv", "--overwrite", cwd=tmp_path)
    assert replaced.returncode == 0, replaced.stderr
    assert (tmp_path / "tags.csv").read_text().count("\n") == 2


def test_rows_go_to_stdout_where_nobody_reads_a_table(model: Path, photos: Path, tmp_path: Path) -> None:
    for more in ([], ["--out", "-"]):
        done = cuter("predict", model, "photos/*.png", "photos/sub", *more, "--all-scores", "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        *rows, summary = map(json.loads, done.stdout.splitlines())
        assert [row["path"] for row in rows] == [f"photos/{name}" for name in NAMES]
        assert all(list(row["scores"]) == list(CLASSES) for row in rows)
        assert summary["images"] == 6


def test_a_table_for_people(model: Path, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (photos / "bad.jpg").write_text("?")
    monkeypatch.setattr(io, "StringIO", Terminal)
    done = cuter("predict", model, "photos", "--regions", cwd=tmp_path, env={"COLUMNS": "200", "TERM": "dumb"})
    assert done.returncode == 2, done.stderr
    assert "photos/sub/5.png" in done.stdout
    assert any(name in done.stdout for name in CLASSES)
    assert "unreadable" in done.stdout
    assert "{" not in done.stdout
    monkeypatch.setattr("cuter.cli.predict.FEW", 3)
    many = cuter("predict", model, "photos", cwd=tmp_path, env={"COLUMNS": "200", "TERM": "dumb"})
    assert many.returncode == 1
    assert "7 images are too many for a table" in many.stderr


def test_a_list_on_stdin(model: Path, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"photos/3.png\nphotos/1.png\n")))
    done = cuter("predict", model, "-", "--out", "tags.jsonl", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "tags.jsonl").read_text().splitlines()]
    assert [row["path"] for row in rows] == ["photos/3.png", "photos/1.png"]


def test_unreadable_files_are_named_and_counted(model: Path, photos: Path, tmp_path: Path) -> None:
    for number in range(12):
        (photos / f"bad {number:02d}.jpg").write_text("?")
    done = cuter("predict", model, "photos", "--out", "tags.jsonl", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("unreadable: photos/bad") == 10
    assert "18 images, 12 of them unreadable, see tags.jsonl" in done.stderr
    rows = [json.loads(line) for line in (tmp_path / "tags.jsonl").read_text().splitlines()]
    assert sum(row["error"] is not None for row in rows) == 12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["photos", "gone"], "gone: no such file or folder"),
        (["https://example.org/cat.jpg"], "is a web address"),
        (["photos", "--out", "tags.xls"], "tags are written as .csv, .jsonl, .parquet, not as .xls"),
        (["photos", "--threshold", "2"], "less than or equal to 1"),
        (["photos", "--thresholds", "gone.json"], "gone.json cannot be read as thresholds"),
        (["photos", "--thresholds", "photos/notes.txt"], "photos/notes.txt cannot be read as thresholds"),
        (["photos", "--thresholds", "unknown.json"], "threshold for 'tsar', but the model knows no such class"),
        (["photos", "--thresholds", "wrong.json"], "the threshold star must lie between 0 and 1, not 7"),
        (["photos", "--thresholds", "list.json"], "must be a JSON object of thresholds by class"),
        (["photos", "--overwrite"], "--overwrite and --restart are for a file"),
    ],
)
def test_mistakes_are_told(model: Path, photos: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    for name, content in {"unknown": {"tsar": 0.5}, "wrong": {"star": 7}, "list": [0.5]}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    before = sorted(tmp_path.iterdir())
    done = cuter("predict", model, *arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert message in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert sorted(tmp_path.iterdir()) == before


def test_a_model_that_is_none(photos: Path, tmp_path: Path) -> None:
    done = cuter("predict", photos, photos, "--out", tmp_path / "tags.csv")
    assert done.returncode == 1
    assert "holds no model, no run with checkpoints, and no saved learner" in done.stderr
    assert "nowhere: no such folder" in cuter("predict", "nowhere", photos).stderr
    assert not (tmp_path / "tags.csv.part").exists()


def test_pictures_mirror_the_folders(model: Path, photos: Path, tmp_path: Path) -> None:
    (photos / "bad.jpg").write_text("?")
    Image.new("RGB", (30, 20)).save(photos / "scan.tif")
    options = ["--out", "tags.csv", "--regions", "--draw", "photos/drawn"]
    assert cuter("predict", model, "photos", *options, cwd=tmp_path).returncode == 2
    drawn = {str(path.relative_to(photos / "drawn")) for path in (photos / "drawn").rglob("*") if path.is_file()}
    assert drawn == {*NAMES, "scan.tif.png"}
    again = cuter("predict", model, "photos", *options, "--overwrite", cwd=tmp_path)
    assert "8 images" in again.stderr, "pictures are not tagged in their turn"
    listed = cuter("predict", model, "photos/0.png", "--out", "one.csv", "--draw", "one", cwd=tmp_path)
    assert listed.returncode == 0, listed.stderr
    assert Image.open(tmp_path / "one" / "photos" / "0.png").format == "PNG"


def test_ctrl_c_tells_how_to_go_on_and_the_same_command_does(
    model: Path, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(150):
        os.link(photos / "0.png", photos / f"more {number}.png")
    command = ["predict", model, "photos", "--batch-size", 1, "--device", "cpu"]
    part = tmp_path / "my tags.csv.part"
    process = cuter_in_a_process(tmp_path / "told", *command, "--out", "my tags.csv", "--restart")
    wait_for(lambda: part.exists() and part.read_bytes().count(b"\n") > 3, process)
    os.kill(process.pid or 0, signal.SIGINT)
    process.join()
    told = (tmp_path / "told").read_text()
    assert process.exitcode == 130, told
    again = f"cuter predict {model} photos --batch-size 1 --device cpu --out 'my tags.csv'"
    done = part.read_bytes().count(b"\n") - 1
    assert f"Stopped after {done} images. Go on with:  {again}\n" in told
    assert "Traceback" not in told
    last = cuter(*command, "--out", "my tags.csv")
    assert last.returncode == 0, last.stderr
    assert cuter(*command, "--out", "whole.csv").returncode == 0
    assert (tmp_path / "my tags.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_thresholds_are_tuned_and_used(model: Path, shapes: Path, photos: Path, tmp_path: Path) -> None:
    data = ["--dataset", "folder", "--data-root", shapes, "--min-positives", 3]
    done = cuter("tune-thresholds", model, *data, "--out", "limits.json", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    thresholds = json.loads((tmp_path / "limits.json").read_text())
    assert report["thresholds"] == thresholds
    assert list(thresholds) == list(CLASSES)
    assert (report["images"], report["unknown"], report["out"]) == (30, [], "limits.json")
    assert all(one["at"]["f1"] >= one["natural"]["f1"] for one in report["classes"])
    assert any(one["at"]["f1"] > one["natural"]["f1"] for one in report["classes"])
    assert "threshold" in done.stderr
    few = [one["name"] for one in report["classes"] if one["positives"] < 3]
    assert all(f"{name} keeps 0.5: " in done.stderr for name in few)

    options = ["--thresholds", "limits.json", "--all-scores"]
    rows = map(json.loads, cuter("predict", model, "photos", *options, cwd=tmp_path).stdout.splitlines())
    for row in rows:
        assert set(row["labels"]) == {name for name, score in row["scores"].items() if score > thresholds[name]}

    precise = cuter("tune-thresholds", model, *data, "--precision", 0.99, "--regions", "--json", cwd=tmp_path)
    for one in json.loads(precise.stdout)["classes"]:
        assert one["at"]["precision"] >= 0.99 or one["threshold"] == 1 or one["positives"] < 3
    assert "never has a precision of 0.99: not predicted" in precise.stderr
    assert (tmp_path / "thresholds.json").exists()


def test_labels_that_nobody_looked_for_and_files_that_are_damaged(model: Path, photos: Path, tmp_path: Path) -> None:
    (photos / "bad.png").write_text("?")
    rows = ["path,labels,known,split", "0.png,star;moon,star;moon,test", "1.png,star,,test", "bad.png,star,,test"]
    rows += ["2.png,,star,test", "3.png,cross,,train"]
    (photos / "labels.csv").write_text("\n".join(rows))
    done = cuter("tune-thresholds", model, "--dataset", "folder", "--data-root", photos, "--json", cwd=tmp_path)
    assert done.returncode == 2
    report = json.loads(done.stdout)
    assert (report["images"], report["unreadable"], report["unknown"]) == (3, 1, ["moon"])
    positives = {one["name"]: one["positives"] for one in report["classes"]}
    assert (positives["star"], positives["cross"]) == (2, 0)
    assert "passed over, because the model does not know them: moon" in done.stderr
    assert "bad.png" in done.stderr
    wrong = cuter("tune-thresholds", model, "--dataset", "folder", "--data-root", photos, "--split", "val")
    assert (wrong.returncode, "--split is train or test, not 'val'" in wrong.stderr) == (1, True)
