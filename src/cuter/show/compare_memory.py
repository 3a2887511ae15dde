"""Where the memories of runs differ: how many items, what they are, of which classes, of which images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from cuter.errors import CuterError
from cuter.learn.learner import Learner
from cuter.runs.config import field_names
from cuter.settings import Role
from cuter.show.report.checkpoint_view import NO_CHECKPOINT, has_checkpoint
from cuter.show.report.run_labels import NamedRun, full_settings, varying

# What decides which image an id means.


@dataclass(frozen=True)
class Held:
    """What the memory of a run holds: items after its last step, and the rest from its newest checkpoint if it has one.

    images: that the items come from; shared: how many of these are in the memory of the reference, too;
    note: why something is not known, or how it is to be read.
    """

    items: int | None
    cut_outs: int | None = None
    whole_images: int | None = None
    images: int | None = None
    shared: int | None = None
    note: str = ""


@dataclass(frozen=True)
class MemoryFacts:
    """The memories of runs, by their labels.

    reference: the first run whose images are known; counted: runs that hold something, and noted of which classes;
    classes: their items of each class after the last test, where they differ, the largest difference first; None is a
    class that a run never met.
    """

    runs: dict[str, Held]
    reference: str | None
    counted: tuple[str, ...]
    classes: dict[str, dict[str, int | None]]


def other_source(one: NamedRun, other: NamedRun) -> list[str]:
    """Return the settings by which the images of two runs may be others, whatever their ids are."""
    return [
        field
        for field in varying([full_settings(run.facts.config) for run in (one, other)])
        if field in field_names(Role.DATA)
    ]


def compare_memory(runs: Sequence[NamedRun]) -> MemoryFacts:
    """Look into the newest checkpoints, and at what was noted of memory after the last test."""
    read = {run.label: _read(run) for run in runs}
    sources = {label: ids for label, (_, ids) in read.items() if ids}
    reference = next((run for run in runs if run.label in sources), None)
    held = {label: one for label, (one, _) in read.items()}
    for run in runs:
        if reference is not None and run is not reference and run.label in sources:
            held[run.label] = _shared(held[run.label], run, reference, sources)
    last = {run.label: run.facts.memory[max(run.facts.memory)] for run in runs if run.facts.memory}
    counts = {label: counts for label, counts in last.items() if any(counts.values())}
    return MemoryFacts(held, reference.label if reference else None, tuple(counts), _by_class(counts))


def _read(run: NamedRun) -> tuple[Held, frozenset[str]]:
    """Return what memory holds, and the ids of the images that it is from."""
    held = Held(run.facts.memory_items)
    if not held.items:
        return replace(held, note="it keeps nothing" if held.items == 0 else "nothing is noted of it yet"), frozenset()
    if not has_checkpoint(run.facts):
        return replace(held, note=NO_CHECKPOINT), frozenset()
    try:
        learner = Learner.load(run.facts.folder, device="cpu")
    except (CuterError, OSError) as error:
        return replace(held, note=str(error)), frozenset()
    items = learner.memory.items
    ids = frozenset(item.id for item in items)
    cut_outs = sum(item.box is not None for item in items)
    steps = run.facts.steps
    note = "" if learner.steps == steps else f"its checkpoint is of step {learner.steps:,}, its items of step {steps:,}"
    return Held(held.items, cut_outs, len(items) - cut_outs, len(ids), note=note), ids


def _shared(held: Held, run: NamedRun, reference: NamedRun, sources: Mapping[str, frozenset[str]]) -> Held:
    if fields := other_source(reference, run):
        note = f"it has another {' and '.join(fields)} than {reference.label}: a name may be another image's there"
        return replace(held, note="; ".join(filter(None, (held.note, note))))
    return replace(held, shared=len(sources[run.label] & sources[reference.label]))


def _by_class(counts: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int | None]]:
    names = dict.fromkeys(name for held in counts.values() for name in held)
    rows = {name: {label: held.get(name) for label, held in counts.items()} for name in names}
    ranges = {name: _range([count for count in row.values() if count is not None]) for name, row in rows.items()}
    return {name: rows[name] for name in sorted(rows, key=lambda name: -ranges[name]) if ranges[name]}


def _range(counts: Sequence[int]) -> int:
    return max(counts) - min(counts)
