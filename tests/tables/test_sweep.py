"""`cuter sweep`: grids of the user's own, carried out and compared like the paper's tables."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from cuter.cli import app
from cuter.errors import ConfigError
from cuter.runs.config import RunConfig, dump_config, load_config
from cuter.tables.execute import execute as carry_out
from cuter.tables.execute import launching
from cuter.tables.jobs import plan_jobs
from cuter.tables.sweep import make_sweep, parse_grid

from .conftest import PROGRAM, STAND_IN

Sweep = Callable[..., Result]
BASE = {"dataset": "toybox", "backbone": "toybox", "tasks": "5x5"}


@pytest.fixture
def sweep_with_real_runs(shapes: Path, backbone_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sweep:
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(launching, "PROGRAM", PROGRAM)
    options = ["--dataset", "folder", "--data-root", shapes, "--backbone", backbone_folder, "--tasks", "4x2"]
    options += ["--out", tmp_path / "out", "--device", "cpu"]

    def invoke(*arguments: object) -> Result:
        return CliRunner().invoke(app, ["sweep", *map(str, (*options, *arguments))])

    return invoke


@pytest.fixture
def sweep(sweep_with_real_runs: Sweep, monkeypatch: pytest.MonkeyPatch) -> Sweep:
    monkeypatch.setattr(launching, "PROGRAM", STAND_IN)
    monkeypatch.setattr(carry_out, "PAUSE", 0.01)
    return sweep_with_real_runs


def test_all_combinations_are_run_and_compared(figures: None, sweep: Sweep, tmp_path: Path) -> None:
    done = sweep("--grid", "method=rs,gss", "--grid", "memory.images=5,10,20", "--seeds", 2)
    assert done.exit_code == 0, done.output
    folder = tmp_path / "out" / "method-memory.images"
    record = json.loads((folder / "results.json").read_text())
    assert list(record["rows"]) == [f"method {m}, memory.images {n}" for m in ("rs", "gss") for n in (5, 10, 20)]
    assert record["reference"] == "method rs, memory.images 5"
    assert len(list((tmp_path / "out" / "runs").glob("*/summary.json"))) == 12
    assert {file.name for file in folder.iterdir()} >= {"table.md", "table.csv", "table.tex", "dependence.svg"}
    for row in record["rows"].values():
        config = load_config(Path(row["runs"]["1"]["folder"]) / "config.yaml", {})
        assert (config.method, config.learner.memory.images) == (row["method"], row["settings"]["memory.images"])
        assert config.seed == 1


def test_sweeps_share_runs_and_go_on(sweep: Sweep, tmp_path: Path) -> None:
    assert sweep("--grid", "memory.images=5,10", "--seeds", 1).exit_code == 0
    again = sweep("--grid", "memory.images=10,20", "--grid", "lr=1e-4", "--seeds", 1, "--dry-run")
    assert "2 runs to do" in again.output, again.output  # another learning rate than the default
    again = sweep("--grid", "memory.images=10,20", "--seeds", 1)
    assert "memory.images 20, seed 0 begins" in again.output
    assert "memory.images 10, seed 0 begins" not in again.output


def test_a_real_sweep_comes_to_what_a_run_comes_to(
    figures: None, runs_in_this_process: None, sweep_with_real_runs: Sweep, tmp_path: Path
) -> None:
    done = sweep_with_real_runs("--grid", "memory.images=4,8", "--seeds", 1, "--json", "--probe-images", 0)
    assert done.exit_code == 0, done.output
    record = json.loads(done.stdout)
    figures = [row["figures"]["0"]["last.map"] for row in record["rows"].values()]
    assert all(0 < figure <= 100 for figure in figures)
    assert (tmp_path / "out" / "memory.images" / "dependence.png").is_file()


def test_what_a_file_chose_for_another_method_is_not_taken_along(tmp_path: Path) -> None:
    file = tmp_path / "base.yaml"
    file.write_text(dump_config(RunConfig(method="cuter", **BASE)))
    sweep = make_sweep(parse_grid(["method=rs,cuter"]), file, {}, 1, [])
    by_hand = [load_config(file, {"method": method}) for method in ("rs", "cuter")]
    assert [job.config for job in plan_jobs(sweep.suite, sweep.request, tmp_path)] == by_hand
    assert by_hand[0].learner.keeper.kind == "whole-images"


def test_backbones_can_be_in_a_grid(tmp_path: Path) -> None:
    sweep = make_sweep(parse_grid(["backbone=toybox,dino-vits16"]), None, BASE, 1, [])
    assert [job.config.backbone for job in plan_jobs(sweep.suite, sweep.request, tmp_path)] == ["toybox", "dino-vits16"]


def test_names_that_differ_in_capitals_alone_are_two_rows() -> None:
    suite = make_sweep(parse_grid(["backbone=/w/ViT,/w/vit"]), None, BASE, 1, []).suite
    assert [suite.row(row.name) for row in suite.rows] == list(suite.rows)
    assert suite.row("BACKBONE /W/VIT").name in {row.name for row in suite.rows}


def test_a_combination_without_sense_is_named_and_can_be_left_out(tmp_path: Path) -> None:
    grid = parse_grid(["method=rs,cuter+fiedler", "regulariser.weight=0.2"])
    sweep = make_sweep(grid, None, BASE, 1, [])
    with pytest.raises(ConfigError, match=r"row method rs, regulariser\.weight 0\.2 of .*: unknown setting"):
        plan_jobs(sweep.suite, sweep.request, tmp_path)
    sweep = make_sweep(grid, None, BASE, 1, ["method rs, regulariser.weight 0.2"])
    (job,) = plan_jobs(sweep.suite, sweep.request, tmp_path)
    assert (job.config.method, sweep.suite.reference) == (
        "cuter+fiedler",
        "method cuter+fiedler, regulariser.weight 0.2",
    )


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ([], "needs at least one --grid"),
        (["lr"], r"must be FIELD=VALUE,VALUE"),
        (["lr="], r"must be FIELD=VALUE,VALUE"),
        (["lr=[1"], "--grid 'lr=\\[1'"),
        (["lr=1", "lr=2"], "given twice"),
        (["seed=0,1"], "--seeds N"),
        (["data-root=a,b"], "all rows learn the same data"),
        (["workers=0,4"], "it decides no result"),
        (["memory_imges=3"], "Did you mean 'memory.images'"),
    ],
)
def test_a_grid_that_cannot_be_read_is_refused(grid: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_grid(grid)


def test_what_is_missing_is_named() -> None:
    with pytest.raises(ConfigError, match="name a --backbone"):
        make_sweep({"lr": [1e-4]}, None, {"dataset": "toybox", "tasks": "5x5"}, 1, [])
    with pytest.raises(ConfigError, match="--seeds N"):
        make_sweep({"lr": [1e-4]}, None, BASE | {"seed": 3}, 1, [])


def test_the_folder_of_the_data_is_a_path_wherever_it_was_named(tmp_path: Path) -> None:
    """Else the table fails when all runs are finished."""
    file = tmp_path / "base.yaml"
    file.write_text("data_root: somewhere\n")
    for config, typed in ((file, BASE), (None, BASE | {"data_root": "somewhere"})):
        assert make_sweep({"lr": [1e-4]}, config, typed, 1, []).request.data_root == Path("somewhere")
    assert make_sweep({"lr": [1e-4]}, None, BASE, 1, []).request.data_root is None
