"""Tables in terminals of any width: nothing is cut off, and a log gets them as wide as they are."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table

from cuter.show.narrow import FoldedTable, show

WORDS = st.text("abc é猫", max_size=30)


def table_of(columns: int, names: list[str]) -> FoldedTable:
    table = FoldedTable("class", title="A title of some words", caption="And a caption, which is a little longer.")
    for column in range(columns):
        table.add_column(f"task {column + 1}", justify="right")
    for row, name in enumerate(names):
        table.add_row(name, *(f"{100 * row + column}.25" for column in range(columns)))
    return table


def printed(table: Table, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    console.print(table)
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [30, 40, 60, 80])
def test_every_number_is_whole_and_beside_its_name(width: int) -> None:
    lines = printed(table_of(12, ["cat", "dog", "potted plant"]), width)
    assert max(map(len, lines)) <= width
    for row, name in enumerate(["cat", "dog", "potted plant"]):
        beside = [word for line in lines if name in line for word in line.split()]
        assert {f"{100 * row + column}.25" for column in range(12)} <= set(beside)
    assert [line for line in lines if "task 12" in line], "headers go along"
    text = " ".join(" ".join(lines).split())
    assert text.count("A title of some words") == text.count("which is a little longer.") == 1


def test_a_table_that_fits_is_as_it_was() -> None:
    plain = Table("class", "a", title="title")
    folded = FoldedTable("class", "a", title="title")
    for table in (plain, folded):
        table.add_row("cat", "1.0")
    assert printed(folded, 80) == printed(plain, 80)


def test_a_name_without_room_goes_on_in_the_next_line() -> None:
    name = "".join(f"{number:02}" for number in range(50))
    lines = printed(table_of(3, [name]), 40)
    assert max(map(len, lines)) <= 40
    told = "".join(line.strip("│ ").split("│")[0].strip() for line in lines if line.startswith("│"))
    assert name in told


@given(st.lists(WORDS, min_size=1, max_size=3), st.integers(1, 9), st.integers(40, 100))
def test_no_width_loses_a_digit(names: list[str], columns: int, width: int) -> None:
    words = set(" ".join(printed(table_of(columns, names), width)).replace("│", " ").split())
    assert {f"{100 * row + column}.25" for row in range(len(names)) for column in range(columns)} <= words


def test_a_log_gets_the_table_as_wide_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    table = table_of(30, ["cat"])
    log = io.StringIO()
    show(Console(file=log), table)
    (line,) = [line for line in log.getvalue().splitlines() if "cat" in line]
    assert line.replace("│", " ").split() == ["cat", *(f"{column}.25" for column in range(30))]
    monkeypatch.setenv("COLUMNS", "40")
    log = io.StringIO()
    show(Console(file=log), table)
    assert max(map(len, log.getvalue().splitlines())) <= 40, "if that is asked for"
