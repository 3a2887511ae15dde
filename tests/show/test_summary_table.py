import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuter.runs.record import read_record
from cuter.show.run_labels import NamedRun, named
from cuter.show.run_tables import compared, headline, seed_rows, summary_table
from cuter.show.table import Cell, TableRow
from cuter.tables.columns import COLUMNS, RUN_COLUMNS
from made_up_runs import write_run

FORGETTING = RUN_COLUMNS.index("forgetting")
SPEED = RUN_COLUMNS.index("images/s")


def summary_rows(runs: list[NamedRun]) -> list[TableRow]:
    return list(summary_table(runs).rows)


def figures(row: TableRow) -> tuple[Cell, ...]:
    return row.cells[1:]


def runs_of(folder: Path, *settings: dict[str, Any]) -> list[NamedRun]:
    for number, one in enumerate(settings):
        write_run(folder / str(number), **{"numbers": number, **one})
    return named([read_record(folder / str(number)) for number in range(len(settings))])


def test_the_best_is_the_highest_but_for_forgetting(tmp_path: Path) -> None:
    runs = runs_of(tmp_path, {}, {"method": "cuter"}, {"method": "cutrep"})
    rows = summary_rows(runs)
    for place, column in enumerate(COLUMNS[name] for name in RUN_COLUMNS):
        shown = np.array([float(figures(row)[place].text) for row in rows])
        best = [figures(row)[place].rank == 1 for row in rows]
        if column.better is None:
            assert best == [False] * 3, "speed and items are no merit"
        else:
            wanted = shown.min() if place == FORGETTING else shown.max()
            assert best == (shown == wanted).tolist()


def test_what_looks_equal_is_equally_good(tmp_path: Path) -> None:
    runs = runs_of(
        tmp_path, {"numbers": 3}, {"numbers": 3, "method": "cuter"}, {"method": "cutrep", "numbers": 1}, {"numbers": 3}
    )
    first, second, other, fourth = ([cell.rank == 1 for cell in figures(row)] for row in summary_rows(runs))
    assert first == second == fourth
    for best, others, name in zip(first, other, RUN_COLUMNS, strict=True):
        assert best + others == (COLUMNS[name].better is not None), (
            "those that tie for the best, or the one that is better"
        )


def test_where_all_are_level_none_is_best(tmp_path: Path) -> None:
    runs = runs_of(tmp_path, {"numbers": 3}, {"numbers": 3, "method": "cuter"}, {"method": "cutrep", "numbers": 3})
    for row in summary_rows(runs):
        assert not any(cell.rank for cell in row.cells)
    assert "rs and cutrep, both with" in headline(runs)


def test_a_figure_that_is_shown_as_nothing_has_no_sign() -> None:
    assert COLUMNS["forgetting"].text(-0.04) == COLUMNS["forgetting"].text(0.04) == "0.0"


def test_a_run_alone_is_not_the_best(tmp_path: Path) -> None:
    (row,) = summary_rows(runs_of(tmp_path, {}))
    assert not any(cell.rank for cell in row.cells)
    assert row.cells[0].note == ""


def test_only_runs_with_the_same_tests_compare(tmp_path: Path) -> None:
    same, other, alone, half = runs_of(
        tmp_path, {}, {"method": "cuter"}, {"new_classes": 3, "method": "cutrep"}, {"tasks": 1, "finished": False}
    )
    runs = [same, other, alone, half]
    assert compared(runs) == [same, other]
    rows = summary_rows(runs)
    assert [row.is_apart for row in rows] == [False, False, True, True]
    assert [row.cells[0].note for row in rows] == ["", "", "other classes or test images", "unfinished, 1 task tested"]
    assert not any(cell.rank for row in rows[2:] for cell in row.cells)
    assert compared([alone, half]) == [alone], "of as many, those that are further"


def test_means_over_seeds(tmp_path: Path) -> None:
    runs = runs_of(tmp_path, *({"seed": seed} for seed in range(3)), {"method": "cuter"})
    (row,) = seed_rows(runs)
    assert (row.name, row.cells[0].note) == ("rs", "mean ± standard deviation of 3 seeds")
    summaries = [run.record.summary for run in runs[:3]]
    averages = [summary.average["map"] for summary in summaries if summary]
    assert figures(row)[0].text == f"{np.mean(averages):.1f}"
    assert figures(row)[0].note == f"± {np.std(averages, ddof=1):.1f}"
    assert figures(row)[SPEED].note == "± 0.0"
    assert "Some ran with one seed" in headline(runs)
    assert seed_rows(runs[2:]) == []


def test_the_headline_says_no_more_than_is_known(tmp_path: Path) -> None:
    runs = runs_of(tmp_path, {}, {"method": "cuter"}, {"seed": 1}, {"method": "cuter", "seed": 1}, {"finished": False})
    averages = [run.record.summary.average["map"] for run in runs if run.record.summary]
    means = {"rs": statistics.mean(averages[0:3:2]), "cuter": statistics.mean(averages[1:4:2])}
    first, second = sorted(means, key=lambda method: -means[method])
    assert headline(runs[:4]) == (
        f"Highest mAP averaged over the tasks: {first} with {means[first]:.1f} %, "
        f"then {second} with {means[second]:.1f} %."
    )
    assert headline(runs[:2]).endswith("Each ran with one seed, so small differences may be chance.")
    assert headline(runs[:1]).startswith(f"rs reaches a mAP of {averages[0]:.1f} % averaged over the tasks")


@pytest.mark.parametrize("finished", [True, False])
def test_nothing_to_measure(finished: bool, tmp_path: Path) -> None:
    runs = runs_of(tmp_path, {"finished": finished})
    result = runs[0].record.results[0]
    for measured in (one.scores.figures for one in runs[0].record.results):
        assert isinstance(measured, dict)
        measured.update(dict.fromkeys(measured))
    assert result.scores["map"] is None
    assert headline(runs) == "No class of the tests has an example, so there is nothing to measure."
    assert figures(summary_rows(runs)[0])[0].text == "–"
