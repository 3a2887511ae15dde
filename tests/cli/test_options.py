import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from command import cuter
from cuter.cli.settings_options import taking_settings, typed_settings

CLASS = "cuter.runs.config:RunConfig"


@pytest.fixture
def typed() -> dict[str, Any]:
    return {}


@pytest.fixture
def app(typed: dict[str, Any]) -> typer.Typer:
    app = typer.Typer()

    @app.command(cls=taking_settings(CLASS))
    def command(ctx: typer.Context, names: list[str] = typer.Argument(default=None), out: str = "") -> None:  # noqa: B008
        typed.update(typed_settings(ctx), names=names, out=out)

    return app


def test_parts_are_chosen_by_name_and_their_fields_by_a_dot(app: typer.Typer, typed: dict[str, Any]) -> None:
    words = "one --memory prs --memory.power=0.1 two --out there --lr 1e-3 --strict --class-order 3 --limit-train none"
    assert CliRunner().invoke(app, words.split()).exit_code == 0
    assert typed == {
        "names": ["one", "two"],
        "out": "there",
        "memory": "prs",
        "memory.power": "0.1",
        "lr": "1e-3",
        "strict": True,
        "class_order": "3",
        "limit_train": None,
    }


def test_options_that_may_be_repeated_are_lists_or_pairs(app: typer.Typer, typed: dict[str, Any]) -> None:
    words = "--track tensorboard --track wandb --dataset-options train=train --dataset-options year=2012 --no-strict"
    assert CliRunner().invoke(app, words.split()).exit_code == 0
    assert typed["track"] == ["tensorboard", "wandb"]
    assert typed["dataset_options"] == {"train": "train", "year": "2012"}
    assert typed["strict"] is False


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--memory-images 3", "It is --memory.images now"),
        ("--memory.powr 3", "Did you mean '--memory.power'"),
        ("--lr", "option --lr needs a value"),
        ("--lr --seed 3", "option --lr needs a value"),
        ("--dataset-options train", "must be NAME=VALUE"),
    ],
)
def test_a_mistake_is_named(app: typer.Typer, words: str, message: str) -> None:
    result = CliRunner().invoke(app, words.split(), env={"COLUMNS": "300"})
    assert result.exit_code == 1
    assert message in result.output


def test_help_shows_what_is_common_and_help_all_the_rest(app: typer.Typer) -> None:
    short, everything = (
        CliRunner().invoke(app, [word], env={"COLUMNS": "200"}).stdout for word in ("--help", "--help-all")
    )
    for name in ("--method", "--memory ", "--memory.images", "--tasks", "--device"):
        assert name in short
        assert name in everything
    for name in ("--memory.power", "--keeper.selection.tau1", "--blurry", "--head.word-vectors"):
        assert name not in short
        assert name in everything
    assert "reservoir" in short, "choices come from the registry"
    assert "0.0699999" not in everything
    assert "[ocdm, prs, prs-published]" in everything


@pytest.mark.parametrize("words", ["--import noted --import=noted_too", "--imports noted --imports noted_too"])
def test_modules_of_the_working_folder_are_imported(
    app: typer.Typer, typed: dict[str, Any], words: str, in_folder: Path
) -> None:
    assert CliRunner().invoke(app, words.split()).exit_code == 0
    assert typed["imports"] == ["noted", "noted_too"]
    assert (in_folder / "noted.txt").exists()
    assert (in_folder / "noted_too.txt").exists()


def test_modules_that_a_configuration_names_are_imported(app: typer.Typer, in_folder: Path) -> None:
    """Before options are read: what they add may have some."""
    (in_folder / "config.yaml").write_text("imports: [noted]")
    CliRunner().invoke(app, ["--config", "config.yaml"])
    assert (in_folder / "noted.txt").exists()


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("nowhere_to_be_found", "it is neither installed nor in /"),
        ("broken", "ZeroDivisionError: division by zero"),
        ("lacking", "ModuleNotFoundError: No module named 'something_else'"),
    ],
)
def test_why_a_module_cannot_be_imported(in_folder: Path, module: str, reason: str) -> None:
    done = cuter("run", "--import", module)
    assert done.returncode == 1
    assert f"the module '{module}', which adds parts, cannot be imported: {reason}" in done.stderr


@pytest.mark.parametrize("command", ["run", "sweep", "paper", "methods", "explain", "report", "compare", "evaluate"])
def test_commands_that_import_modules(command: str) -> None:
    assert "--import " in cuter(command, "--help-all" if command in ("run", "sweep") else "--help").stdout


def test_a_run_that_goes_on_imports_what_it_did_before(in_folder: Path) -> None:
    done = cuter("run", "--resume", "runs/one", "--import", "noted")
    assert "drop --import;" in done.stderr


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with modules; two of them leave a file when they are imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("noted", "noted_too"):
        monkeypatch.delitem(sys.modules, name, raising=False)
        (tmp_path / f"{name}.py").write_text(f"open('{name}.txt', 'w').close()")
    (tmp_path / "broken.py").write_text("1 / 0")
    (tmp_path / "lacking.py").write_text("import something_else")
    return tmp_path
