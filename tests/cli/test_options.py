from typing import Any

import typer
from typer.testing import CliRunner

from cuter.cli.options import given, with_options_of
from cuter.runs.config import RunConfig


def test_options_that_may_be_repeated_are_lists_or_pairs() -> None:
    app, typed = typer.Typer(), dict[str, Any]()

    @app.command()
    @with_options_of(RunConfig)
    def command(**fields: Any) -> None:
        typed.update(given(fields, RunConfig))

    words = "--track tensorboard --track wandb --dataset-options train=train --dataset-options year=2012 --seed 3"
    assert CliRunner().invoke(app, words.split()).exit_code == 0
    assert typed == {
        "track": ["tensorboard", "wandb"],
        "dataset_options": {"train": "train", "year": "2012"},
        "seed": 3,
    }
    assert "(default: tensorboard)" in CliRunner().invoke(app, ["--help"], env={"COLUMNS": "300"}).stdout
