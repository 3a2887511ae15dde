"""The command `cuter paper` on tiny images, also with runs that take no time."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from command import cuter
from cuter.cli import app
from cuter.show import make_table as making
from cuter.show import table_display as display
from cuter.show.figures import draw_figures
from cuter.tables.execute import execute as carry_out
from cuter.tables.execute import launching
from cuter.tables.execute.local import ThisMachine
from cuter.tables.jobs import Job

Paper = Callable[..., Result]
STAND_IN = (str(Path(__file__).with_name("stand_in.py")),)
PROGRAM = (str(Path(__file__).with_name("program.py")),)
SETTINGS = ["dataset=folder", "tasks=4x2", "probe_images=0", "memory.images=10", "limit_train=null", "limit_test=null"]


@pytest.fixture(autouse=True)
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the figures of a table, which take longer than all else; tests of them ask for `figures`."""
    monkeypatch.setattr(making, "draw_figures", lambda *_: [])


@pytest.fixture
def figures(no_figures: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw them after all."""
    monkeypatch.setattr(making, "draw_figures", draw_figures)


class Ended:
    """A run that came to its end while it was started."""

    def __init__(self, code: int):
        self.code = code

    def poll(self) -> int:
        return self.code

    def ask_to_stop(self) -> None: ...


@pytest.fixture
def runs_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the commands of runs here, one after the other, which saves each a start of Python and torch."""

    def start(_: ThisMachine, job: Job, *__: Any) -> Ended:
        command = launching.command_of(job.folder, job.file("yaml"), launching.PROGRAM)
        done = cuter(*command[1 + len(launching.PROGRAM) :])
        job.file("log").write_text(done.stdout + done.stderr)
        return Ended(done.returncode)

    monkeypatch.setattr(ThisMachine, "start", start)


@pytest.fixture
def paper_with_real_runs(shapes: Path, backbone_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paper:
    """The command in this process, its table made one of the rendered shapes."""
    given = {"--data-root": shapes, "--backbone": backbone_folder, "--out": tmp_path / "out", "--device": "cpu"}
    options = [str(part) for pair in given.items() for part in pair]
    options += ["--scale", "small", *(part for setting in SETTINGS for part in ("--set", setting))]
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(launching, "PROGRAM", PROGRAM)

    def invoke(*arguments: object) -> Result:
        return CliRunner().invoke(app, ["paper", *map(str, arguments), *options])

    return invoke


@pytest.fixture
def paper(paper_with_real_runs: Paper, monkeypatch: pytest.MonkeyPatch) -> Paper:
    """The same with a stand-in for the runs."""
    monkeypatch.setattr(launching, "PROGRAM", STAND_IN)
    monkeypatch.setattr(carry_out, "PAUSE", 0.01)
    monkeypatch.setattr(display, "LOOK", 0.0)
    return paper_with_real_runs


def table_of(out: Path) -> str:
    """The table of voc but for its command, code and date."""
    return (out / "voc-small" / "table.md").read_text().split("## How it was made")[0]
