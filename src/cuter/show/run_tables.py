"""Results as tables, for the terminal and for Markdown."""

from collections.abc import Sequence

from rich.text import Text

from cuter.measure.metrics import FIGURES
from cuter.measure.protocol import Summary, TaskResult
from cuter.show.narrow import FoldedTable

# The definitions that the CUTER paper reports.
SHOWN = {"map": "mAP", "cf1_mean@0.8": "CF1 (mean of F1) @0.8", "of1@0.8": "OF1 @0.8"}

WITH_REGIONS = "mAP with regions"


def task_table(results: Sequence[TaskResult]) -> FoldedTable:
    """Show one row a task and the average over the tasks."""
    summary = Summary.of(results)
    table = FoldedTable(
        title="After each task, over all classes seen so far",
        caption="In percent. " + "; ".join(FIGURES[figure] for figure in SHOWN) + ".",
    )
    table.add_column("task")
    regions = summary.with_regions
    shown = [*SHOWN.values(), *([WITH_REGIONS] if regions else [])]
    for header in ("images", "classes", *shown):
        table.add_column(header, justify="right")
    for result in summary.tasks:
        figures = [_number(result.scores[figure]) for figure in SHOWN]
        figures += [_number(result.region_scores["map"])] if regions and result.region_scores else []
        # Text, because a name with brackets must not be read as markup.
        table.add_row(Text(result.name), str(result.images), str(len(result.classes)), *figures)
    table.add_section()
    means = [_number(summary.average[figure]) for figure in SHOWN]
    table.add_row("average", "", "", *means, *([_number(regions.average["map"])] if regions else []))
    return table


def class_table(summary: Summary) -> FoldedTable:
    """Show the average precision of each class after each task, and what was forgotten."""
    table = FoldedTable(
        title="AP of each class after each task",
        caption="In percent. Forgetting: best earlier AP minus the last AP.",
    )
    table.add_column("class")
    for result in summary.tasks:
        table.add_column(Text(result.name), justify="right")
    table.add_column("forgetting", justify="right")
    for name, forgotten in summary.forgetting.items():
        history = [_number(result.ap.get(name)) for result in summary.tasks]
        table.add_row(Text(name), *history, _number(forgotten))
    table.add_section()
    table.add_row(
        "mean", *(_number(result.scores["map"]) for result in summary.tasks), _number(summary.mean_forgetting)
    )
    return table


def summary_markdown(summary: Summary) -> str:
    """Return every figure with its definition, averaged over the tasks and after the last one, as Markdown."""
    average, last, regions = summary.average, summary.last, summary.with_regions
    rows = [
        "| figure (percent) | average | last |",
        "|---|---:|---:|",
        *(f"| {text} | {_number(average[key])} | {_number(last[key])} |" for key, text in FIGURES.items()),
        *([] if regions is None else _region_rows(regions)),
        f"| forgetting, mean over classes of best earlier AP minus last AP | | {_number(summary.mean_forgetting)} |",
    ]
    return "\n".join(rows) + "\n"


def _region_rows(summary: Summary) -> list[str]:
    average, last = summary.average, summary.last
    return [
        f"| {text}, with regions | {_number(average[key])} | {_number(last[key])} |" for key, text in FIGURES.items()
    ]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"
