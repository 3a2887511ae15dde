"""How far a run is, from what it writes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

TAIL = 1 << 18  # bytes from the end of metrics.jsonl: enough for the test of a task with a thousand classes


@dataclass(frozen=True)
class Position:
    """Where a run stands: steps learned, the task under way, and mAP of the last test."""

    steps: int = 0
    task: int = 0
    last_map: float | None = None


def position(folder: Path) -> Position:
    """Read how far the run in a folder is; what is not there yet is the beginning."""
    found = Position()
    for text in _last_lines(folder / "metrics.jsonl"):
        try:
            line = json.loads(text)
        except ValueError:  # the first line of the tail, or one that is being written
            continue
        if "test" in line:
            scores = line["test"]["scores"]
            found = Position(line["step"], line["test"]["task"] + 1, scores["map"])
        else:
            found = Position(line["step"], line["task"], found.last_map)
    return found


def _last_lines(file: Path) -> list[bytes]:
    try:
        with file.open("rb") as lines:
            lines.seek(max(lines.seek(0, 2) - TAIL, 0))
            return lines.read().splitlines()
    except OSError:
        return []
