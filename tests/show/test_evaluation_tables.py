"""Tables of an evaluation: every class has its place, also one without a positive."""

import csv
import io

import torch

from cuter.models.evaluation import Evaluation, evaluate_scores
from cuter.show.evaluation_page import evaluation_page, headline
from cuter.show.evaluation_tables import class_table, evaluation_csv, evaluation_markdown, figure_table, notes


def found(**options: object) -> Evaluation:
    labels = torch.tensor([[True, False, False, False], [False, True, False, False], [False, True, False, False]])
    scores = torch.tensor([[0.9, 0.1, 0.2, 0.3], [0.1, 0.2, 0.2, 0.9], [0.2, 0.3, 0.1, 0.4]])
    known = torch.ones_like(labels)
    known[:2, 2] = False
    return evaluate_scores(scores, labels, known, ["cat", "dog", "[red]bird", "ant"], **options)  # type: ignore[arg-type]


def test_classes_without_a_positive_are_last() -> None:
    table = class_table(found())
    assert [row.name for row in table.rows] == ["cat", "dog", "[red]bird", "ant"]
    by_name = {row.name: [cell.text for cell in row.cells[1:]] for row in table.rows}
    assert by_name["ant"][:3] == ["0", "3", "–"]
    assert by_name["ant"][4:7] == ["0.0", "–", "0.0"], "it was predicted once, wrongly"
    assert by_name["[red]bird"][:4] == ["0", "1", "–", "0.50"]
    assert by_name["[red]bird"][4:7] == ["–", "–", "–"], "nothing to be right or wrong about"


def test_tables_say_the_same() -> None:
    one = found(thresholds={"cat": 0.25})
    rows = list(csv.DictReader(io.StringIO(evaluation_csv(one))))
    assert {row["name"]: row["threshold"] for row in rows}["cat"] == "0.25"
    text = evaluation_markdown(one, "a title")
    assert text.startswith("# a title\n")
    for row in (*class_table(one).rows, *figure_table(one).rows):
        assert f"| {' | '.join(cell.text for cell in row.cells)} |" in text
    assert "thresholds of their own for 1 of 4 classes" in headline(one)
    assert notes(one) == []


def test_mistakes_without_a_file_have_no_picture() -> None:
    facts = {"model": "m", "method": "rs", "calibrated_on": 7, "dataset": "d", "split": "test", "limit": None}
    facts |= {"regions": False, "thresholds": None}  # type: ignore[dict-item]
    record = {"title": "<b>", "shared": [], "facts": facts, "command": "c", "date": "today", "version": "1"}
    page = evaluation_page(found(), record, {})
    assert "<img" not in page
    assert page.count("There are some, but their images cannot be shown.") == 2
    assert "&lt;b&gt;" in page
    assert "fitted to 7 images" in page
