"""Writes a table and all that it was made of into a folder."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from cuter.settings import flattened
from cuter.show import suite_tables as tables
from cuter.show.figures.draw import CAPTIONS
from cuter.show.page_shell import Section, fill_page
from cuter.storage import write_json, write_text
from cuter.tables.columns import COLUMNS
from cuter.tables.jobs import Job
from cuter.tables.orderings import orderings
from cuter.tables.results import Results
from cuter.tables.version import version

DAY = len("2025-01-31")


def write_results(folder: Path, results: Results, jobs: Sequence[Job], command: str) -> dict[str, Any]:
    """Write table.md, table.csv, table.tex and results.json, and return what is in the last."""
    folder.mkdir(parents=True, exist_ok=True)
    record = describe(results, jobs, command)
    write_text(folder / "table.md", f"{tables.suite_markdown(results)}\n{provenance(record)}")
    write_text(folder / "table.csv", tables.suite_csv(results))
    write_text(folder / "table.tex", tables.suite_latex(results))
    write_json(folder / "results.json", record)
    return record


def write_page(folder: Path, results: Results, record: dict[str, Any], figures: Sequence[Path]) -> None:
    """Write report.html: the table with its figures, which are SVG files; nothing is loaded from elsewhere."""
    write_text(folder / "report.html", _page(results, record, figures))


def provenance(record: dict[str, Any]) -> str:
    """Return by which command, code and when a table was made, as Markdown."""
    runs = {run["folder"]: run for row in record["rows"].values() for run in row["runs"].values()}  # rows share runs
    launches = sorted(launch for run in runs.values() for launch in run["launches"])
    text = made_by(record)
    if launches:
        days = sorted({launch[:DAY] for launch in launches})
        text += f"\nRuns: begun {' to '.join(dict.fromkeys([days[0], days[-1]]))}, cuter {_versions(launches)}.\n"
    if taken := [run for run in runs.values() if run["from_results"]]:
        launches = [launch for run in taken for launch in run["launches"]]
        finished = sum(run["finished"] for run in runs.values())
        by = f", made by cuter {_versions(launches)}" if launches else ""
        text += f"\n{len(taken)} of {finished} finished runs are from the files of a results folder{by}.\n"
    return text


def _versions(launches: Sequence[str]) -> str:
    return ", ".join(sorted({launch.split(" cuter ", 1)[1] for launch in launches}))


def stamp(command: str) -> dict[str, str]:
    """Return by what, when and with which code a table is made."""
    date = datetime.now().astimezone().isoformat(timespec="seconds")
    return {"command": command, "date": date, "version": version()}


def made_by(record: dict[str, Any]) -> str:
    """Return the stamp of a table, as Markdown."""
    return (
        f"## How it was made\n\n```\n{record['command']}\n```\n\nTable: {record['date']}, cuter {record['version']}.\n"
    )


def describe(results: Results, jobs: Sequence[Job], command: str) -> dict[str, Any]:
    """Return all figures by row and seed, and what they depend on."""
    suite = results.suite
    configs = [_settings(job) for job in jobs]
    shared = set(configs[0]).intersection(*configs)  # rows with other parts have other settings
    common = {field: configs[0][field] for field in configs[0] if field in shared and _are_equal(field, configs)}
    return {
        "suite": suite.name,
        "title": suite.title,
        "scale": results.scale,
        "seeds": list(range(results.seeds)),
        **stamp(command),
        "settings": common,
        "definitions": {column: COLUMNS[column].definition for column in suite.columns},
        "reference": suite.reference,
        "rows": {row.name: _describe_row(results, row.name, jobs, common) for row in results.rows},
        "orderings": [asdict(ordering) | {"verdict": ordering.verdict} for ordering in orderings(results)],
        "notes": list(suite.notes),
    }


def _are_equal(field: str, configs: Sequence[Mapping[str, Any]]) -> bool:
    return all(config[field] == configs[0][field] for config in configs)


def _describe_row(results: Results, name: str, jobs: Sequence[Job], common: dict[str, Any]) -> dict[str, Any]:
    suite = results.suite
    row, reference = suite.row(name), suite.row(suite.reference)
    own = [job for job in jobs if job.row.name == name]
    config = _settings(own[0])

    def by_column(find: Any) -> dict[str, Any]:
        found = {column: find(column) for column in suite.columns}
        return {column: None if value is None else vars(value) for column, value in found.items()}

    return {
        "method": row.method,
        "kind": row.kind,
        "settings": {field: config[field] for field in config if field not in common and field != "seed"},
        "figures": {str(job.seed): results.figures.get((name, job.seed)) for job in own},
        "runs": {str(job.seed): _describe_run(job) for job in own},
        "over_seeds": by_column(lambda column: results.spread(row, column)),
        "minus_reference": by_column(lambda column: results.difference(row, reference, column)),
        "published": by_column(lambda column: suite.published(row, column)),
    }


def _settings(job: Job) -> dict[str, Any]:
    """Return all that decides the result; the environment of a run has the rest."""
    return flattened(job.config.dump(deciding=True))


def _describe_run(job: Job) -> dict[str, Any]:
    return {
        "folder": str(job.folder),
        "finished": job.summary is not None,
        "from_results": job.summary is not None and job.summary_here is None,
        "launches": job.launches,
        "environment": (job.record.environment if job.begun or job.kept else None) or None,
    }


def _page(results: Results, record: dict[str, Any], figures: Sequence[Path]) -> str:
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
