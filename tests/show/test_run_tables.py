"""Tables say the numbers, their definitions and a dash where there is none."""

import io

import pytest
from rich.console import Console

from cuter.measure.metrics import FIGURES, Scores
from cuter.measure.protocol import Summary, TaskResult
from cuter.show.run_tables import class_table, summary_markdown, task_table


def two_tasks():
    numbers = dict(zip(FIGURES, (81.25, 70.0, 60.04, 61.0, 62.0, 50.55, 51.0, 52.26), strict=True))
    first = TaskResult(0, "pets", ("cat", "dog"), Scores(numbers, (72.0, 90.5)), 120)
    later = {key: value - 10 for key, value in numbers.items()}
    return [first, TaskResult(1, "[road]", ("cat", "dog", "[bus]"), Scores(later, (51.6, 91.0, None)), 345)]


def rows(table):
    """Return the printed text without its line breaks, and the cells of each row."""
    console = Console(width=200)
    with console.capture() as captured:
        console.print(table)
    text = captured.get()
    return " ".join(text.split()), [
        [cell.strip() for cell in line.strip("│ \n").split("│")] for line in text.splitlines()
    ]


def test_task_table():
    text, cells = rows(task_table(two_tasks()))
    assert "CF1 (mean of F1) @0.8" in text
    assert "OF1 @0.8" in text
    assert FIGURES["map"] in text
    assert ["pets", "120", "2", "81.2", "50.5", "52.3"] in cells
    assert ["[road]", "345", "3", "71.2", "40.5", "42.3"] in cells
    assert ["average", "", "", "76.2", "45.5", "47.3"] in cells


def test_class_table():
    text, cells = rows(class_table(Summary.of(two_tasks())))
    assert "best earlier AP minus the last AP" in text
    assert ["cat", "72.0", "51.6", "20.4"] in cells
    assert ["dog", "90.5", "91.0", "-0.5"] in cells
    assert ["[bus]", "–", "–", "–"] in cells
    assert ["mean", "81.2", "71.2", "9.9"] in cells


def test_summary_markdown():
    lines = summary_markdown(Summary.of(two_tasks())).splitlines()
    assert lines[:2] == ["| figure (percent) | average | last |", "|---|---:|---:|"]
    assert "| mAP, classes without a positive left out | 76.2 | 71.2 |" in lines
    assert "| OF1, threshold 0.8 | 47.3 | 42.3 |" in lines
    assert len(lines) == 2 + len(FIGURES) + 1
    assert lines[-1].endswith("| | 9.9 |")
    assert all(line.count("|") == 4 for line in lines)


@pytest.mark.parametrize("width", [40, 60])
def test_narrow_terminals_cut_no_digit_and_no_name(width):
    console = Console(width=width, file=io.StringIO())
    console.print(task_table(two_tasks()), class_table(Summary.of(two_tasks())))
    words = console.file.getvalue().replace("│", " ").split()
    figures = ["81.2", "50.5", "52.3", "40.5", "42.3", "76.2", "72.0", "51.6", "20.4", "-0.5", "9.9", "120", "345"]
    assert {*figures, "pets", "[road]", "[bus]", "average", "forgetting"} <= set(words)
    assert "…" not in console.file.getvalue()
