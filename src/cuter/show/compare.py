"""What tells runs apart: settings, figures, average precision by class, memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cuter.errors import ConfigError
from cuter.runs.config import flat_settings
from cuter.show.compare_figures import (
    DEFINITIONS,
    METRICS,
    ClassPrecision,
    Obstacle,
    differences,
    obstacle,
    precision_by_class,
)
from cuter.show.compare_memory import MemoryFacts, compare_memory, other_source
from cuter.show.report.compare import Figures, figures
from cuter.show.report.provenance import flat
from cuter.show.report.run_labels import NamedRun, full_settings, read_runs, varying

MOST_NAMES = 20  # in a sentence


@dataclass(frozen=True)
class Comparison:
    """What tells runs apart. All that is by run is by its label; differences are to the first run.

    settings and surroundings: those that are not the same for all; classes: of runs with the same last test as the
    first, the largest difference first; notes: what else a reader of the figures must know.
    """

    runs: list[NamedRun]
    settings: dict[str, dict[str, Any]]
    surroundings: dict[str, dict[str, Any]]
    figures: dict[str, Figures]
    differences: dict[str, Figures]
    obstacles: dict[str, Obstacle]
    classes: list[ClassPrecision]
    memory: MemoryFacts
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
    """Read two runs or more, finished or not, and tell them apart; nothing in their folders changes."""
    runs = read_runs(folders)
    if len(runs) < 2:
        once = " (a folder that is given twice counts once)" if len(folders) > len(runs) else ""
        raise ConfigError(f"two runs or more are needed to compare, not {len(runs)}{once}")
    first, *others = runs
    found = {run.label: {key: figures(run)[key] for key in METRICS} for run in runs}
    obstacles = {run.label: one for run in others if (one := obstacle(first, run))}
    alike = [run for run in others if run.label not in obstacles or not obstacles[run.label].also_last]
    return Comparison(
        runs=runs,
        settings=_differing({run.label: full_settings(run.facts.config) for run in runs}),
        surroundings=_differing({run.label: flat(run.facts.environment) for run in runs if run.facts.environment}),
        figures=found,
        differences={
            run.label: differences(found[first.label], found[run.label], obstacles.get(run.label)) for run in others
        },
        obstacles=obstacles,
        classes=precision_by_class(first, alike),
        memory=compare_memory(runs),
        notes={run.label: notes for run in runs if (notes := _notes(run, first, run in alike))},
    )


def listed(names: Sequence[str]) -> str:
    """Name some, and count the others."""
    said = ", ".join(names[:MOST_NAMES])
    return said if len(names) <= MOST_NAMES else f"{said} and {len(names) - MOST_NAMES:,} more"


def _identity(run: NamedRun) -> dict[str, Any]:
    facts = run.facts
    return {"folder": str(facts.folder), "is_finished": facts.is_finished, "tasks_tested": len(facts.results)}


def _differing(values: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return what is not the same for all, by field and run; a run that does not know a field is left out of it."""
    fields = varying(list(values.values())) if values else []
    return {field: {label: one[field] for label, one in values.items() if field in one} for field in fields}


def _notes(run: NamedRun, first: NamedRun, is_alike: bool) -> list[str]:
    """Return what could not be read, what had to be assumed, and why equal counts of images may be other images."""
    saved = flat_settings(run.facts.config, complete=False)
    lacking = [field for field in full_settings(run.facts.config) if field not in saved]
    notes = list(run.facts.notes)
    if lacking:
        notes.append(f"usual values are taken for settings that its config.yaml lacks: {listed(lacking)}")
    if is_alike and (fields := other_source(run, first)):
        notes.append(
            f"it has another {' and '.join(fields)}: that its test images are those of {first.label} is not certain"
        )
    return notes
