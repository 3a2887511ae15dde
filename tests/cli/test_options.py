from typing import Any

import pytest
import typer
from typer.testing import CliRunner

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
        ("--memory.powr 3", "Did you mean 'memory.power'"),
        ("--lr", "option --lr needs a value"),
        ("--lr --seed 3", "option --lr needs a value"),
        ("--dataset-options train", "must be NAME=VALUE"),
    ],
)
def test_a_mistake_is_named(app: typer.Typer, words: str, message: str) -> None:
    result = CliRunner().invoke(app, words.split(), env={"COLUMNS": "300"})
    assert result.exit_code == 2
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
