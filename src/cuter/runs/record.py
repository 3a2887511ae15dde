"""The one reader of a run: what its folder holds, or a file of a results folder, as one typed record."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from cuter.errors import BatchError, CheckpointError, ConfigError, DataError
from cuter.learn.keepers.cut_outs import OUTCOMES, WHOLE_IMAGE
from cuter.measure.protocol import Summary, TaskResult
from cuter.runs.directory import RunDirectory
from cuter.storage import load_state

Line = dict[str, Any]  # of metrics.jsonl: a step, or the test after a task
Array = NDArray[np.float64]

BINS = 60  # of steps, over the whole run
TAIL = 1 << 18  # bytes from the end of metrics.jsonl: enough for the test of a task with a thousand classes


@dataclass(frozen=True, eq=False)
class RunRecord:
    """A run, finished or not.

    Args:
        folder: Where it is. Of a run from a results file, where it would be.
        config: The configuration as it was saved, so that runs of other versions can be shown as well.
        environment: Versions and hardware; empty where they are not known.
        finished: What summary.json holds; None until the run is finished.
        lines: The lines of metrics.jsonl; of a run from a results file, the tests alone.
        progress: What is known of its speed and of images it skipped: the summary, else the newest checkpoint.
        notes: What could not be read.
    """

    folder: Path = Path()
    config: Mapping[str, Any] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)
    finished: dict[str, Any] | None = None
    lines: Sequence[Line] = ()
    progress: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def is_finished(self) -> bool:
        """Whether the run came to its end."""
        return self.finished is not None

    @property
    def has_checkpoint(self) -> bool:
        """Whether there is a learner to load."""
        return any((self.folder / "checkpoints").glob("step-*"))

    @cached_property
    def tests(self) -> list[Line]:
        """The lines of tests after tasks, with what was measured of the memory and the cut at that time."""
        return [line for line in self.lines if "test" in line]

    @cached_property
    def step_lines(self) -> list[Line]:
        """The lines of steps."""
        return [line for line in self.lines if "test" not in line]

    @cached_property
    def results(self) -> tuple[TaskResult, ...]:
        """The results of the tests after tasks.

        Raises:
            CheckpointError: If what is saved is no result.
        """
        saved = (self.finished or {}).get("tasks") or [line["test"] for line in self.tests]
        try:
            return tuple(map(TaskResult.from_dict, saved))
        except (BatchError, CheckpointError) as error:
            raise CheckpointError(f"{self.folder}: {error}") from None

    @cached_property
    def summary(self) -> Summary | None:
        """The results in a few numbers; None if there are none yet."""
        try:
            return Summary.of(self.results) if self.results else None
        except (BatchError, CheckpointError) as error:
            raise CheckpointError(f"{self.folder}: {error}") from None

    @property
    def steps(self) -> int:
        """How many steps were learned."""
        return int(self.step_lines[-1]["step"]) if self.step_lines else 0

    @property
    def memory_items(self) -> int | None:
        """How many items memory holds; None where that is not known."""
        return self.step_lines[-1]["memory"] if self.step_lines else (self.finished or {}).get("memory_items")

    @property
    def images_per_second(self) -> float | None:
        """Images of the stream learned per second; None where that is not known."""
        seconds, images = self.progress.get("train_seconds"), self.progress.get("images")
        measured = images / seconds if seconds and images else None
        found: float | None = self.progress.get("train_images_per_second", measured)
        return found

    @property
    def skipped(self) -> dict[str, str]:
        """Why images could not be read, by image."""
        return dict(self.progress.get("skipped", {}))

    @cached_property
    def memory(self) -> dict[int, dict[str, int]]:
        """How many items of each class so far memory held after each task (from 1), also where it held none."""
        held: dict[int, dict[str, int]] = {}
        names: dict[str, int] = {}
        for number, line in enumerate(self.tests, start=1):
            if "classes" in line:
                names |= dict.fromkeys([*line["test"].get("classes", ()), *line["classes"]], 0)
                held[number] = names | line["classes"]
        return held

    @cached_property
    def localisation(self) -> dict[str, dict[int, float]]:
        """How well the model cut, and how pure the cut-outs in memory were: by figure, then by task (from 1)."""
        figures: dict[str, dict[int, float]] = {}
        for number, line in enumerate(self.tests, start=1):
            for figure, value in (line.get("localisation") or {}).items():
                figures.setdefault(figure, {})[number] = value
        purity = {number: line["purity"] for number, line in enumerate(self.tests, start=1) if "purity" in line}
        return figures | ({"purity": purity} if purity else {})

    @cached_property
    def selection(self) -> Selection | None:
        """What became of the cut-outs, kept or refused and why; None if there were none."""
        counters = [line.get("selection", {}) for line in self.step_lines]
        found = (name for counter in counters for name in counter if name != WHOLE_IMAGE)
        names = list(dict.fromkeys([*OUTCOMES, *found]))
        counts = np.array([[counter.get(name, 0) for name in names] for counter in counters])
        if not counts.any():
            return None
        starts, edges = _bins(self.step_lines)
        sums = np.zeros((len(edges) - 1, len(names)))
        np.add.at(sums, np.searchsorted(edges, [line["step"] for line in self.step_lines]) - 1, counts)
        total = sums.sum(axis=1, keepdims=True)
        shares = 100 * np.divide(sums, total, out=np.full_like(sums, math.nan), where=total > 0)
        return Selection(dict(zip(names, counts.sum(axis=0).tolist(), strict=True)), starts, edges, shares)


@dataclass(frozen=True, eq=False)
class Selection:
    """What became of all cut-outs of a run, and of those in each of some bins of steps.

    Args:
        totals: Number of cut-outs by outcome.
        starts: How many steps came before each task.
        edges: Edges of the bins, in steps.
        shares: (bins, outcomes) in percent of a bin's cut-outs; NaN where it has none.
    """

    totals: dict[str, int]
    starts: list[int]
    edges: Array
    shares: Array


def _bins(steps: Sequence[Line]) -> tuple[list[int], Array]:
    """Return how many steps came before each task, and edges of bins of about one width, none of them in two tasks."""
    starts = list({line["task"]: line["step"] - 1 for line in reversed(steps)}.values())[::-1]
    end = steps[-1]["step"]
    width = max(1, (end - starts[0]) / BINS)
    spans = zip(starts, [*starts[1:], end], strict=True)
    parts = [np.linspace(first, last, max(1, round((last - first) / width)) + 1)[:-1] for first, last in spans]
    return starts, np.append(np.concatenate(parts), end)


def read_record(folder: Path) -> RunRecord:
    """Read the folder of a run; nothing in it is changed.

    Raises:
        ConfigError: If the folder holds no run, or its configuration cannot be read.
        DataError: If metrics.jsonl is damaged.
        CheckpointError: If summary.json is damaged.
    """
    directory = RunDirectory.open(folder)
    config = _read_config(folder / "config.yaml")
    lines = read_metrics(directory.metrics) if directory.metrics.is_file() else []
    finished = directory.finished
    progress = finished if finished is not None else _checkpoint_progress(directory)
    environment, notes = _read_environment(folder / "environment.json")
    return RunRecord(folder, config, environment, finished, lines, progress, notes)


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


@dataclass(frozen=True)
class Position:
    """How far a run is: steps learned, the task under way, and mAP of the last test."""

    steps: int = 0
    task: int = 0
    last_map: float | None = None


def read_position(folder: Path) -> Position:
    """Read how far a run is, from the end of metrics.jsonl alone: cheap enough to ask every second."""
    found = Position()
    for text in _last_lines(folder / "metrics.jsonl"):
        try:
            line = json.loads(text)
        except ValueError:  # the first line of the tail, or one that is being written
            continue
        if "test" in line:
            found = Position(line["step"], line["test"]["task"] + 1, line["test"]["scores"]["map"])
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


def _read_config(file: Path) -> dict[str, Any]:
    try:
        values = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"cannot read the configuration {file}: {error}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"{file} is no configuration of a run: it must hold fields and values")
    return values


def _read_environment(file: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    try:
        return (json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}), ()
    except (OSError, ValueError) as error:
        return {}, (f"{file.name} cannot be read: {error}",)


def _checkpoint_progress(directory: RunDirectory) -> dict[str, Any]:
    """Return how far the newest checkpoint is; that it is damaged is reported where its memory is looked at."""
    newest = max(directory.checkpoints.glob("step-*"), default=None)
    try:
        return {} if newest is None else load_state(newest, "progress")
    except CheckpointError:
        return {}
