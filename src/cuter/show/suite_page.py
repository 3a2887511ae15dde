"""The table of a suite as a page for a browser, with its figures; nothing is loaded from elsewhere."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from cuter.show import suite_tables as tables
from cuter.show.figures.draw import CAPTIONS
from cuter.show.page_shell import Section, fill_page
from cuter.tables.results import Results


def render(results: Results, record: dict[str, Any], figures: Sequence[Path]) -> str:
    """Return the page; `figures` are the SVG files of the table."""
    suite = results.suite
    shown = {"table": tables.figure_table(results), "class": "summary", "notes": tables.explanations(results)}
    shown |= {"label": "All figures", "explanation": tables.BEST if results.ranked else ""}
    sections = [Section("table", "Figures", "All figures", shown)]
    if figures:
        drawn = [{"address": _address(file), "caption": CAPTIONS[file.stem]} for file in figures]
        sections.append(Section("figures", "Pictures", "Pictures", drawn))
    if found := tables.difference_table(results, results.ranked):
        shown = {"table": found, "class": "", "notes": (), "label": "Differences"}
        shown |= {"explanation": tables.interval_caution(results)}
        heading = f"Differences to {suite.reference}"
        sections.append(Section("differences", "Differences", heading, shown, "table"))
    if found := tables.ordering_table(results):
        shown = {"table": found, "class": "text", "notes": (), "label": "Orderings of the paper"}
        shown |= {"explanation": tables.VERDICTS.replace("*", "")}
        sections.append(Section("orderings", "Orderings", "Does the paper's order hold?", shown, "table"))
    sections.append(Section("made", "How it was made", "How it was made", _made(record), "made_table"))
    seeds = "1 seed" if results.seeds == 1 else f"{results.seeds} seeds"
    return fill_page(
        generator="cuter paper",
        source=f"from {len(results.figures)} finished runs",
        title=suite.title[:1].upper() + suite.title[1:],
        headline=tables.suite_headline(results),
        shared=[f"suite {suite.name}, scale {results.scale}", seeds, *results.backbones],
        sections=sections,
    )


def _made(record: dict[str, Any]) -> dict[str, Any]:
    rows = [
        {
            "name": name,
            "settings": ", ".join(f"{field} {value}" for field, value in row["settings"].items()),
            "runs": [f"{seed}: {Path(run['folder']).name}" for seed, run in row["runs"].items()],
        }
        for name, row in record["rows"].items()
    ]
    settings = yaml.safe_dump(record["settings"], sort_keys=False, allow_unicode=True)
    return {field: record[field] for field in ("date", "version", "command")} | {"settings": settings, "rows": rows}


def _address(file: Path) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(file.read_bytes()).decode()}"
