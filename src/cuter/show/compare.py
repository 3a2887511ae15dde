"""What tells runs apart: settings, figures, average precision by class, memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from cuter.errors import ConfigError, CuterError
from cuter.learn.learner import Learner
from cuter.measure.metrics import FIGURES
from cuter.runs.config import field_names, flat_settings
from cuter.settings import Role
from cuter.show.report.checkpoint_view import NO_CHECKPOINT
from cuter.show.report.classes import arrivals
from cuter.show.report.provenance import flat
from cuter.show.run_labels import NamedRun, full_settings, read_runs, varying
from cuter.show.run_tables import TERMINAL_COLUMNS, measured_on
from cuter.tables.columns import FORGETTING, SHOWN, SPEED, Figures, read_figures

MOST_NAMES = 20  # in a sentence

DEFINITIONS = {figure: FIGURES[figure] for figure in SHOWN} | {
    "average": "of the tests after each task, over all classes seen so far",
    "last": "of the test after the last task",
    "forgetting": FORGETTING,
    SPEED: "images of the stream learned in a second",
}


@dataclass(frozen=True)
class ClassPrecision:
    """Average precision of a class at the end, in percent, its difference to the first run, and its task; by run."""

    name: str
    task: dict[str, str]
    ap: dict[str, float | None]
    difference: dict[str, float | None]

    @property
    def largest(self) -> float | None:
        """The largest difference, without its sign; None if there is none."""
        return max((abs(value) for value in self.difference.values() if value is not None), default=None)


@dataclass(frozen=True)
class Obstacle:
    """Why a run does not compare with the first: not its averages and forgetting, or not its last test either.

    Args:
        reason: In words.
        also_last: Whether the last test does not compare either.
        only_here: Classes that only its last test had.
        only_there: Classes that only the last test of the first run had.
    """

    reason: str
    also_last: bool
    only_here: tuple[str, ...] = ()
    only_there: tuple[str, ...] = ()


@dataclass(frozen=True)
class MemoryContent:
    """What the memory of a run holds.

    Args:
        items: After its last step.
        cut_outs: From its newest checkpoint, as all that follows.
        whole_images: Items that are no cut-outs.
        images: Images that the items come from.
        shared: How many of these are in the memory of the reference, too.
        note: Why something is not known, or how it is to be read.
    """

    items: int | None
    cut_outs: int | None = None
    whole_images: int | None = None
    images: int | None = None
    shared: int | None = None
    note: str = ""


@dataclass(frozen=True)
class MemoryComparison:
    """The memories of runs, by their labels.

    Args:
        runs: What each holds.
        reference: The first run whose images are known.
        counted: Runs that hold something and noted of which classes.
        classes: Their items of each class after the last test, where they differ, the largest difference first; None
            is a class that a run never met.
    """

    runs: dict[str, MemoryContent]
    reference: str | None
    counted: tuple[str, ...]
    classes: dict[str, dict[str, int | None]]


@dataclass(frozen=True)
class Comparison:
    """What tells runs apart. All that is by run is by its label; differences are to the first run.

    Args:
        runs: The runs.
        settings: Those that are not the same for all.
        surroundings: Versions and hardware that are not the same for all.
        figures: By run and column.
        differences: By run and column.
        obstacles: Why runs do not compare with the first.
        classes: Of runs with the same last test as the first, the largest difference first.
        memory: What memories hold.
        notes: What else a reader of the figures must know.
    """

    runs: list[NamedRun]
    settings: dict[str, dict[str, Any]]
    surroundings: dict[str, dict[str, Any]]
    figures: dict[str, Figures]
    differences: dict[str, Figures]
    obstacles: dict[str, Obstacle]
    classes: list[ClassPrecision]
    memory: MemoryComparison
    notes: dict[str, list[str]]

    @property
    def compared(self) -> list[NamedRun]:
        """The first run, and those whose figures all mean the same as its own."""
        return [run for run in self.runs if run.label not in self.obstacles]

    def as_dict(self) -> dict[str, Any]:
        """Return all of it ready for JSON."""
        return {
            "runs": {run.label: _identity(run) for run in self.runs},
            "settings": self.settings,
            "surroundings": self.surroundings,
            "metrics": {"figures": self.figures, "differences": self.differences, "definitions": DEFINITIONS},
            "not_compared": {label: asdict(obstacle) for label, obstacle in self.obstacles.items()},
            "classes": [asdict(one) for one in self.classes],
            "memory": asdict(self.memory),
            "notes": self.notes,
        }


def compare_runs(folders: Sequence[Path]) -> Comparison:
    """Read two runs or more, finished or not, and find what tells them apart; nothing in their folders changes."""
    runs = read_runs(folders)
    if len(runs) < 2:
        once = " (a folder that is given twice counts once)" if len(folders) > len(runs) else ""
        raise ConfigError(f"two runs or more are needed to compare, not {len(runs)}{once}")
    first, *others = runs
    found = {run.label: read_figures(run.record, TERMINAL_COLUMNS) for run in runs}
    obstacles = {run.label: one for run in others if (one := _obstacle(first, run))}
    alike = [run for run in others if run.label not in obstacles or not obstacles[run.label].also_last]
    return Comparison(
        runs=runs,
        settings=_differing({run.label: full_settings(run.record.config) for run in runs}),
        surroundings=_differing({run.label: flat(run.record.environment) for run in runs if run.record.environment}),
        figures=found,
        differences={
            run.label: _differences(found[first.label], found[run.label], obstacles.get(run.label)) for run in others
        },
        obstacles=obstacles,
        classes=_precision_by_class(first, alike),
        memory=_compare_memory(runs),
        notes={run.label: notes for run in runs if (notes := _notes(run, first, run in alike))},
    )


def listed(names: Sequence[str]) -> str:
    """Name some, and count the others."""
    said = ", ".join(names[:MOST_NAMES])
    return said if len(names) <= MOST_NAMES else f"{said} and {len(names) - MOST_NAMES:,} more"


def _identity(run: NamedRun) -> dict[str, Any]:
    record = run.record
    return {"folder": str(record.folder), "is_finished": record.is_finished, "tasks_tested": len(record.results)}


def _differing(values: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return what is not the same for all, by field and run; a run that does not know a field is left out of it."""
    fields = varying(list(values.values())) if values else []
    return {field: {label: one[field] for label, one in values.items() if field in one} for field in fields}


def _notes(run: NamedRun, first: NamedRun, is_alike: bool) -> list[str]:
    """Return what could not be read, what had to be assumed, and why equal counts of images may be other images."""
    saved = flat_settings(run.record.config, complete=False)
    lacking = [field for field in full_settings(run.record.config) if field not in saved]
    notes = list(run.record.notes)
    if lacking:
        notes.append(f"usual values are taken for settings that its config.yaml lacks: {listed(lacking)}")
    if is_alike and (fields := _other_source(run, first)):
        notes.append(
            f"it has another {' and '.join(fields)}: that its test images are those of {first.label} is not certain"
        )
    return notes


def _other_source(one: NamedRun, other: NamedRun) -> list[str]:
    """Return the settings by which the images of two runs may be others, whatever their ids are."""
    differing = varying([full_settings(run.record.config) for run in (one, other)])
    return [field for field in differing if field in field_names(Role.DATA)]


def _obstacle(first: NamedRun, run: NamedRun) -> Obstacle | None:
    """Return what keeps the figures of a run from meaning the same as those of the first."""
    for one, name in ((run, "it"), (first, "the first run")):
        if not one.record.results:
            return Obstacle(f"{name} is not tested yet", also_last=True)
    here, there = run.record.results[-1], first.record.results[-1]
    only_here = tuple(name for name in here.classes if name not in there.ap)
    only_there = tuple(name for name in there.classes if name not in here.ap)
    if "dataset" in _other_source(first, run):
        reason = "it has another data set"
    elif only_here or only_there:
        reason = "its last test was on other classes"
    elif here.images != there.images:
        reason = f"its last test was on {here.images:,} images, the first run's on {there.images:,}"
    elif measured_on(run) != measured_on(first):
        return Obstacle("its tests before the last one were others", also_last=False)
    else:
        return None
    return Obstacle(reason, True, only_here, only_there)


def _differences(first: Figures, other: Figures, found: Obstacle | None) -> Figures:
    """Subtract where both figures mean the same; how fast a run was does not depend on what it was tested on."""

    def means_the_same(key: str) -> bool:
        return found is None or key == SPEED or (key.startswith("last") and not found.also_last)

    return {key: _minus(value, first[key]) if means_the_same(key) else None for key, value in other.items()}


def _minus(value: float | None, other: float | None) -> float | None:
    return None if value is None or other is None else value - other


def _precision_by_class(first: NamedRun, others: Sequence[NamedRun]) -> list[ClassPrecision]:
    """Collect AP by class of runs that had the same last test, the largest difference first."""
    if not others:
        return []
    runs = [first, *others]
    came = {run.label: arrivals(run) for run in runs}
    last = {run.label: run.record.results[-1].ap for run in runs}
    found = []
    for name, ap in last[first.label].items():
        by_run = {label: one[name] for label, one in last.items()}
        tasks = {label: one[name] for label, one in came.items()}
        to_first = {run.label: _minus(by_run[run.label], ap) for run in others}
        found.append(ClassPrecision(name, tasks, by_run, to_first))
    return sorted(found, key=lambda one: -1 if one.largest is None else one.largest, reverse=True)


def _compare_memory(runs: Sequence[NamedRun]) -> MemoryComparison:
    """Look into the newest checkpoints, and at what was noted of memory after the last test."""
    read = {run.label: _read_memory(run) for run in runs}
    sources = {label: ids for label, (_, ids) in read.items() if ids}
    reference = next((run for run in runs if run.label in sources), None)
    held = {label: one for label, (one, _) in read.items()}
    for run in runs:
        if reference is not None and run is not reference and run.label in sources:
            held[run.label] = _shared(held[run.label], run, reference, sources)
    last = {run.label: run.record.memory[max(run.record.memory)] for run in runs if run.record.memory}
    counts = {label: counts for label, counts in last.items() if any(counts.values())}
    return MemoryComparison(held, reference.label if reference else None, tuple(counts), _by_class(counts))


def _read_memory(run: NamedRun) -> tuple[MemoryContent, frozenset[str]]:
    """Return what memory holds, and the ids of the images that it is from."""
    held = MemoryContent(run.record.memory_items)
    if not held.items:
        return replace(held, note="it keeps nothing" if held.items == 0 else "nothing is noted of it yet"), frozenset()
    if not run.record.has_checkpoint:
        return replace(held, note=NO_CHECKPOINT), frozenset()
    try:
        learner = Learner.load(run.record.folder, device="cpu")
    except (CuterError, OSError) as error:
        return replace(held, note=str(error)), frozenset()
    items = learner.memory.items
    ids = frozenset(item.id for item in items)
    cut_outs = sum(item.box is not None for item in items)
    steps = run.record.steps
    note = "" if learner.steps == steps else f"its checkpoint is of step {learner.steps:,}, its items of step {steps:,}"
    return MemoryContent(held.items, cut_outs, len(items) - cut_outs, len(ids), note=note), ids


def _shared(
    held: MemoryContent, run: NamedRun, reference: NamedRun, sources: Mapping[str, frozenset[str]]
) -> MemoryContent:
    if fields := _other_source(reference, run):
        note = f"it has another {' and '.join(fields)} than {reference.label}: a name may be another image's there"
        return replace(held, note="; ".join(filter(None, (held.note, note))))
    return replace(held, shared=len(sources[run.label] & sources[reference.label]))


def _by_class(counts: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int | None]]:
    names = dict.fromkeys(name for held in counts.values() for name in held)
    rows = {name: {label: held.get(name) for label, held in counts.items()} for name in names}
    known = {name: [count for count in row.values() if count is not None] for name, row in rows.items()}
    ranges = {name: max(own) - min(own) for name, own in known.items()}
    return {name: rows[name] for name in sorted(rows, key=lambda name: -ranges[name]) if ranges[name]}
