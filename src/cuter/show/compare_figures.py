"""Figures of runs beside those of the first: differences, where both were measured on the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cuter.measure.metrics import FIGURES
from cuter.show.compare_memory import other_source
from cuter.show.report.classes import arrivals
from cuter.show.report.compare import COLUMNS, Figures, measured_on
from cuter.show.report.run_labels import NamedRun
from cuter.show.report.terminal import FORGETTING, PLACES
from cuter.show.run_tables import SHOWN

METRICS = tuple(COLUMNS[place].key for place in PLACES)
DEFINITIONS = {figure: FIGURES[figure] for figure in SHOWN} | {
    "average": "of the tests after each task, over all classes seen so far",
    "last": "of the test after the last task",
    "forgetting": FORGETTING,
    "speed": "images of the stream learned in a second",
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

    only_here and only_there: classes that only its last test had, or only that of the first run.
    """

    reason: str
    also_last: bool
    only_here: tuple[str, ...] = ()
    only_there: tuple[str, ...] = ()


def obstacle(first: NamedRun, run: NamedRun) -> Obstacle | None:
    """Return what keeps the figures of a run from meaning the same as those of the first."""
    for one, name in ((run, "it"), (first, "the first run")):
        if not one.facts.results:
            return Obstacle(f"{name} is not tested yet", also_last=True)
    here, there = run.facts.results[-1], first.facts.results[-1]
    only_here = tuple(name for name in here.classes if name not in there.ap)
    only_there = tuple(name for name in there.classes if name not in here.ap)
    if "dataset" in other_source(first, run):
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


def differences(first: Figures, other: Figures, found: Obstacle | None) -> Figures:
    """Subtract where both figures mean the same; how fast a run was does not depend on what it was tested on."""

    def means_the_same(key: str) -> bool:
        return found is None or key == "speed" or (key.startswith("last") and not found.also_last)

    return {key: _minus(value, first[key]) if means_the_same(key) else None for key, value in other.items()}


def precision_by_class(first: NamedRun, others: Sequence[NamedRun]) -> list[ClassPrecision]:
    """Collect AP by class of runs that had the same last test, the largest difference first."""
    if not others:
        return []
    runs = [first, *others]
    came = {run.label: arrivals(run) for run in runs}
    last = {run.label: run.facts.results[-1].ap for run in runs}
    found = []
    for name, ap in last[first.label].items():
        by_run = {label: one[name] for label, one in last.items()}
        tasks = {label: one[name] for label, one in came.items()}
        to_first = {run.label: _minus(by_run[run.label], ap) for run in others}
        found.append(ClassPrecision(name, tasks, by_run, to_first))
    return sorted(found, key=lambda one: -1 if one.largest is None else one.largest, reverse=True)


def _minus(value: float | None, other: float | None) -> float | None:
    return None if value is None or other is None else value - other
