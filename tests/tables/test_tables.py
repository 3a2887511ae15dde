"""Tables of made-up figures: what is best, what is marked, what is said."""

import csv
import io
from dataclasses import replace

import pytest
from rich.console import Console
from scipy import stats

from cuter.measure.metrics import FIGURES as FIGURE_NAMES
from cuter.measure.metrics import Scores
from cuter.measure.protocol import TaskResult
from cuter.runs.record import RunRecord
from cuter.settings import validated
from cuter.show import suite_tables as tables
from cuter.show.suite_tables import interval_caution
from cuter.tables.columns import read_figures
from cuter.tables.orderings import orderings
from cuter.tables.results import Results
from cuter.tables.suite import Suite

SUITE = validated(
    Suite,
    {
        "name": "made-up",
        "title": "made-up figures",
        "needs": "nothing",
        "columns": ["average.map", "last.map", "items"],
        "reference": "RS",
        "common": {},
        "scales": {"full": {}},
        "rows": [
            {"name": "RS", "method": "rs", "published": ["70.00 ± 1.00", "60.00 ± 1.00"]},
            {"name": "A_B", "method": "gss", "published": ["71.00 ± 1.00", "50.00 ± 1.00"]},
            {
                "name": "CUTER",
                "method": "cuter",
                "kind": "ours",
                "published": ["80.00 ± 1.00"],
                "against": ["RS", "A_B"],
            },
            {"name": "joint", "method": "joint", "kind": "bound"},
        ],
        "notes": ["100 % made up"],
    },
)
FIGURES = {
    "RS": [(80.0, 60.0), (82.0, 62.0), (81.0, 61.0)],
    "A_B": [(79.0, 66.0), (83.0, 67.0), (81.5, 68.0)],
    "CUTER": [(84.0, 61.0), (86.0, 63.0), (85.2, 62.2)],
    "joint": [(99.0, 99.0), (99.0, 99.0), (99.0, 99.0)],
}


def made_up(seeds: int = 3) -> Results:
    figures = {
        (row, seed): {"average.map": average, "last.map": last, "items": 300.0}
        for row, values in FIGURES.items()
        for seed, (average, last) in enumerate(values[:seeds])
    }
    return Results(SUITE, "full", seeds, SUITE.rows, {"lr": 1e-4}, figures, ("dino-vits16",), "VOCdevkit")


def test_latex_marks_the_best_and_the_second_but_no_bound() -> None:
    lines = tables.suite_latex(made_up()).splitlines()
    rows = [line for line in lines if line.endswith("\\\\")]
    assert rows[0] == "Method & average mAP & last mAP & items \\\\"
    assert rows[1] == ("RS & 81.0$\\pm$1.0 {\\scriptsize(70.00)} & 61.0$\\pm$1.0 {\\scriptsize(60.00)} & 300 \\\\")
    assert rows[2].startswith("A\\_B & \\underline{81.2$\\pm$2.0} {\\scriptsize(71.00)} & \\textbf{67.0$\\pm$1.0}")
    assert rows[3].startswith("CUTER & \\textbf{85.1$\\pm$1.0} {\\scriptsize(80.00)} & \\underline{62.1$\\pm$1.0} &")
    assert rows[4] == "joint & 99.0$\\pm$0.0 & 99.0$\\pm$0.0 & 300 \\\\"
    assert [line for line in lines if "rule" in line] == [
        "\\toprule", "\\midrule", "\\midrule", "\\midrule", "\\bottomrule",
    ]  # fmt: skip
    assert lines.count("\\begin{tabular}{lrrr}") == lines.count("\\end{tabular}") == 1


def test_markdown_has_figures_differences_and_orderings() -> None:
    text = tables.suite_markdown(made_up())
    assert "| CUTER | 3 | **85.1 ± 1.0** (80.00) | <u>62.1 ± 1.0</u> | 300 |" in text
    assert "| CUTER | +4.1 [+3.8, +4.4] | +1.1 [+0.8, +1.4] |" in text
    assert "mAP, classes without a positive left out" in text
    assert "by Student's t: with 3 seeds 4.3 standard errors to each side" in text
    assert "| average mAP | CUTER > RS by 10.00 | +4.1 [+3.8, +4.4] | holds |" in text
    assert "| average mAP | A_B > RS by 1.00, within its own noise | +0.2 [-2.4, +2.8] | not separable |" in text
    assert "| last mAP | A_B < RS by 10.00 | +6.0 [+3.5, +8.5] | does not hold |" in text
    assert "- 100 % made up" in text
    assert "- Set for all rows in place of the suite's: lr 0.0001." in text
    assert "- Backbone dino-vits16; data VOCdevkit." in text, "tables of two backbones can be told apart"


def test_an_ordering_needs_published_figures_of_both_rows() -> None:
    found = [(ordering.row, ordering.other, ordering.column) for ordering in orderings(made_up())]
    assert ("CUTER", "RS", "last.map") not in found
    assert ("CUTER", "A_B", "average.map") in found
    assert len(found) == 4


def test_a_baseline_that_is_compared_with_nobody_has_no_ordering() -> None:
    """As in the suite published: RS as published is not to be compared with RS, whose published figures are its own."""
    rows = [row.model_copy(update={"against": ()}) if row.name == "A_B" else row for row in SUITE.rows]
    results = replace(made_up(), suite=SUITE.model_copy(update={"rows": tuple(rows)}), rows=tuple(rows))
    assert {ordering.row for ordering in orderings(results)} == {"CUTER"}


def test_one_seed_gives_the_difference_and_says_what_it_cannot() -> None:
    text = tables.suite_markdown(made_up(seeds=1))
    assert "| average mAP | CUTER > RS by 10.00 | +4.0 | one seed cannot tell |" in text
    assert "±" not in text.split("## Differences")[0].split("\n\n")[2]  # the table itself
    assert "intervals are given from two seeds on" in interval_caution(made_up(seeds=1))
    assert "from two seeds on" not in interval_caution(made_up(seeds=2))


def test_cautions_speak_of_the_seeds_that_are_finished() -> None:
    asked_for_five = replace(made_up(seeds=3), seeds=5)
    assert "with 3 seeds 4.3 standard errors" in interval_caution(asked_for_five)
    del asked_for_five.figures["A_B", 2]
    assert "with 2 seeds 12.7 standard errors" in interval_caution(asked_for_five), "one row has two"
    del asked_for_five.figures["A_B", 1]
    assert "intervals are given from two seeds on" in interval_caution(asked_for_five), "one row has one"
    assert "with 3 seeds 4.3 standard errors" in interval_caution(asked_for_five), "the others have three"


@pytest.mark.parametrize("apart", [0.5, 1.4, 1.5, 1.6, 3.0])
def test_a_published_ordering_is_clear_where_welch_says_so(apart: float) -> None:
    """By the textbook: t over the root of the summed squared errors, degrees of freedom of Welch and Satterthwaite."""
    rows = [
        {"name": "RS", "method": "rs", "published": ["70.00 ± 1.25"]},
        {"name": "GSS", "method": "gss", "published": [f"{70 + apart:.2f} ± 0.25"]},
    ]
    suite = validated(Suite, SUITE.model_dump() | {"rows": rows})
    (found,) = orderings(replace(made_up(), suite=suite, rows=suite.rows, figures={}))
    errors = [1.25**2 / 5, 0.25**2 / 5]
    freedom = sum(errors) ** 2 / sum(error**2 / 4 for error in errors)
    assert found.published_p == pytest.approx(2 * stats.t.sf(apart / sum(errors) ** 0.5, freedom))
    assert found.clear is bool(apart > stats.t.ppf(0.975, freedom) * sum(errors) ** 0.5)


def test_a_comparison_rests_on_the_seeds_that_both_have() -> None:
    results = made_up(seeds=3)
    del results.figures["RS", 0], results.figures["A_B", 1]
    assert min(results.compared_seeds) == 1, "RS and A_B share seed 2 alone"
    assert results.difference(SUITE.row("A_B"), SUITE.row("RS"), "last.map").seeds == 1


def test_nothing_is_said_of_the_best_where_no_column_has_one() -> None:
    unranked = replace(made_up(), suite=SUITE.model_copy(update={"columns": ("items",)}))
    assert "Best in bold" in tables.suite_markdown(made_up())
    assert "Best in bold" not in tables.suite_markdown(unranked)


def test_speeds_name_the_machines_they_were_measured_on() -> None:
    one = replace(made_up(), surroundings=("cpu, 2 of 2 cores, Linux",))
    assert "Speeds were measured on cpu, 2 of 2 cores, Linux." in tables.suite_markdown(one)
    two = replace(one, surroundings=(*one.surroundings, "Some GPU, 8 of 8 cores, Linux"))
    assert "and on Some GPU, 8 of 8 cores, Linux, so that they can't be compared." in tables.suite_markdown(two)


def test_rows_that_look_the_same_are_level() -> None:
    results = made_up(seeds=1)
    results.figures["RS", 0]["average.map"] = 84.04
    assert results.places("average.map") == {"RS": 1, "CUTER": 1, "A_B": 2}
    assert results.places("items") == {}


def test_where_all_are_level_none_is_best() -> None:
    """As when nothing reaches the threshold and all figures are 0.0."""
    results = made_up()
    for row in FIGURES:
        for seed in range(3):
            results.figures[row, seed]["last.map"] = 0.04 * (seed == 1)
    assert results.places("last.map") == {}
    shown = tables.suite_markdown(results).split("## Differences")[0]
    assert ["0.0 ± 0.0" in line.split("|")[4] for line in shown.splitlines() if line.startswith("| CUTER")] == [True]
    assert "**0.0" not in shown
    assert "<u>0.0" not in shown
    assert "**85.1 ± 1.0**" in shown, "the other column has a best"
    written = tables.suite_latex(results)
    assert "{0.0" not in written
    assert "\\textbf{85.1" in written
    assert not any(cell.rank for row in tables.figure_table(results).rows for cell in row.cells[3:])


def test_a_row_alone_is_not_the_best() -> None:
    results = made_up()
    for row, seed in list(results.figures):
        if row in ("RS", "A_B"):
            del results.figures[row, seed]
    assert results.places("average.map") == {}, "a bound takes no part"


def test_comma_separated_values_are_not_rounded() -> None:
    rows = list(csv.DictReader(io.StringIO(tables.suite_csv(made_up()))))
    assert len(rows) == 12
    cuter = next(row for row in rows if (row["row"], row["column"]) == ("CUTER", "average.map"))
    assert float(cuter["mean"]) == pytest.approx(255.2 / 3)
    assert float(cuter["difference_low"]) == pytest.approx(3.780, abs=1e-3)
    assert cuter["published_std"] == "1.0"


def test_the_terminal_shows_published_figures_below_ours() -> None:
    console = Console(width=80, record=True, file=io.StringIO())
    for table in tables.suite_terminal(made_up()):
        console.print(table)
    lines = console.export_text().splitlines()
    at = next(number for number, line in enumerate(lines) if line.strip().startswith("CUTER"))
    assert lines[at].split() == ["CUTER", "3", "85.1±1.0", "62.1±1.0", "300"]
    assert lines[at + 1].split() == ["80.0±1.0"]
    assert any("does not hold" in line for line in lines)


@pytest.mark.parametrize("width", [40, 60])
def test_narrow_terminals_cut_no_digit_and_no_name(width: int) -> None:
    text = {}
    for letters in (width, 300):
        console = Console(width=letters, record=True, file=io.StringIO())
        for table in tables.suite_terminal(made_up()):
            console.print(table)
        text[letters] = console.export_text()
    assert max(map(len, text[width].splitlines())) <= width
    told = {word for word in text[300].split() if any(letter.isalnum() for letter in word)}
    assert {"85.1±1.0", "80.0±1.0", "+4.1", "CUTER"} <= told
    assert told <= set(text[width].split())
    assert "…" not in text[width]


def test_figures_with_regions_are_read_where_a_run_has_them() -> None:
    columns = ("last.map", "regions.last.map")
    scores = Scores(dict.fromkeys(FIGURE_NAMES, 70.0), (70.0,))
    whole = TaskResult(0, "task", ("cat",), scores, images=3)
    record = RunRecord(lines=[{"test": whole.as_dict()}])
    assert read_figures(record, columns) == {"last.map": 70.0, "regions.last.map": None}
    both = replace(whole, region_scores=Scores(dict.fromkeys(FIGURE_NAMES, 71.0), (71.0,)))
    record = RunRecord(lines=[{"test": both.as_dict()}])
    assert read_figures(record, columns) == {"last.map": 70.0, "regions.last.map": 71.0}
