"""The command as a person uses it: what it leaves behind, whatever stops it."""

import csv
import io
import json
import multiprocessing
import os
import re
import shutil
import signal
import statistics
import sys
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from rich.console import Console

from cuter.cli import paper as command
from cuter.runs.config import load_config
from cuter.runs.plan import make_plan
from cuter.runs.run import start
from cuter.show import make_table as making
from cuter.show.run_display import RunDisplay
from cuter.tables.streams import streams_of
from cuter.tables.suite import suite_names
from waiting import wait_for

from .conftest import table_of

Paper = Callable[..., Result]

FOUR = ["--only", "RS", "--only", "GSS", "--only", "CUTER", "--only", "joint"]


def runs(out: Path) -> dict[str, dict[str, Any]]:
    return {file.parent.name: json.loads(file.read_text()) for file in (out / "runs").glob("*/summary.json")}


def events(log: Path) -> list[list[str]]:
    return [line.split() for line in log.read_text().splitlines()]


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "log"
    file.touch()
    monkeypatch.setenv("STAND_IN_LOG", str(file))
    return file


def in_a_process(paper: Paper, told: Path, *arguments: object) -> Any:
    """Give the command in a process of its own that can be killed; what it tells goes to a file, its code first."""

    def invoke() -> None:
        done = paper(*arguments)
        told.write_text(f"{done.exit_code}\n{done.output}")

    process = multiprocessing.get_context("fork").Process(target=invoke)
    process.start()
    return process


def test_a_table_and_all_it_was_made_of(paper: Paper, tmp_path: Path) -> None:
    done = paper("voc", "--seeds", 3, "--jobs", 2, *FOUR)
    assert done.exit_code == 0, done.output
    folder = tmp_path / "out" / "voc-small"
    record = json.loads((folder / "results.json").read_text())
    summaries = runs(tmp_path / "out")
    assert len(summaries) == 12
    assert record["seeds"] == [0, 1, 2]
    assert record["definitions"]["last.cf1_mean@0.8"].startswith("CF1, mean of per-class F1, threshold 0.8")
    assert record["settings"]["memory.codec"] == "raw"
    assert [len(run["launches"]) for run in record["rows"]["RS"]["runs"].values()] == [1, 1, 1]
    assert record["rows"]["joint"]["settings"]["memory.images"] == 0
    cuter = record["rows"]["CUTER"]
    for seed, run in cuter["runs"].items():
        assert cuter["figures"][seed]["average.map"] == summaries[Path(run["folder"]).name]["average"]["map"]
    with (folder / "table.csv").open() as file:
        lines = {(line["row"], line["column"]): line for line in csv.DictReader(file)}
    values = [figures["average.map"] for figures in cuter["figures"].values()]
    assert float(lines["CUTER", "average.map"]["mean"]) == pytest.approx(sum(values) / 3)
    assert float(lines["CUTER", "average.map"]["std"]) == pytest.approx(statistics.stdev(values))
    assert float(lines["CUTER", "average.map"]["published_mean"]) == 82.07
    assert lines["joint", "last.map"]["published_mean"] == ""
    order = re.findall(r"^(.+), seed (\d) begins", done.output, re.MULTILINE)
    assert order == [(row, seed) for seed in "012" for row in ("RS", "GSS", "CUTER", "joint")]


def test_a_finished_run_is_not_repeated_and_tables_share_it(paper: Paper, log: Path, tmp_path: Path) -> None:
    assert paper("voc", "--seeds", 1, "--only", "RS", "--only", "prs").exit_code == 0
    before = len(events(log))
    again = paper(
        "voc", "--seeds", 1, "--only", "RS", "--only", "PRS", "--set", "workers=3", "--set", "checkpoint_steps=9"
    )
    assert again.exit_code == 0
    assert len(events(log)) == before
    assert paper("plug", "--seeds", 1, "--only", "PRS", "--only", "Cut.Rep w/ PRS").exit_code == 0
    assert [name.rsplit("-", 1)[0] for _, name in events(log)[before:]] == ["cutrep-prs", "cutrep-prs"]
    checkpoints = [list((folder / "checkpoints").iterdir()) for folder in (tmp_path / "out" / "runs").iterdir()]
    assert [len(found) for found in checkpoints] == [1, 1, 1]  # the last is enough for a finished run


def test_a_failing_row_stops_no_other_and_is_tried_again(
    paper: Paper, monkeypatch: pytest.MonkeyPatch, log: Path
) -> None:
    monkeypatch.setenv("STAND_IN_FAILS", "rs")
    done = paper("voc", "--seeds", 2, "--jobs", 1, *FOUR)
    assert done.exit_code == 1
    assert "failed: RS, seed 0, code 3" in done.output
    assert "    error: no more room for images" in done.output
    assert "2 runs failed" in done.output
    assert sum(what == "end" for what, _ in events(log)) == 6
    monkeypatch.delenv("STAND_IN_FAILS")
    begun = len(events(log))
    assert paper("voc", "--seeds", 2, *FOUR).exit_code == 0
    assert sorted(what for what, _ in events(log)[begun:]) == ["begin", "begin", "end", "end"]


def test_what_was_begun_goes_on_with_the_workers_that_are_asked_for_now(
    paper: Paper, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("STAND_IN_FAILS", "rs")
    command = ("voc", "--seeds", 1, "--only", "RS", "--set")
    assert paper(*command, "workers=3").exit_code == 1
    (folder,) = (tmp_path / "out" / "runs").iterdir()
    assert load_config(folder / "config.yaml", {}).workers == 3
    monkeypatch.delenv("STAND_IN_FAILS")
    assert paper(*command, "workers=2").exit_code == 0
    assert load_config(folder / "config.yaml", {}).workers == 2
    assert [folder] == list((tmp_path / "out" / "runs").iterdir())


def test_killed_twice_it_comes_to_the_same_table(
    paper: Paper, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, log: Path
) -> None:
    out = tmp_path / "out"
    assert paper("voc", "--seeds", 2, "--jobs", 2, *FOUR).exit_code == 0
    whole = table_of(out)
    out.rename(tmp_path / "whole")
    log.write_text("")

    monkeypatch.setenv("STAND_IN_SECONDS", "0.05")
    for ends in (1, 4):
        process = in_a_process(paper, tmp_path / "told", "voc", "--seeds", 2, "--jobs", 2, *FOUR)
        wait_for(lambda ends=ends: len(runs(out)) >= ends)
        process.kill()  # its runs do not notice, go on, and keep their locks
        process.join()
    monkeypatch.delenv("STAND_IN_SECONDS")
    done = paper("voc", "--seeds", 2, "--jobs", 2, *FOUR)
    assert done.exit_code == 0, done.output
    assert table_of(out) == whole
    begun = [name for what, name in events(log) if what == "begin"]
    assert len(begun) == len(set(begun)) == 8  # what the killed commands had started was waited for, not run twice


def test_ctrl_c_lets_runs_write_their_checkpoints(
    paper: Paper, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, log: Path
) -> None:
    monkeypatch.setenv("STAND_IN_WAITS_FOR", "nothing that ever comes")
    monkeypatch.setattr("sys.argv", ["cuter", "paper", "voc", "--out", "a place"])
    process = in_a_process(paper, tmp_path / "told", "voc", "--seeds", 1, "--jobs", 2, *FOUR)
    wait_for(lambda: len(events(log)) == 2)
    os.kill(process.pid, signal.SIGINT)
    process.join()
    told = (tmp_path / "told").read_text()
    assert told.startswith("130\n")
    assert "Stopped with 0 of 4 runs finished. Go on with:  cuter paper voc --out 'a place'" in told
    assert sorted(what for what, _ in events(log)) == ["begin", "begin", "stop", "stop"]
    monkeypatch.delenv("STAND_IN_WAITS_FOR")
    dry = paper("voc", "--seeds", 1, "--dry-run", *FOUR)
    assert dry.output.count("begun, step") == 2
    assert paper("voc", "--seeds", 1, *FOUR).exit_code == 0
    logs = list((tmp_path / "out" / "jobs").glob("*.log"))
    assert sum("--resume" in file.read_text() for file in logs) == 2


def test_real_runs_stopped_and_continued_have_the_figures_of_one_that_nobody_disturbed(
    paper_with_real_runs: Paper, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    out, arguments = tmp_path / "out", ["voc", "--only", "RS", "--seeds", 1, "--jobs", 1, "--set", "probe_images=0"]
    process = in_a_process(paper_with_real_runs, tmp_path / "told", *arguments)
    wait_for(lambda: [file for file in out.glob("runs/*/metrics.jsonl") if file.read_bytes().count(b"\n") >= 3])
    os.kill(process.pid, signal.SIGINT)
    process.join()
    assert (tmp_path / "told").read_text().startswith("130\n")
    request.getfixturevalue("runs_in_this_process")  # on Ray real runs go on in processes of their own
    done = paper_with_real_runs(*arguments)
    assert done.exit_code == 0, done.output
    assert "RS, seed 0 goes on" in done.output
    found = json.loads((out / "voc-small" / "results.json").read_text())["rows"]["RS"]

    config = load_config(Path(found["runs"]["0"]["folder"]) / "config.yaml", {})
    assert (config.method, config.probe_images) == ("rs", 0)
    alone = start(config, tmp_path / "alone", RunDisplay(Console(file=io.StringIO())))
    assert found["figures"]["0"]["average.map"] == alone["average"]["map"]
    assert found["figures"]["0"]["last.cf1_mean@0.8"] == alone["last"]["cf1_mean@0.8"]


def test_two_commands_at_once_share_the_work(
    paper: Paper, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, log: Path
) -> None:
    released = tmp_path / "released"
    monkeypatch.setenv("STAND_IN_WAITS_FOR", str(released))  # until both commands are at a run
    other = in_a_process(paper, tmp_path / "told", "voc", "--seeds", 1, "--jobs", 1, *FOUR)
    wait_for(lambda: events(log))
    thread = threading.Thread(target=lambda: (wait_for(lambda: len(events(log)) == 2), released.touch()))
    thread.start()
    done = paper("voc", "--seeds", 1, "--jobs", 1, *FOUR)
    thread.join()
    other.join()
    assert done.exit_code == 0
    owners = re.findall(r"is carried out by process (\d+) on ", done.output)
    assert owners, "somebody else was at a run"
    assert str(os.getpid()) not in owners
    begun = [name for what, name in events(log) if what == "begin"]
    assert len(begun) == len(set(begun)) == len(runs(tmp_path / "out")) == 4


def test_a_dry_run_says_what_is_left_and_how_long_as_finished_runs_took(
    paper: Paper, log: Path, tmp_path: Path
) -> None:
    assert paper("voc", "--seeds", 1, "--only", "RS", "--only", "joint").exit_code == 0
    before = len(events(log))
    later = paper("voc", "--seeds", 2, "--dry-run", "--jobs", 2, *FOUR)
    assert later.exit_code == 0, later.output
    assert len(events(log)) == before, "nothing runs"
    assert "6 runs to do" in later.output
    # a run of the stand-in says that its six steps took 12 seconds; six runs of real steps are left, two at a time
    plans = [make_plan(load_config(*tmp_path.glob(f"out/runs/{name}-*/config.yaml"), {})) for name in ("rs", "joint")]
    steps, joint = (sum(map(len, plan.learn)) for plan in plans)
    images, joint_images = (sum(len(batch) for batches in plan.learn for batch in batches) for plan in plans)
    assert f"{5 * steps + joint:,} steps over {5 * images + joint_images:,} images to learn" in later.output
    assert f"about {timedelta(seconds=5 * steps + joint)} with 2 at a time, as finished runs took here" in later.output
    assert "rows without a finished run count as the mean of the others: GSS, CUTER" in later.output


def test_a_dry_run_says_at_once_what_is_known_and_that_nothing_is_known_of_time(
    paper: Paper, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    monkeypatch.setattr(making, "streams_of", lambda jobs: seen.append(console.getvalue()) or streams_of(jobs))
    console = io.StringIO()
    monkeypatch.setattr(command, "console", Console(file=console, width=160))
    done = paper("voc", "--seeds", 1, "--dry-run", "--jobs", 1, *FOUR)
    assert done.exit_code == 0, done.output
    assert seen[0].count("to do") == 5, "four runs and their number, before data are looked at"
    assert "GB are free" in seen[0]
    assert "how long it takes is not known until a first run is finished here" in done.output
    assert events(log) == []
    assert not (tmp_path / "out").exists()


def test_where_speed_is_measured_nothing_runs_beside_a_run_that_is_left_over(
    paper: Paper, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, log: Path
) -> None:
    released = tmp_path / "released"
    monkeypatch.setenv("STAND_IN_WAITS_FOR", str(released))
    command = ("throughput", "--seeds", 1, "--only", "RS", "--only", "GSS")
    process = in_a_process(paper, tmp_path / "told", *command)
    wait_for(lambda: events(log))
    process.kill()
    process.join()
    threading.Timer(1, released.touch).start()  # it goes on longer than the next command takes to begin
    assert paper(*command).exit_code == 0
    assert [what for what, _ in events(log)] == ["begin", "end", "begin", "end"]


def test_of_two_copies_of_a_run_the_finished_one_counts(paper: Paper, log: Path, tmp_path: Path) -> None:
    assert paper("voc", "--seeds", 1, "--only", "RS").exit_code == 0
    (run,) = (tmp_path / "out" / "runs").iterdir()
    copy = shutil.copytree(run, run.with_name(f"{run.name}-backup"))
    (copy / "summary.json").unlink()
    before = events(log)
    assert paper("voc", "--seeds", 1, "--only", "RS").exit_code == 0
    assert events(log) == before


def test_the_table_of_what_is_finished_needs_no_run(paper: Paper, log: Path, tmp_path: Path) -> None:
    assert paper("voc", "--seeds", 1, "--only", "RS").exit_code == 0
    before = events(log)
    assert paper("voc", "--seeds", 2, "--jobs", 0, "--only", "RS", "--only", "CUTER").exit_code == 0
    assert events(log) == before
    table = (tmp_path / "out" / "voc-small" / "table.md").read_text()
    assert "| RS | 1/2 | 4" in table
    assert "| CUTER | 0/2 | – (82.07) |" in table


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["vok"], "unknown suite 'vok'. Did you mean 'voc'?"),
        (["voc", "--only", "CUTTER"], "voc has no row 'CUTTER'. Did you mean 'CUTER'?"),
        (["voc", "--skip", "AGCN+"], "Did you mean 'AGCN++'?"),
        (["voc", "--set", "lr"], "must be FIELD=VALUE"),
        (["voc", "--set", "learning_rate=1"], "row RS of voc: unknown setting learning_rate"),
        (["voc", "--set", "seed=4"], "use --seeds"),
        (
            ["voc", "--set", "keeper.selection.tau1=0.6"],
            "row RS of voc: unknown setting keeper.selection",
        ),
        (["voc", "--backbone", "two"], "needs one --backbone"),
        ([], "name a table"),
    ],
)
def test_mistakes_are_told_before_anything_begins(
    paper: Paper, arguments: list[str], told: str, log: Path, tmp_path: Path
) -> None:
    done = paper(*arguments)
    assert told in str(done.exception)
    assert events(log) == []
    assert not (tmp_path / "out").exists()


def test_a_tracker_without_its_client_is_told_before_anything_begins(
    paper: Paper, monkeypatch: pytest.MonkeyPatch, log: Path
) -> None:
    command = ("voc", "--only", "RS", "--set", "track=[wandb]")
    monkeypatch.setitem(sys.modules, "wandb", None)
    assert "pip install wandb" in str(paper(*command).exception)
    assert events(log) == []
    assert paper("voc", "--only", "RS").exit_code == 0  # the same run but for where it is told
    assert paper(*command).exit_code == 0  # and so nothing is left to track


def test_the_list_names_every_table(paper: Paper) -> None:
    listed = paper("--list").output
    for name in suite_names():
        assert f"\n{name} " in f"\n{listed}"
    assert "13 rows; scales and seeds: full × 3, medium × 3, small × 1" in listed


def test_a_scale_has_its_number_of_seeds(paper: Paper, tmp_path: Path) -> None:
    assert paper("voc", "--only", "RS").exit_code == 0
    record = json.loads((tmp_path / "out" / "voc-small" / "results.json").read_text())
    assert record["seeds"] == [0]
    assert paper("voc", "--only", "RS", "--seeds", 2).exit_code == 0
    assert len(runs(tmp_path / "out")) == 2
