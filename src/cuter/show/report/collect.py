"""What the folder of a run tells, whether the run came to its end or not. Nothing in the folder is changed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from cuter.errors import BatchError, CheckpointError, ConfigError
from cuter.measure.protocol import Summary, TaskResult
from cuter.runs.directory import RunDirectory
from cuter.runs.history import (
    Line,
    Selection,
    localisation_after_tasks,
    memory_after_tasks,
    read_metrics,
    selection_over_steps,
    tested,
)
from cuter.storage import load_state


@dataclass(frozen=True, eq=False)
class RunFacts:
    """One run in plain values.

    config: as it was saved, so that runs of other versions can be shown as well;
    memory: after which task it held how many items of each class;
    localisation: after which task each figure of the probe had which value, and how pure the cut-outs in memory were;
    summary: the results in a few numbers, None if there are none yet;
    notes: what could not be read.
    """

    folder: Path
    config: dict[str, Any]
    environment: dict[str, Any]
    is_finished: bool
    results: tuple[TaskResult, ...]
    summary: Summary | None
    steps: int
    images_per_second: float | None
    memory_items: int | None
    skipped: dict[str, str]
    memory: dict[int, dict[str, int]]
    localisation: dict[str, dict[int, float]]
    selection: Selection | None
    notes: tuple[str, ...]


def collect(folder: Path) -> RunFacts:
    """Read a run; a folder that holds none is a `ConfigError`."""
    directory = RunDirectory.open(folder)
    config = _read_config(folder / "config.yaml")
    lines = read_metrics(directory.metrics) if directory.metrics.is_file() else []
    steps = [line for line in lines if "test" not in line]
    finished = directory.finished
    progress = finished if finished is not None else _progress(directory)
    saved = [line["test"] for _, line in tested(lines)] if finished is None else finished.get("tasks", [])
    results, summary = _results(folder, saved)
    environment, notes = _read_environment(folder / "environment.json")
    return RunFacts(
        folder=folder,
        config=config,
        environment=environment,
        is_finished=finished is not None,
        results=results,
        summary=summary,
        steps=steps[-1]["step"] if steps else 0,
        images_per_second=progress.get("train_images_per_second", _speed(progress)),
        memory_items=steps[-1]["memory"] if steps else None,
        skipped=progress.get("skipped", {}),
        memory=memory_after_tasks(lines),
        localisation=_by_figure(lines),
        selection=selection_over_steps(lines),
        notes=tuple(notes),
    )


def _read_config(file: Path) -> dict[str, Any]:
    try:
        values = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"cannot read the configuration {file}: {error}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"{file} is no configuration of a run: it must hold fields and values")
    return values


def _read_environment(file: Path) -> tuple[dict[str, Any], list[str]]:
    try:
        return (json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}), []
    except (OSError, ValueError) as error:
        return {}, [f"{file.name} cannot be read: {error}"]


def _results(folder: Path, saved: Sequence[dict[str, Any]]) -> tuple[tuple[TaskResult, ...], Summary | None]:
    try:
        results = tuple(TaskResult.from_dict(result) for result in saved)
        return results, Summary.of(results) if results else None
    except (BatchError, CheckpointError) as error:
        raise CheckpointError(f"{folder}: {error}") from None


def _progress(directory: RunDirectory) -> dict[str, Any]:
    """Return how far the newest checkpoint is; a damaged one tells nothing."""
    newest = max(directory.checkpoints.glob("step-*"), default=None)
    if newest is None:
        return {}
    try:
        return load_state(newest, "progress")
    except CheckpointError:
        return {}  # that the checkpoint is damaged is told where its memory is missed


def _speed(progress: dict[str, Any]) -> float | None:
    seconds, images = progress.get("train_seconds"), progress.get("images")
    return images / seconds if seconds and images else None


def _by_figure(lines: Sequence[Line]) -> dict[str, dict[int, float]]:
    """Turn figures by task into tasks by figure."""
    figures: dict[str, dict[int, float]] = {}
    for number, measured in localisation_after_tasks(lines).items():
        for figure, value in measured.items():
            figures.setdefault(figure, {})[number] = value
    purity = {number: line["purity"] for number, line in tested(lines) if "purity" in line}
    return figures | ({"purity": purity} if purity else {})
