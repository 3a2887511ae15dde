"""Runs outlive their machine: a folder of small files gives the same table in any clone."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from cuter.cli import app
from cuter.errors import ConfigError
from cuter.runs.config import RunConfig
from cuter.runs.record import read_record
from cuter.settings import validated
from cuter.show.figures import draw
from cuter.tables.columns import COLUMNS, read_figures
from cuter.tables.jobs import Job, portable_digest
from cuter.tables.results_folder import keep_result, read_results_folder
from cuter.tables.suite import Row
from made_up_runs import write_run

from .conftest import SETTINGS, table_of
from .test_figures import job as finished_job

Paper = Callable[..., Result]
TWO = ["--only", "RS", "--only", "CUTER"]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture
def sketches(figures: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures of what the runs noted, their files almost empty."""

    def save(_: Any, place: Path) -> list[Path]:
        files = [place.with_name(f"{place.name}.{ending}") for ending in ("svg", "png")]
        for file in files:
            file.write_text("<svg></svg>")
        return files

    monkeypatch.setattr(draw, "save_figure", save)


@pytest.fixture
def made(paper: Paper, results: Path) -> Path:
    """A folder with the results of two rows and two seeds."""
    done = paper("voc", "--seeds", 2, *TWO, "--results", results)
    assert done.exit_code == 0, done.output
    return results


def elsewhere(out: Path, results: Path, *arguments: object, data: str, backbone: str) -> Result:
    """Give the command in another clone, without data and backbone at the places that it had."""
    given = ["--data-root", data, "--backbone", backbone] if data else []
    given += ["--out", str(out), "--scale", "small", "--device", "cpu", "--results", str(results)]
    settings = [part for setting in SETTINGS for part in ("--set", setting)]
    return CliRunner().invoke(app, ["paper", "voc", *TWO, *map(str, arguments), *given, *settings])


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json"))


def test_a_folder_of_files_gives_the_same_table_and_figures_without_data_and_backbone(
    sketches: None, made: Path, tmp_path: Path, shapes: Path, backbone_folder: Path
) -> None:
    table, figures = table_of(tmp_path / "out"), sorted(file.name for file in made.glob("*.png"))
    assert figures
    assert "Runs: begun" in (made / "table.md").read_text()
    there = shutil.copytree(made, tmp_path / "clone" / "results")
    (tmp_path / "out").rename(tmp_path / "gone")
    for number, (data, backbone) in enumerate(
        [(f"/nowhere/{shapes.name}", f"else/{backbone_folder.name}"), (shapes.name, backbone_folder.name), ("", "")]
    ):
        out = tmp_path / "clone" / str(number)
        done = elsewhere(out, there, "--seeds", 2, "--jobs", 0, data=data, backbone=backbone)
        assert done.exit_code == 0, done.output
        assert "4 of 4 runs are finished by the files in" in done.output
        assert table_of(out) == table
        assert (
            "4 of 4 finished runs are from the files of a results folder, made by cuter 0"
            in (out / "voc-small" / "table.md").read_text()
        )
        assert sorted(file.name for file in (out / "voc-small").glob("*.png")) == figures
    # nothing is to run, so nothing need be there, with any number of jobs
    done = elsewhere(out, there, "--seeds", 2, data=f"/nowhere/{shapes.name}", backbone=backbone_folder.name)
    assert done.exit_code == 0, done.output
    assert [file.read_bytes() for file in files(there)] == [file.read_bytes() for file in files(made)]


def test_only_what_is_missing_runs(paper: Paper, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").rename(tmp_path / "gone")
    log = tmp_path / "log"
    monkeypatch.setenv("STAND_IN_LOG", str(log))
    done = paper("voc", "--seeds", 3, *TWO, "--results", made)
    assert done.exit_code == 0, done.output
    assert log.read_text().count("end") == 2, "the third seed of two rows"
    assert len(files(made)) == 6
    assert "4 of 6 finished runs are from the files" in (made / "table.md").read_text()
    assert "| RS | 3 |" in (made / "table.md").read_text()


def test_runs_that_were_finished_before_leave_their_files_as_well(paper: Paper, results: Path) -> None:
    assert paper("voc", "--seeds", 1, *TWO).exit_code == 0
    assert paper("voc", "--seeds", 1, *TWO, "--jobs", 0, "--results", results).exit_code == 0
    assert [file.name.rsplit("-", 1)[0] for file in files(results)] == ["cuter-seed0", "rs-seed0"]


def test_no_file_names_a_place_of_this_machine(made: Path, tmp_path: Path) -> None:
    assert {file.suffix for file in made.iterdir()} == {".json", ".md", ".csv"}
    for file in made.iterdir():
        content = file.read_bytes()
        assert b"/" + tmp_path.parts[1].encode() + b"/" not in content, file
        assert os.fsencode(Path.home()) not in content, file
    for file in files(made):
        assert file.stat().st_size < 10_000
        assert file.read_text() == json.dumps(json.loads(file.read_text()), indent=1, sort_keys=True) + "\n"


def test_what_a_file_says_is_what_the_table_has(paper: Paper, made: Path, tmp_path: Path) -> None:
    (tmp_path / "out").rename(tmp_path / "gone")
    changed = json.loads(files(made)[0].read_text())
    changed["tests"][0]["test"]["scores"]["map"] = 99.5
    files(made)[0].write_text(json.dumps(changed))
    assert paper("voc", "--seeds", 1, *TWO, "--jobs", 0, "--results", made).exit_code == 0
    assert "| CUTER | 1 | **99.5** (82.07)" in table_of(tmp_path / "out")


def test_a_file_of_other_settings_is_not_counted(paper: Paper, made: Path, tmp_path: Path) -> None:
    (tmp_path / "out").rename(tmp_path / "gone")
    other = json.loads(files(made)[0].read_text())
    other["config"]["lr"] = 0.5
    files(made)[0].write_text(json.dumps(other))
    done = paper("voc", "--seeds", 2, *TWO, "--jobs", 0, "--results", made)
    assert "3 of 4 runs are finished by the files in" in done.output
    assert "; 1 files there are of other runs" in done.output
    assert "| CUTER | 1/2 |" in table_of(tmp_path / "out")


def test_a_file_with_a_setting_that_this_version_lacks_is_named_and_left_out(
    paper: Paper, made: Path, tmp_path: Path
) -> None:
    (tmp_path / "out").rename(tmp_path / "gone")
    other = json.loads(files(made)[0].read_text())
    other["config"]["gone"] = 1
    files(made)[0].write_text(json.dumps(other))
    done = paper("voc", "--seeds", 2, *TWO, "--jobs", 0, "--results", made)
    assert f"{files(made)[0].name} is left out, this version can't have made it: unknown setting gone" in done.output
    assert "| CUTER | 1/2 |" in table_of(tmp_path / "out")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{", "Expecting property name"),
        ("[]", "valid dictionary"),
        ('{"name": "something else"}', "format: Field required"),
        (None, "summary: Value error, average is missing"),
    ],
)
def test_a_damaged_or_foreign_file_is_named_before_anything_begins(
    paper: Paper, made: Path, tmp_path: Path, content: str | None, why: str
) -> None:
    file = files(made)[0]
    if content is None:
        values = json.loads(file.read_text())
        del values["summary"]["average"]
        content = json.dumps(values)
    file.write_text(content)
    done = paper("voc", "--seeds", 3, *TWO, "--results", made)
    assert isinstance(done.exception, ConfigError)
    assert str(file) in str(done.exception)
    assert why in str(done.exception)
    assert len(list((tmp_path / "out" / "runs").iterdir())) == 4, "nothing began"


def test_a_file_that_says_something_else_is_not_replaced(paper: Paper, made: Path, tmp_path: Path) -> None:
    changed = json.loads(files(made)[0].read_text())
    changed["tests"][0]["test"]["scores"]["map"] = 99.5
    files(made)[0].write_text(json.dumps(changed))
    done = paper("voc", "--seeds", 3, *TWO, "--results", made)
    assert f"{files(made)[0]} has other figures of CUTER, seed 0 than" in str(done.exception)
    assert json.loads(files(made)[0].read_text()) == changed
    assert len(list((tmp_path / "out" / "runs").iterdir())) == 4, "nothing began"


def test_another_time_and_version_is_the_same_run(paper: Paper, made: Path, tmp_path: Path) -> None:
    changed = json.loads(files(made)[0].read_text())
    changed["summary"]["train_seconds"] = 1234.5
    changed["launches"] = ["2020-01-31 10:00:00 cuter 0.0.1 (abc)"]
    files(made)[0].write_text(json.dumps(changed))
    assert paper("voc", "--seeds", 2, *TWO, "--results", made).exit_code == 0
    assert json.loads(files(made)[0].read_text()) == changed
    assert "cuter 0.0.1 (abc)" in (made / "table.md").read_text()


def test_one_run_under_two_names_is_an_error(paper: Paper, made: Path) -> None:
    shutil.copy(files(made)[0], made / "copy.json")
    done = paper("voc", "--seeds", 2, *TWO, "--results", made)
    assert "are the same run: remove one of them" in str(done.exception)


def job(folder: Path, **fields: Any) -> Job:
    values = {"dataset": "voc", "data_root": "/data/VOCdevkit", "backbone": "dino-vits16", "tasks": "5x4"} | fields
    config = validated(RunConfig, values)
    return Job(Row(name=str(fields), method=config.method), config.seed, config, folder)


def test_backbones_in_two_folders_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for parent in "ab":
        (tmp_path / parent / "backbone").mkdir(parents=True)
    one, two = (job(tmp_path, backbone=str(tmp_path / parent / "backbone")) for parent in "ab")
    with pytest.raises(ConfigError, match="not in its last name, by which --results knows them: rename one"):
        read_results_folder(tmp_path).attach([one, two])
    assert portable_digest(one.config) == portable_digest(two.config)


def test_a_run_of_an_earlier_version_is_found_if_new_settings_are_what_it_did(tmp_path: Path) -> None:
    made = job(tmp_path / "runs" / "rs")
    write_run(made.folder, tasks=2, new_classes=2, numbers=3)
    keep_result(made, tmp_path / "results")
    (file,) = files(tmp_path / "results")
    values = json.loads(file.read_text())
    del values["config"]["learner"]["localiser"]  # as if this setting had come later
    file.write_text(json.dumps(values))
    file = file.rename(file.with_name("rs-seed0-0123456789ab.json"))
    (found,) = read_results_folder(tmp_path / "results").attach([made])
    assert found.kept is not None
    keep_result(made, tmp_path / "results")
    assert files(tmp_path / "results") == [file]


def test_where_a_backbone_was_loaded_from_goes_by_its_last_name(tmp_path: Path) -> None:
    (tmp_path / "weights" / "tiny").mkdir(parents=True)
    made = job(tmp_path / "runs" / "rs", backbone=str(tmp_path / "weights" / "tiny"))
    write_run(made.folder, tasks=2, new_classes=2, numbers=3)
    environment = {"backbone": f"ViTModel from {tmp_path / 'weights' / 'tiny'}", "device": "cpu"}
    (made.folder / "environment.json").write_text(json.dumps(environment))
    keep_result(made, tmp_path / "results")
    (file,) = files(tmp_path / "results")
    assert json.loads(file.read_text())["environment"] == {"backbone": "ViTModel from tiny", "device": "cpu"}


def test_where_the_package_is_installed_is_not_named(tmp_path: Path) -> None:
    made = job(tmp_path / "runs" / "rs", backbone="toybox")
    write_run(made.folder, tasks=2, new_classes=2, numbers=3)
    environment = {"backbone": "ConvStemViTModel from /usr/lib/cuter/backbone/shipped/toybox"}
    (made.folder / "environment.json").write_text(json.dumps(environment))
    keep_result(made, tmp_path / "results")
    (file,) = files(tmp_path / "results")
    assert json.loads(file.read_text())["environment"] == {"backbone": "ConvStemViTModel from toybox"}


def test_a_node_of_a_cluster_is_not_named(tmp_path: Path) -> None:
    made = job(tmp_path / "runs" / "rs")
    write_run(made.folder, tasks=2, new_classes=2, numbers=3)
    made.file("launches").parent.mkdir()
    made.file("launches").write_text("2026-01-31 10:00:00 cuter 0.1.0 (abc) on 10.0.0.7\n")
    keep_result(made, tmp_path / "results")
    (file,) = files(tmp_path / "results")
    assert json.loads(file.read_text())["launches"] == ["2026-01-31 10:00:00 cuter 0.1.0 (abc)"]


def test_what_is_measured_without_learning_has_no_results_of_runs(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["paper", "fiedler", "--backbone", "toybox", "--results", str(tmp_path)])
    assert "--results has no effect" in str(done.exception)


def test_a_file_gives_the_same_record_as_the_folder(tmp_path: Path) -> None:
    here = finished_job(tmp_path, "RS", seed=1)
    keep_result(here, tmp_path / "results")
    (kept,) = read_results_folder(tmp_path / "results").attach([here])
    assert kept.kept is not None
    for part in ("results", "summary", "memory", "localisation", "memory_items", "images_per_second", "environment"):
        assert getattr(kept.record, part) == getattr(here.record, part), part
    whole = read_record(here.folder)
    figures = read_figures(whole, tuple(COLUMNS))
    assert read_figures(kept.record, tuple(COLUMNS)) == read_figures(here.record, tuple(COLUMNS)) == figures
    assert whole.steps == 20, "the folder has the steps, too"


def test_the_committed_results_give_the_committed_table(sketches: None, tmp_path: Path) -> None:
    """Rows of this one choose different parts, so that no row has the settings of all others."""
    committed = Path(__file__).resolve().parents[2] / "docs" / "results" / "pieces-small"
    results = shutil.copytree(committed, tmp_path / "results")
    place = ["--data-root", "VOCdevkit", "--backbone", "vit-tiny-patch16-224", "--out", str(tmp_path / "out")]
    which = ["--scale", "small", "--seeds", "3", "--jobs", "0", "--results", str(results)]
    done = CliRunner().invoke(app, ["paper", "pieces", *place, *which])
    assert done.exit_code == 0, done.output
    tables = [(folder / "table.md").read_text().split("## How it was made")[0] for folder in (committed, results)]
    assert tables[0] == tables[1]
    assert len(re.findall(r"^\| [^|]+ \| 3 \|", tables[0], re.MULTILINE)) == 12, "three seeds of every row"
