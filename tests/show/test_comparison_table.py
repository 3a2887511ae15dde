import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.text import Text

from cuter.show.report import comparison_table, read_runs
from cuter.show.run_labels import NamedRun
from made_up_runs import write_run

METHODS = ("finetune", "rs", "cuter")


@pytest.fixture
def three(tmp_path: Path) -> dict[str, dict[str, Any]]:
    """Summaries of three runs by method, whose folders have these names."""
    return {method: write_run(tmp_path / method, method=method, numbers=n) for n, method in enumerate(METHODS)}


def printed(runs: list[NamedRun], width: int = 80, **options: Any) -> str:
    file = io.StringIO()
    Console(file=file, width=width, **options).print(comparison_table(runs))
    return file.getvalue()


def expected(summary: dict[str, Any]) -> list[str]:
    names = [(when, name) for name in ("map", "cf1_mean@0.8", "of1@0.8") for when in ("average", "last")]
    figures = [summary[when][name] for when, name in names]
    return [f"{x:.1f}" for x in (*figures, summary["mean_forgetting"], summary["train_images_per_second"])]


def test_a_line_a_run_with_its_figures(three: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    rows = {line.split()[0]: line.split()[1:] for line in printed(runs_in(tmp_path)).splitlines() if line.split()}
    for method, summary in three.items():
        assert rows[method] == expected(summary), "at a width of 80 no row is broken"
    assert "threshold 0.8" in printed(runs_in(tmp_path))


def test_the_best_is_bold(three: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    columns = list(zip(*(map(float, expected(three[method])) for method in METHODS), strict=True))
    best = [*(max(column) for column in columns[:6]), min(columns[6]), None]  # speed is no merit
    columns_shown = [list(column.cells) for column in comparison_table(runs_in(tmp_path)).columns]
    for method, (name, *cells) in zip(METHODS, zip(*columns_shown, strict=True), strict=True):
        assert str(name) == method
        wins = [float(str(cell)) == winner for cell, winner in zip(cells, best, strict=True)]
        assert [isinstance(cell, Text) and cell.style == "bold" for cell in cells] == wins
    told = printed(runs_in(tmp_path), force_terminal=True, color_system="standard")
    assert sorted(re.findall(r"\x1b\[1m\s*([-\d.]+)\x1b", told)) == sorted(f"{b:.1f}" for b in best[:-1])


def test_an_unfinished_run_says_so(tmp_path: Path) -> None:
    write_run(tmp_path / "rs", finished=False, tasks=1)
    write_run(tmp_path / "[cuter]", method="[bold]")
    told = " ".join(printed(read_runs([tmp_path / "rs", tmp_path / "[cuter]"]), width=200).split())
    assert "rs (unfinished, 1 task tested)" in told
    assert "[bold]" in told, "a name is no markup"


def test_the_command_prints_the_table_and_where_the_page_is(
    three: dict[str, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer.testing import CliRunner

    from cuter.cli import app

    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["report", *METHODS, "--out", "page.html"])
    assert done.exit_code == 0
    for method, summary in three.items():
        assert " ".join([method, *expected(summary)]) in " ".join(done.stderr.split())
    assert "The page is page.html" in done.stderr
    assert done.stdout == ""
    assert json.loads((tmp_path / "rs" / "summary.json").read_text()) == three["rs"]


def runs_in(folder: Path) -> list[NamedRun]:
    return read_runs([folder / method for method in METHODS])


@pytest.mark.parametrize("width", [40, 60])
def test_narrow_terminals_cut_no_digit_and_no_name(
    width: int, three: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    told = printed(runs_in(tmp_path), width)
    assert max(map(len, told.splitlines())) <= width
    for method, summary in three.items():
        beside = [word for line in told.splitlines() if line.split()[:1] == [method] for word in line.split()[1:]]
        assert beside == expected(summary)
    assert "…" not in told
