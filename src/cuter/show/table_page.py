"""The table of a suite as a page for a browser, with its figures; nothing is loaded from elsewhere."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from cuter.show.figures.draw import CAPTIONS
from cuter.show.report.shell import Section, fill_page
from cuter.show.table_formats import difference_rows, ordering_rows
from cuter.tables import cells
from cuter.tables.columns import COLUMNS
from cuter.tables.results import Results
from cuter.tables.suite import Row


def render(results: Results, record: dict[str, Any], figures: Sequence[Path]) -> str:
    """Return the page: figures are the SVG files of the table."""
    suite = results.suite
    sections = [Section("table", "Figures", "All figures", _table(results))]
    if figures:
        drawn = [{"address": _address(file), "caption": CAPTIONS[file.stem]} for file in figures]
        sections.append(Section("figures", "Pictures", "Pictures", drawn))
    if lines := difference_rows(results, results.ranked):
        head = [f"minus {suite.reference}", *(COLUMNS[column].label for column in results.ranked)]
        data = {"head": head, "lines": lines, "caution": cells.interval_caution(results)}
        sections.append(Section("differences", "Differences", f"Differences to {suite.reference}", data))
    if lines := ordering_rows(results):
        data = {"lines": lines, "caution": cells.verdict_caution()}
        sections.append(Section("orderings", "Orderings", "Does the paper's order hold?", data))
    sections.append(Section("made", "How it was made", "How it was made", _made(record)))
    seeds = "1 seed" if results.seeds == 1 else f"{results.seeds} seeds"
    return fill_page(
        "cuter.show",
        generator="cuter paper",
        source=f"from {len(results.figures)} finished runs",
        title=suite.title[:1].upper() + suite.title[1:],
        headline=_headline(results),
        shared=[f"suite {suite.name}, scale {results.scale}", seeds, *results.backbones],
        sections=sections,
    )


def _headline(results: Results) -> str:
    """Tell which rows are first and second in the first column that has a better."""
    if not results.ranked:
        return results.suite.title
    column = results.ranked[0]
    if not results.places(column):
        finished = [row for row in results.rows if row.kind != "bound" and results.spread(row, column)]
        level = [f"{row.name} {cells.figure(results.spread(row, column), column)}" for row in finished]
        said = f"{COLUMNS[column].label}: {' and '.join(level)}{', all level' if len(level) > 1 else ''}."
        return said if level else "Nothing that could be ranked is finished yet."
    by_place: dict[int, list[str]] = {1: [], 2: []}
    for name, place in results.places(column).items():
        by_place[place].append(f"{name} {cells.figure(results.spread(results.suite.row(name), column), column)}")
    text = f"{COLUMNS[column].label}: {' and '.join(by_place[1])} first"
    return text + (f", then {' and '.join(by_place[2])}." if by_place[2] else ".")


def _table(results: Results) -> dict[str, Any]:
    return {
        "labels": [COLUMNS[column].label for column in results.suite.columns],
        "kinds": [
            [_row(results, row) for row in rows] for _, rows in itertools.groupby(results.rows, lambda row: row.kind)
        ],
        "ranked": bool(results.ranked),
        "explanations": cells.explanations(results),
    }


def _row(results: Results, row: Row) -> dict[str, Any]:
    return {
        "name": row.name,
        "seeds": cells.seeds(results, row),
        "cells": [
            {
                "text": cells.figure(results.spread(row, column), column),
                "place": results.places(column).get(row.name),
                "published": str(results.suite.published(row, column) or ""),
            }
            for column in results.suite.columns
        ],
    }


def _made(record: dict[str, Any]) -> dict[str, Any]:
    def text(settings: dict[str, Any]) -> str:
        return yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)

    rows = [
        {
            "name": name,
            "settings": ", ".join(f"{field} {value}" for field, value in row["settings"].items()),
            "runs": [f"{seed}: {Path(run['folder']).name}" for seed, run in row["runs"].items()],
        }
        for name, row in record["rows"].items()
    ]
    told = {field: record[field] for field in ("date", "version", "command")}
    return told | {"settings": text(record["settings"]), "rows": rows}


def _address(file: Path) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(file.read_bytes()).decode()}"
