"""The page of a table: whole, self-contained, and with the figures of the table."""

import json
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

from cuter.show.suite_tables import suite_headline
from made_up_runs import Page

from .test_tables import made_up

Paper = Callable[..., Result]
FOUR = ["--only", "RS", "--only", "GSS", "--only", "CUTER", "--only", "joint"]


def test_the_page_holds_the_table_and_all_that_belongs_to_it(figures: None, paper: Paper, tmp_path: Path) -> None:
    assert paper("voc", "--seeds", 3, "--jobs", 2, *FOUR).exit_code == 0
    folder = tmp_path / "out" / "voc-small"
    html = (folder / "report.html").read_text(encoding="utf-8")
    record = json.loads((folder / "results.json").read_text())
    page = Page(html)
    table, differences, orderings, runs = page.tables
    assert [line[0] for line in table[1:]] == list(record["rows"])
    mean = record["rows"]["CUTER"]["over_seeds"]["average.map"]["mean"]
    assert next(line for line in table if line[0] == "CUTER")[2].startswith(f"{mean:.1f} ± ")
    assert next(line for line in table if line[0] == "CUTER")[2].endswith("82.07 ± 0.53"), "the published figure"
    assert [line[0] for line in differences[1:]] == ["GSS", "CUTER", "joint"]
    assert len(orderings) == 1 + len(record["orderings"])
    assert [line[0] for line in runs[1:]] == list(record["rows"])
    assert page.headings_of("h2")[1] == "Pictures"
    assert len(page.ids) == len(set(page.ids))
    assert all(address.startswith(("#", "data:")) for address in page.addresses), "nothing from elsewhere"
    assert all(page.alts)
    assert {link[1:] for link in page.addresses if link.startswith("#")} <= set(page.ids)


def test_the_headline_tells_who_is_first() -> None:
    assert suite_headline(made_up()) == "average mAP: CUTER 85.1 ± 1.0 first, then A_B 81.2 ± 2.0."
    nothing = made_up()
    nothing.figures.clear()
    assert "finished yet" in suite_headline(nothing)


def test_the_headline_names_rows_that_are_level() -> None:
    level = made_up(seeds=1)
    for row in ("RS", "A_B", "CUTER"):
        level.figures[row, 0]["average.map"] = 0.0
    assert suite_headline(level) == "average mAP: RS 0.0 and A_B 0.0 and CUTER 0.0, all level."
    del level.figures["RS", 0], level.figures["A_B", 0]
    assert suite_headline(level) == "average mAP: CUTER 0.0."


def test_a_table_of_nothing_finished_is_a_page_nevertheless(paper: Paper, tmp_path: Path) -> None:
    assert paper("voc", "--jobs", 0, "--seeds", 1).exit_code == 0
    page = Page((tmp_path / "out" / "voc-small" / "report.html").read_text(encoding="utf-8"))
    assert page.headings_of("h2") == ["All figures", "How it was made"]
