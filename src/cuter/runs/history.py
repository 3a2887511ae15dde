"""What metrics.jsonl tells of a run, finished or not: of its tests, its memory and its cut-outs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cuter.errors import ConfigError, DataError
from cuter.learn.keepers.cut_outs import OUTCOMES, WHOLE_IMAGE

Line = dict[str, Any]  # of metrics.jsonl: a step, or the test after a task
Array = NDArray[np.float64]

BINS = 60  # of steps, over the whole run


def read_metrics(file: Path) -> list[Line]:
    """Read metrics.jsonl, but for a last line that a killed run left unfinished."""
    if not file.is_file():
        raise ConfigError(f"{file.parent} holds no {file.name}: no run has learned anything there")
    texts = file.read_bytes().splitlines()
    lines = []
    for number, text in enumerate(texts, start=1):
        try:
            lines.append(json.loads(text))
        except ValueError as error:
            if number < len(texts):
                raise DataError(f"{file} is damaged in line {number}: {error}") from None
    return lines


def tested(lines: Sequence[Line]) -> Iterator[tuple[int, Line]]:
    """Return the tests after tasks, numbered from 1."""
    return enumerate((line for line in lines if "test" in line), start=1)


def memory_after_tasks(lines: Sequence[Line]) -> dict[int, dict[str, int]]:
    """Return after which task memory held how many items of all classes so far, also where it held none."""
    held: dict[int, dict[str, int]] = {}
    names: dict[str, int] = {}
    for number, line in tested(lines):
        if "classes" in line:
            names |= dict.fromkeys([*line["test"].get("classes", ()), *line["classes"]], 0)
            held[number] = names | line["classes"]
    return held


def localisation_after_tasks(lines: Sequence[Line]) -> dict[int, dict[str, float]]:
    """Return after which task the model cut how well, where that was measured."""
    return {number: line["localisation"] for number, line in tested(lines) if line.get("localisation")}


@dataclass(frozen=True, eq=False)
class Selection:
    """What became of all cut-outs of a run, and of those in each of some bins of steps.

    starts: how many steps came before each task; edges: of the bins, in steps; shares: (bins, outcomes) in percent of
    a bin's cut-outs, not a number where it has none.
    """

    totals: dict[str, int]
    starts: list[int]
    edges: Array
    shares: Array


def selection_over_steps(lines: Sequence[Line]) -> Selection | None:
    """Count what became of the cut-outs, kept or refused and why; None if there were none."""
    steps = [line for line in lines if "test" not in line]
    counters = [line.get("selection", {}) for line in steps]
    names = list(dict.fromkeys([*OUTCOMES, *(name for counter in counters for name in counter if name != WHOLE_IMAGE)]))
    counts = np.array([[counter.get(name, 0) for name in names] for counter in counters])
    if not counts.any():
        return None
    starts, edges = _bins(steps)
    sums = np.zeros((len(edges) - 1, len(names)))
    np.add.at(sums, np.searchsorted(edges, [line["step"] for line in steps]) - 1, counts)
    of = sums.sum(axis=1, keepdims=True)
    shares = 100 * np.divide(sums, of, out=np.full_like(sums, math.nan), where=of > 0)
    return Selection(dict(zip(names, counts.sum(axis=0).tolist(), strict=True)), starts, edges, shares)


def _bins(steps: Sequence[Line]) -> tuple[list[int], Array]:
    """Return how many steps came before each task, and edges of bins of about one width, none of them in two tasks."""
    starts = list({line["task"]: line["step"] - 1 for line in reversed(steps)}.values())[::-1]
    end = steps[-1]["step"]
    width = max(1, (end - starts[0]) / BINS)
    spans = zip(starts, [*starts[1:], end], strict=True)
    parts = [np.linspace(first, last, max(1, round((last - first) / width)) + 1)[:-1] for first, last in spans]
    return starts, np.append(np.concatenate(parts), end)
