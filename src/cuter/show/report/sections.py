"""What each section of the page shows, ready for its template. A section without data is left out."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cuter.show import charts
from cuter.show.page_shell import Section
from cuter.show.report import classes, provenance
from cuter.show.report.checkpoint_view import CheckpointView
from cuter.show.report.predictions import Prediction
from cuter.show.run_labels import NamedRun, value_text
from cuter.show.run_tables import compared, seed_rows, summary_table
from cuter.show.table import Table, number, plain_table

HALF = 450  # pixels, the width of a chart that stands beside another

# Figures of the probe: heading, what it means, factor, decimals.
LOCALISATION = {
    "fiedler": ("Average Fiedler value", "lower: patch graphs are easier to cut", 1, 3),
    "corloc": ("CorLoc, percent", "images where the first region meets a true box", 100, 1),
    "ap50": ("AP50, percent", "average precision of the regions against the true boxes", 100, 1),
    "purity": ("Purity of memory, percent", "cut-outs in memory that show an object of their label", 100, 1),
}


def sections(runs: Sequence[NamedRun], views: Mapping[str, CheckpointView]) -> list[Section]:
    """Return the sections that have something to show, in the order of the page."""
    all_of_them = [
        Section("summary", "Summary", "Summary", _summary(runs)),
        Section("progress", "mAP by task", "mAP after each task", _progress(runs)),
        Section("classes", "Classes", "Average precision of each class at the end", classes.precision_table(runs)),
        Section("balance", "Balance of memory", "Which classes fill memory", _balances(runs)),
        Section("memory", "What memory holds", "What memory holds", _memory(runs, views)),
        Section("cuts", "Test images", "What is cut out of test images", _cuts(runs, views)),
        Section("selection", "Kept and refused", "Which cut-outs were kept, and why others were not", _selection(runs)),
        Section("localisation", "Localisation", "How well the model cuts, task by task", _localisation(runs)),
        Section("made", "How it was made", "How the runs were made", _made(runs, views), "made_runs"),
    ]
    return [section for section in all_of_them if section.data]


def _summary(runs: Sequence[NamedRun]) -> dict[str, Any]:
    table = summary_table(runs)
    table = replace(table, rows=(*table.rows, *seed_rows(runs)))
    return {"table": table, "are_compared": len(compared(runs)) > 1}


def _progress(runs: Sequence[NamedRun]) -> dict[str, Any] | None:
    curves = _curves(runs, {run.label: {r.task + 1: r.scores["map"] for r in run.record.results} for run in runs})
    if not curves:
        return None
    label = "mAP after each task, one line per run"
    sizes = ((charts.WIDE, 380), (charts.NARROW, 300))
    chart = charts.Chart(*(charts.line_chart(curves, width, height, label) for width, height in sizes))
    return {"chart": chart, "table": _task_table(curves, 1)}


def _balances(runs: Sequence[NamedRun]) -> list[classes.Balance]:
    return [found for run in runs if (found := classes.balance(run))]


def _memory(runs: Sequence[NamedRun], views: Mapping[str, CheckpointView]) -> list[tuple[NamedRun, CheckpointView]]:
    found = [(run, views[run.label]) for run in runs if run.label in views]
    has_pictures = any(view.thumbnails for _, view in found)
    return [(run, one) for run, one in found if one.thumbnails or one.no_memory] if has_pictures else []


def _curves(runs: Sequence[NamedRun], points: dict[str, dict[int, Any]]) -> list[charts.Curve]:
    """Return what can be drawn: figures that were measured, and of runs that have some."""
    curves = [charts.Curve(run, {task: v for task, v in points[run.label].items() if v is not None}) for run in runs]
    return [curve for curve in curves if curve.points]


def _task_table(curves: Sequence[charts.Curve], decimals: int) -> Table:
    """Return the numbers of a chart: a row per run, a column per task."""
    tasks = sorted({task for curve in curves for task in curve.points})
    rows = [[curve.run.label, *(number(curve.points.get(task), decimals) for task in tasks)] for curve in curves]
    return plain_table(["after task", *map(str, tasks)], rows)


def _cuts(runs: Sequence[NamedRun], views: Mapping[str, CheckpointView]) -> dict[str, Any] | None:
    """Return the predictions of all runs image by image, and why there are none of some."""
    images: dict[str, list[tuple[NamedRun, Prediction]]] = {}
    shown = [run for run in runs if run.label in views]
    for run in shown:
        for prediction in views[run.label].predictions:
            images.setdefault(f"{value_text(run.record.config.get('dataset'))} {prediction.id}", []).append(
                (run, prediction)
            )
    notes = [(run, views[run.label].no_predictions) for run in shown if views[run.label].no_predictions]
    with_regions = any(
        guess.region for predictions in images.values() for _, prediction in predictions for guess in prediction.guesses
    )
    return {"images": list(images.values()), "notes": notes, "with_regions": with_regions} if images else None


def _selection(runs: Sequence[NamedRun]) -> dict[str, Any] | None:
    chosen = [(run, run.record.selection) for run in runs if run.record.selection is not None]
    if not chosen:
        return None
    names = list(dict.fromkeys(name for _, selection in chosen for name in selection.totals))
    panels = []
    for run, selection in chosen:
        label = f"{run.label}: what became of the cut-outs, in percent, over the steps"
        widths = (charts.WIDE, charts.NARROW)
        panels.append((run, charts.Chart(*(charts.share_chart(selection, names, width, label) for width in widths))))
    rows = [
        (run, [selection.totals.get(name, 0) for name in names], sum(selection.totals.values()))
        for run, selection in chosen
    ]
    return {"names": names, "panels": panels, "rows": rows}


def _localisation(runs: Sequence[NamedRun]) -> list[dict[str, Any]]:
    panels = []
    for figure, (heading, meaning, factor, decimals) in LOCALISATION.items():
        points = {
            run.label: {task: factor * value for task, value in run.record.localisation.get(figure, {}).items()}
            for run in runs
        }
        if curves := _curves(runs, points):
            draw = functools.partial(
                charts.line_chart,
                curves,
                height=230,
                label=f"{heading} after each task",
                decimals=decimals,
                from_zero=True,
            )
            chart = charts.Chart(draw(HALF), draw(charts.NARROW))
            table = _task_table(curves, decimals)
            panels.append({"heading": heading, "meaning": meaning, "chart": chart, "table": table})
    return panels


def _made(runs: Sequence[NamedRun], views: Mapping[str, CheckpointView]) -> dict[str, Any]:
    return {
        "settings": provenance.differing_settings(runs),
        "configs": [(run, provenance.config_text(run)) for run in runs],
        "surroundings": provenance.surroundings(runs),
        "skipped": [(run, *provenance.skipped(run)) for run in runs if run.record.skipped],
        "notes": [*((run.label, note) for run in runs for note in run.record.notes), *_missing(views)],
    }


def _missing(views: Mapping[str, CheckpointView]) -> list[tuple[str, str]]:
    """Return why there are no pictures where whole sections of them are left out."""
    has_memory = any(view.thumbnails for view in views.values())
    has_looks = any(view.predictions for view in views.values())
    notes = []
    for label, view in views.items():
        if view.no_memory and not has_memory:
            notes.append((label, f"its memory is not shown: {view.no_memory}"))
        elif view.no_predictions and not has_looks:
            notes.append((label, f"no test images are shown: {view.no_predictions}"))
    return notes
