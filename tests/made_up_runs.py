"""Folders of runs with made-up numbers, and a reader of the page that is made of them."""

import json
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from cuter.measure.metrics import FIGURES, Scores
from cuter.measure.protocol import Summary, TaskResult

CONFIG = {
    "method": "rs",
    "keeper": "whole-images",
    "memory": "reservoir",
    "memory.images": 30,
    "seed": 0,
    "dataset": "folder",
    "data_root": "/nowhere",
    "backbone": "/nowhere/tiny",
    "tasks": "2x2",
}
VOID = {"meta", "br", "img", "link", "input", "hr", "line", "circle", "path"}  # the last three close themselves


def results_of(tasks: int, new_classes: int, rng: np.random.Generator) -> list[TaskResult]:
    results = []
    for task in range(tasks):
        names = tuple(f"class {number}" for number in range((task + 1) * new_classes))
        figures = {figure: float(rng.uniform(20, 99)) for figure in FIGURES}
        ap = tuple(rng.uniform(20, 99, len(names)).tolist())
        results.append(TaskResult(task, f"task {task + 1}", names, Scores(figures, ap), images=10 * (task + 1)))
    return results


def write_run(
    folder: Path,
    tasks: int = 2,
    new_classes: int = 2,
    *,
    finished: bool = True,
    cutouts: bool = False,
    numbers: int = 0,
    **settings: Any,
) -> dict[str, Any]:
    """Write a run without a checkpoint and return its summary; `numbers` is the seed of its figures."""
    results = results_of(tasks, new_classes, np.random.default_rng([numbers, 7]))
    folder.mkdir(parents=True)
    config = CONFIG | settings
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False, allow_unicode=True), encoding="utf-8")
    environment = {"python": "3.11.7", "libraries": {"torch": "2.6.0"}, "device": "cpu"}
    (folder / "environment.json").write_text(json.dumps(environment))
    lines: list[dict[str, Any]] = []
    for number, result in enumerate(results):
        for step in range(5 * number + 1, 5 * number + 6):
            counts = {"kept": 3, "no region": 1, "another label": 0, "unsure": step, "two labels": 0, "whole image": 2}
            line = {"step": step, "task": number, "loss": 0.5, "memory": 20 + step}
            lines.append(line | ({"selection": counts} if cutouts else {}))
        held = {name: 4 + 3 * place % 7 for place, name in enumerate(result.classes)}
        localisation = {"fiedler": 0.3 + number / 100, "corloc": 0.5, "ap50": 0.2}
        lines.append({"step": step, "test": result.as_dict(), "localisation": localisation, "classes": held})
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    summary = Summary.of(results).as_dict() | {
        "config": config,
        "memory_items": lines[-2]["memory"],
        "skipped": {},
        "steps": step,
        "images": 60,
        "train_seconds": 8.0,
        "train_images_per_second": 7.5,
    }
    if finished:
        (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    return summary


class Page(HTMLParser):
    """What is in a page: tables as rows of texts, texts of headings and notes, ids, addresses, unclosed elements."""

    def __init__(self, html: str):
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.headings: list[tuple[str, str]] = []
        self.notes: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.alts: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.bold: list[str] = []
        self._open: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.feed(html)
        self.close()
        assert not self._open, f"not closed: {[name for name, _, _ in self._open]}"

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, dict(attrs))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, dict(attrs))
        if tag not in VOID or tag == "path":
            self._open.append((tag, dict(attrs), []))

    def _note(self, tag: str, attributes: dict[str, str | None]) -> None:
        self.elements.append((tag, attributes))
        self.ids += [str(attributes["id"])] if "id" in attributes else []
        self.addresses += [str(attributes[name]) for name in ("src", "href") if name in attributes]
        self.alts += [str(attributes["alt"])] if "alt" in attributes else []
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])

    def handle_data(self, data: str) -> None:
        for _, _, texts in self._open:
            texts.append(data)

    def handle_endtag(self, tag: str) -> None:
        name, attributes, texts = self._open.pop()
        assert name == tag, f"{name} is closed by {tag}"
        text = " ".join("".join(texts).split())
        if tag in ("td", "th"):
            self.tables[-1][-1].append(text)
        elif tag in ("h1", "h2", "h3", "h4"):
            self.headings.append((tag, text))
        elif attributes.get("class") == "note":
            self.notes.append(text)
        elif tag == "strong":
            self.bold.append(text)

    def headings_of(self, level: str) -> list[str]:
        return [text for tag, text in self.headings if tag == level]


def report_of(folders: Sequence[Path], out: Path, title: str | None = None) -> tuple[Page, str]:
    from cuter.show.report import write_report

    html = write_report(folders, out, title).read_text(encoding="utf-8")
    return Page(html), html
