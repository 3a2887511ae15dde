"""`cuter paper fiedler`: backbones are assessed once each, and compared."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from cuter.cli import app
from cuter.lock import claim
from cuter.show import assessment_table as assessment
from cuter.show.assess import assess
from cuter.stream.datasets import load_dataset

Fiedler = Callable[..., Result]


@pytest.fixture
def fiedler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fiedler:
    monkeypatch.setenv("COLUMNS", "160")
    options = ["--out", tmp_path / "out", "--device", "cpu", "--scale", "small", "--set", "dataset=toybox"]
    options += ["--set", "dataset_options={train: '8', test: '4'}", "--set", "images=5"]

    def invoke(*backbones: Path, options: list[object] = options) -> Result:
        named = [part for backbone in backbones for part in ("--backbone", backbone)]
        return CliRunner().invoke(app, ["paper", "fiedler", *map(str, [*options, *named])])

    return invoke


@pytest.fixture
def another(backbone_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(backbone_folder, tmp_path / "another"))


def test_each_backbone_is_assessed_once(
    fiedler: Fiedler, backbone_folder: Path, another: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fiedler(backbone_folder).exit_code == 0
    looked = []

    def note(names: list[str], *rest: Any, **more: Any) -> Any:
        looked.extend(names)
        return assess(names, *rest, **more)

    monkeypatch.setattr(assessment, "assess", note)
    done = fiedler(backbone_folder, another)
    assert done.exit_code == 0, done.output
    assert looked == [str(another)]
    folder = tmp_path / "out" / "fiedler-small"
    record = json.loads((folder / "results.json").read_text())
    assert {row["backbone"] for row in record["rows"]} == {str(backbone_folder), str(another)}
    alone = assess([str(another)], load_dataset("toybox", None, train="8", test="4"), tmp_path / "by-hand", images=5)
    by_hand, found = alone["rows"][0], next(row for row in record["rows"] if row["backbone"] == str(another))
    assert found["fiedler"] == by_hand["fiedler"]
    table = (folder / "table.md").read_text()
    assert "| another |" in table
    assert f"```\n{record['command']}\n```" in table
    assert record["date"] in table
    assert {file.name for file in folder.iterdir()} >= {"fiedler-ap50.svg", "fiedler-ap50.png"}


def test_a_stop_costs_only_the_one_under_way(
    fiedler: Fiedler, backbone_folder: Path, another: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop_at_the_second(names: list[str], dataset: object, out: Path, **more: object) -> object:
        if names == [str(another)]:
            out.mkdir(parents=True)
            (out / "assessment.json").write_text("{}")  # written in part
            raise KeyboardInterrupt
        return assess(names, dataset, out, **more)

    with monkeypatch.context() as patch:
        patch.setattr(assessment, "assess", stop_at_the_second)
        done = fiedler(backbone_folder, another)
    assert done.exit_code == 130
    assert "Go on with:  cuter" in done.output
    assert fiedler(backbone_folder, another).exit_code == 0
    assert len(json.loads((tmp_path / "out" / "fiedler-small" / "results.json").read_text())["rows"]) == 2


def test_what_is_left_is_told_without_doing_it(
    fiedler: Fiedler, backbone_folder: Path, another: Path, tmp_path: Path
) -> None:
    assert fiedler(backbone_folder).exit_code == 0
    given = fiedler.__kwdefaults__["options"]
    table = (tmp_path / "out" / "fiedler-small" / "table.md").read_text()
    done = fiedler(another, backbone_folder, options=[*given, "--dry-run"])
    assert f"{backbone_folder}: finished" in done.output
    assert f"{another}: to do" in done.output
    assert (tmp_path / "out" / "fiedler-small" / "table.md").read_text() == table
    assert fiedler(backbone_folder, another, options=[*given, "--jobs", "0"]).exit_code == 0
    assert "| another |" not in (tmp_path / "out" / "fiedler-small" / "table.md").read_text()


def test_what_somebody_else_is_at_is_waited_for_and_not_done_twice(
    fiedler: Fiedler, backbone_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fiedler(backbone_folder).exit_code == 0
    (place,) = (tmp_path / "out" / "assessments").glob("[!.]*")
    place.rename(tmp_path / "done")
    lock = claim(place.with_name(f".{place.name}.lock"))
    assert lock is not None

    def other_is_done(_: float) -> None:
        (tmp_path / "done").rename(place)
        lock.close()

    monkeypatch.setattr(assessment.time, "sleep", other_is_done)
    monkeypatch.setattr(assessment, "assess", lambda *_, **__: pytest.fail("it was done already"))
    done = fiedler(backbone_folder)
    assert done.exit_code == 0, done.output
    assert f"process {os.getpid()} on " in done.output


def test_what_has_no_effect_is_refused(fiedler: Fiedler, backbone_folder: Path) -> None:
    given = fiedler.__kwdefaults__["options"]
    assert "each --backbone is a row" in str(fiedler(backbone_folder, options=[*given, "--only", "RS"]).exception)
    assert "--seeds has no effect" in str(fiedler(backbone_folder, options=[*given, "--seeds", "3"]).exception)
    assert "--ray have no effect" in str(fiedler(backbone_folder, options=[*given, "--jobs", "2"]).exception)
    assert "--ray have no effect" in str(fiedler(backbone_folder, options=[*given, "--ray", "auto"]).exception)
    assert "needs --backbone" in str(fiedler().exception)
    assert "no scale 'tiny'" in str(fiedler(backbone_folder, options=[*given, "--scale", "tiny"]).exception)
    assert "imags" in str(fiedler(backbone_folder, options=[*given, "--set", "imags=3"]).exception)
