"""Tables by class: average precision at the end, and how many items of each memory held."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from cuter.show.run_labels import NamedRun
from cuter.show.table import signed

MOST_CLASSES = 120
MOST_TASKS = 24
STRONGEST = 2  # doublings away from an even share that get the strongest colour

T = TypeVar("T")


def spread(things: Sequence[T], most: int) -> list[T]:
    """Return all things, or so many of them, evenly spread from the first to the last."""
    if len(things) <= most:
        return list(things)
    return [things[round(place * (len(things) - 1) / (most - 1))] for place in range(most)]


@dataclass(frozen=True)
class Precision:
    """Average precision of a class in one run: at last, and when it was first tested if that was earlier; percent."""

    first: float | None
    last: float | None

    @property
    def change(self) -> float | None:
        """What was gained since; below 0 where it was lost."""
        return None if self.first is None or self.last is None else self.last - self.first

    @property
    def change_text(self) -> str:
        """The change with its sign."""
        return signed(self.change, unknown="")


@dataclass(frozen=True)
class PrecisionTable:
    """Classes in the order they came, task by task; a task has no name where runs do not agree on it."""

    runs: tuple[NamedRun, ...]
    tasks: tuple[tuple[str, tuple[tuple[str, tuple[Precision, ...]], ...]], ...]
    shown: int
    classes: int


def precision_table(runs: Sequence[NamedRun]) -> PrecisionTable | None:
    """Collect the average precision of each class in each run; None if there is none."""
    runs = [run for run in runs if run.record.results]
    arrived = [arrivals(run) for run in runs]
    names = list(dict.fromkeys(name for arrival in arrived for name in arrival))
    if not names:
        return None
    agree = all(arrived[0].get(name, task) == task for arrival in arrived for name, task in arrival.items())
    shown = spread(names, MOST_CLASSES)
    histories = [_histories(run) for run in runs]
    tasks: dict[str, list[tuple[str, tuple[Precision, ...]]]] = {}
    for name in shown:
        task = next(arrival[name] for arrival in arrived if name in arrival) if agree else ""
        cells = tuple(_precision(history.get(name, [])) for history in histories)
        tasks.setdefault(task, []).append((name, cells))
    by_task = tuple((task, tuple(rows)) for task, rows in tasks.items())
    return PrecisionTable(tuple(runs), by_task, len(shown), len(names))


def arrivals(run: NamedRun) -> dict[str, str]:
    """Return the task that each class came with."""
    came: dict[str, str] = {}
    for result in run.record.results:
        for name in result.classes:
            came.setdefault(name, result.name)
    return came


def _histories(run: NamedRun) -> dict[str, list[float | None]]:
    histories: dict[str, list[float | None]] = {}
    for result in run.record.results:
        for name, ap in result.ap.items():
            histories.setdefault(name, []).append(ap)
    return histories


def _precision(history: Sequence[float | None]) -> Precision:
    earlier = [ap for ap in history[:-1] if ap is not None]
    return Precision(earlier[0] if earlier else None, history[-1] if history else None)


@dataclass(frozen=True)
class Share:
    """Items of a class after a task, None before it came; level: doublings from an even share, from -2 to 2."""

    count: int | None
    level: int


@dataclass(frozen=True)
class Balance:
    """What memory of one run held, class by class, after each task."""

    run: NamedRun
    tasks: tuple[int, ...]
    rows: tuple[tuple[str, tuple[Share, ...]], ...]
    classes: int
    ratio: str


def balance(run: NamedRun) -> Balance | None:
    """Collect what memory held; None if that is not known, or it never held anything."""
    held = run.record.memory
    if not any(any(classes.values()) for classes in held.values()):
        return None
    tasks, names = spread(list(held), MOST_TASKS), list(held[max(held)])
    even = {task: sum(held[task].values()) / len(held[task]) for task in tasks}
    rows = tuple(
        (name, tuple(_share(held[task].get(name), even[task]) for task in tasks))
        for name in spread(names, MOST_CLASSES)
    )
    most, least = max(held[max(held)].values()), min(held[max(held)].values())
    return Balance(run, tuple(tasks), rows, len(names), f"{most:,} : {least:,}")


def _share(count: int | None, even: float) -> Share:
    if count is None or not even:
        return Share(count, 0)
    doublings = math.log2(count / even) if count else -math.inf
    return Share(count, round(max(-STRONGEST, min(STRONGEST, doublings))))
