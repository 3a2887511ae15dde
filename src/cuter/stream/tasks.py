"""Tasks: which classes are asked for when, and in which order the images arrive."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cuter.errors import ConfigError
from cuter.registry import did_you_mean
from cuter.stream.labels import clean_name
from cuter.stream.samples import Sample

MOST_DIGITS = 9  # of a number of tasks or classes
LARGEST_SEED = 2**64 - 1
ACCEPTED = "'5x4', '11+7x10', or explicit lists of class names such as 'cat,dog;car,bus'"


@dataclass(frozen=True, slots=True)
class Task:
    """Classes that are annotated during one stretch of the stream."""

    name: str
    classes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StreamSample:
    """One arrival of an image, annotated for the classes in `known` only."""

    sample: Sample
    known: frozenset[str]

    @property
    def labels(self) -> frozenset[str]:
        """Labels that are given on this visit."""
        return self.sample.labels & self.known


def order_classes(classes: Sequence[str], order: str | int = "name") -> list[str]:
    """Order classes by name, by a seed (an integer), or as a file lists them (one name a line)."""
    if order == "name":
        return sorted(classes)
    if isinstance(order, int) or order.isdecimal():
        if len(order := str(order)) > len(str(LARGEST_SEED)) or not 0 <= int(order) <= LARGEST_SEED:
            raise ConfigError(f"class_order must be a seed from 0 to {LARGEST_SEED}, not {order}")
        return [str(name) for name in np.random.default_rng(int(order)).permutation(sorted(classes))]
    path = Path(order)
    if not path.is_file():
        raise ConfigError(f"class_order {order!r}: no such file. Accepted: 'name', an integer seed, or a file of names")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(f"class_order file {path}: not UTF-8 text") from None
    names = [clean_name(line) for line in text.splitlines() if line.strip()]
    _check_classes(names, classes, where=f"class_order file {path}")
    if missing := sorted(set(classes) - set(names)):
        raise ConfigError(f"class_order file {path} leaves out {len(missing)} classes: {', '.join(missing[:5])} …")
    return names


def make_tasks(spec: str | Sequence[Sequence[str]], classes: Sequence[str], order: str | int = "name") -> list[Task]:
    """Split classes into tasks.

    `spec` is '5x4' (five tasks of four classes), '11+7x10' (one of eleven, then seven of ten), or explicit lists of
    class names, as Python lists or as 'cat,dog;car,bus'.
    """
    if isinstance(spec, str) and re.fullmatch(r"\s*\d+([x×]\d+)?(\s*\+\s*\d+([x×]\d+)?)*\s*", spec):
        groups = _split(order_classes(classes, order), spec)
    else:
        lists = [group.split(",") for group in spec.split(";")] if isinstance(spec, str) else spec
        groups = [[clean_name(name) for name in group if name.strip()] for group in lists]
        if order != "name":
            raise ConfigError(f"class_order {order!r} has no meaning beside explicit tasks {spec!r}")
        _check_classes([name for group in groups for name in group], classes, where=f"tasks {spec!r} ({ACCEPTED})")
        if not all(groups):
            raise ConfigError(f"tasks {spec!r}: a task has no class")
    return [Task(f"task {number}", tuple(group)) for number, group in enumerate(groups, start=1)]


def _split(names: list[str], spec: str) -> list[list[str]]:
    terms = [term.strip().replace("×", "x").split("x") for term in spec.split("+")]
    if any(len(number) > MOST_DIGITS for term in terms for number in term):
        raise ConfigError(f"tasks {spec!r} has a number of more than {MOST_DIGITS} digits. Accepted: {ACCEPTED}")
    counted = [(int(repeats[0]) if repeats else 1, int(size)) for *repeats, size in terms]
    asked, tasks = sum(number * size for number, size in counted), sum(number for number, _ in counted)
    if min(size for _, size in counted) < 1 or asked != len(names):  # before a list is made that may be endless
        raise ConfigError(
            f"tasks {spec!r} asks for {asked} classes in {tasks} tasks, but there are {len(names)}. "
            f"Accepted: {ACCEPTED}"
        )
    sizes = [size for number, size in counted for _ in range(number)]
    ends = np.cumsum(sizes).tolist()
    return [names[end - size : end] for size, end in zip(sizes, ends, strict=True)]


def _check_classes(names: Sequence[str], classes: Sequence[str], where: str) -> None:
    for name in names:
        if name not in classes:
            raise ConfigError(f"{where}: unknown class {name!r}.{did_you_mean(name, sorted(classes))}")
    if len(set(names)) != len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise ConfigError(f"{where}: class {twice!r} appears twice")


def with_all_before(tasks: Sequence[Task]) -> list[Task]:
    """Return tasks of which each has the classes of all those before it as well: joint learning of all seen so far."""
    return [
        Task(task.name, tuple(name for earlier in tasks[:number] for name in earlier.classes))
        for number, task in enumerate(tasks, start=1)
    ]


def plan_stream(
    samples: Sequence[Sample], tasks: Sequence[Task], seed: int, blurry: float = 0.0, *, passes: int = 1
) -> list[list[StreamSample]]:
    """Return the visits of each task in the order in which they arrive.

    A task holds every image with at least one of its classes, so an image recurs in several tasks, each time with
    that task's labels only. With `blurry` > 0, that share of each task's visits arrives during a neighbouring task.
    With several `passes` all visits of a task come as often, each time in another order.
    """
    if not 0 <= blurry < 1:
        raise ConfigError(f"blurry must be a share from 0 up to (not including) 1, not {blurry}")
    rng = np.random.default_rng([seed, 0])
    plan = [_visits(samples, task) for task in tasks]
    if blurry and len(tasks) > 1:
        plan = _blur(plan, blurry, rng)
    return [[visits[i] for _ in range(passes) for i in rng.permutation(len(visits))] for visits in plan]


def _visits(samples: Sequence[Sample], task: Task) -> list[StreamSample]:
    classes = frozenset(task.classes)
    return [
        StreamSample(sample, classes if sample.known is None else classes & sample.known)
        for sample in samples
        if not classes.isdisjoint(sample.labels)
    ]


def _blur(plan: list[list[StreamSample]], share: float, rng: np.random.Generator) -> list[list[StreamSample]]:
    """Hand `share` of each task's visits to its neighbours, half to each (the ends have only one)."""
    blurred: list[list[StreamSample]] = [[] for _ in plan]
    for index, visits in enumerate(plan):
        neighbours = [n for n in (index - 1, index + 1) if 0 <= n < len(plan)]
        leaving = rng.permutation(len(visits))[: round(share * len(visits))]
        destination = {int(visit): neighbours[turn % len(neighbours)] for turn, visit in enumerate(leaving)}
        for number, visit in enumerate(visits):
            blurred[destination.get(number, index)].append(visit)
    return blurred


def in_batches(visits: Sequence[StreamSample], size: int) -> list[list[StreamSample]]:
    """Cut visits into batches; the last one may be smaller."""
    return [list(visits[start : start + size]) for start in range(0, len(visits), size)]
