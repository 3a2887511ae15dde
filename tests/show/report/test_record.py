import json
import shutil
from pathlib import Path

import pytest

from cuter.runs.record import read_record
from cuter.show.report.provenance import config_text, differing_settings, surroundings
from cuter.show.run_labels import named
from cuter.show.table import Table
from cuter.storage import load_state
from made_up_runs import write_run


def test_a_run_without_its_summary_tells_the_same(real_runs: list[Path], tmp_path: Path) -> None:
    shutil.copytree(real_runs[1], tmp_path / "run")
    whole = read_record(real_runs[1])
    (tmp_path / "run" / "summary.json").unlink()
    half = read_record(tmp_path / "run")
    assert (whole.is_finished, half.is_finished) == (True, False)
    assert whole.summary == half.summary
    for field in ("steps", "memory_items", "skipped", "memory", "localisation"):
        assert getattr(whole, field) == getattr(half, field)
    saved = load_state(max((tmp_path / "run" / "checkpoints").glob("step-*")), "progress")
    assert half.images_per_second == saved["images"] / saved["train_seconds"]
    assert whole.images_per_second == json.loads((real_runs[1] / "summary.json").read_text())["train_images_per_second"]
    assert whole.selection is not None
    assert half.selection is not None
    assert whole.selection.totals == half.selection.totals
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    assert read_record(tmp_path / "run").images_per_second is None


def test_figures_of_the_probe_by_task(tmp_path: Path) -> None:
    write_run(tmp_path / "run", tasks=3)
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    tests = [line for line in lines if "test" in line]
    tests[1]["purity"] = 0.75
    del tests[0]["localisation"]["ap50"]
    tests[2]["localisation"] = {}
    (tmp_path / "run" / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert read_record(tmp_path / "run").localisation == {
        "fiedler": {1: 0.3, 2: 0.31},
        "corloc": {1: 0.5, 2: 0.5},
        "ap50": {2: 0.2},
        "purity": {2: 0.75},
    }


def test_surroundings_that_cannot_be_read_are_noted(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    (tmp_path / "run" / "environment.json").write_text("{")
    facts = read_record(tmp_path / "run")
    assert facts.environment == {}
    assert facts.notes[0].startswith("environment.json cannot be read")


def texts(table: Table) -> dict[str, tuple[str, ...]]:
    return {row.name: tuple(cell.text for cell in row.cells[1:]) for row in table.rows}


def test_how_runs_were_made(tmp_path: Path) -> None:
    write_run(tmp_path / "a", lr=0.5, strict=True)
    write_run(tmp_path / "b", method="cuter", lr=0.5, class_order="x" * 300)
    runs = named([read_record(tmp_path / "a"), read_record(tmp_path / "b")])
    settings = texts(differing_settings(runs))
    assert settings["method"] == ("rs", "cuter")
    assert settings["strict"] == ("yes", "no")
    assert settings["targets.below"] == ("–", "0.7"), "what follows from the method"
    assert "lr" not in settings
    assert len(settings["class_order"][1]) == 90
    assert surroundings(runs).head == ("", "all runs")
    assert texts(surroundings(runs)) == {"torch": ("2.6.0",), "python": ("3.11.7",), "device": ("cpu",)}
    (tmp_path / "b" / "environment.json").write_text('{"python": "3.13.1", "libraries": {"torch": "2.6.0"}}')
    found = surroundings(named([read_record(tmp_path / "a"), read_record(tmp_path / "b")]))
    assert found.head == ("", "rs", "cuter")
    assert texts(found)["python"] == ("3.11.7", "3.13.1")
    assert "method: rs" in config_text(runs[0])


@pytest.mark.parametrize("options", [["--title", "My <title>"], []])
def test_the_command(options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from cuter.cli import app

    write_run(tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["report", "run", *options])
    assert done.exit_code == 0, done.output
    assert "The page is report.html" in done.output
    title = "My &lt;title&gt;" if options else "rs on folder"
    assert f"<title>{title}</title>" in (tmp_path / "report.html").read_text()
    assert CliRunner().invoke(app, ["report"]).exit_code == 1
