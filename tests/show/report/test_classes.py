import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuter.runs.record import read_record
from cuter.show.report.classes import Precision, balance, precision_table, spread
from cuter.show.run_labels import named
from made_up_runs import write_run


@given(st.integers(0, 300), st.integers(2, 50))
def test_an_even_selection(count: int, most: int) -> None:
    chosen = spread(range(count), most)
    assert len(chosen) == min(count, most)
    assert chosen == sorted(set(chosen))
    if count:
        assert (chosen[0], chosen[-1]) == (0, count - 1)
        gaps = {later - earlier for earlier, later in itertools.pairwise(chosen)}
        assert not gaps or max(gaps) - min(gaps) <= 1


def test_precision_first_and_last(tmp_path: Path) -> None:
    summary = write_run(tmp_path / "run", tasks=3, new_classes=2)
    table = precision_table(named([read_record(tmp_path / "run")]))
    assert table is not None
    assert [(task, [name for name, _ in rows]) for task, rows in table.tasks] == [
        ("task 1", ["class 0", "class 1"]), ("task 2", ["class 2", "class 3"]), ("task 3", ["class 4", "class 5"])
    ]  # fmt: skip
    found = {name: cells[0] for _, rows in table.tasks for name, cells in rows}
    tests = [test["scores"]["ap"] for test in summary["tasks"]]
    assert found["class 0"] == Precision(tests[0][0], tests[2][0])
    assert found["class 3"].change == pytest.approx(tests[2][3] - tests[1][3])
    assert found["class 5"] == Precision(None, tests[2][5])
    assert found["class 5"].change_text == ""


def test_runs_that_learn_classes_in_another_order_have_no_common_tasks(tmp_path: Path) -> None:
    write_run(tmp_path / "a", tasks=2, new_classes=2)
    write_run(tmp_path / "b", tasks=4, new_classes=1, method="cuter")
    table = precision_table(named([read_record(tmp_path / "a"), read_record(tmp_path / "b")]))
    assert table is not None
    assert [task for task, _ in table.tasks] == [""]
    assert [run.label for run in table.runs] == ["rs", "cuter"]


@pytest.mark.parametrize(("change", "text"), [(-0.04, "0.0"), (0.04, "0.0"), (-12.34, "−12.3"), (3.0, "+3.0")])
def test_changes_have_a_sign_unless_they_are_nothing(change: float, text: str) -> None:
    assert Precision(50.0, 50.0 + change).change_text == text


def test_balance_is_told_in_doublings_from_an_even_share(tmp_path: Path) -> None:
    write_run(tmp_path / "run", tasks=1)
    (run,) = named([read_record(tmp_path / "run")])
    run.record.memory.clear()
    run.record.memory.update(
        {1: {"ant": 4, "bee": 4}, 2: {"ant": 1, "bee": 0, "cow": 8, "dog": 32, "eel": 16, "fox": 7, "gnu": 0}}
    )  # the even shares are 4, and 64 / 7
    found = balance(run)
    assert found is not None
    assert found.tasks == (1, 2)
    assert found.ratio == "32 : 0"
    assert {name: [(share.count, share.level) for share in shares] for name, shares in found.rows} == {
        "ant": [(4, 0), (1, -2)],
        "bee": [(4, 0), (0, -2)],
        "cow": [(None, 0), (8, 0)],
        "dog": [(None, 0), (32, 2)],
        "eel": [(None, 0), (16, 1)],
        "fox": [(None, 0), (7, 0)],
        "gnu": [(None, 0), (0, -2)],
    }
    run.record.memory.clear()
    run.record.memory[1] = {"ant": 0}
    assert balance(run) is None, "a memory that never held anything"
