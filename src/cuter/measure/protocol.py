"""The average/last protocol: after each task, test over all classes seen so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cuter.errors import BatchError, CheckpointError
from cuter.measure.metrics import FIGURES, Scores
from cuter.stream.samples import Sample


def seen_samples(samples: Iterable[Sample], seen_classes: Iterable[str]) -> list[Sample]:
    """Select the samples with at least one of the classes seen so far: what is tested after a task."""
    seen = frozenset(seen_classes)
    return [sample for sample in samples if not seen.isdisjoint(sample.labels)]


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The evaluation after one task; tasks count from 0, `classes` names the columns of the scores.

    region_scores: what the same test gives where the predictor looks at regions too; None where it does not.
    """

    task: int
    name: str
    classes: tuple[str, ...]
    scores: Scores
    images: int
    region_scores: Scores | None = None

    def __post_init__(self) -> None:
        if len(self.classes) != len(self.scores.ap):
            raise BatchError(
                f"task {self.name!r} names {len(self.classes)} classes, "
                f"but its scores have {len(self.scores.ap)} columns"
            )

    @property
    def ap(self) -> dict[str, float | None]:
        """Average precision by class name."""
        return dict(zip(self.classes, self.scores.ap, strict=True))

    def as_dict(self) -> dict[str, Any]:
        """Return the result ready for JSON."""
        result = {
            "task": self.task,
            "name": self.name,
            "classes": list(self.classes),
            "images": self.images,
            "scores": self.scores.as_dict(),
        }
        return result | ({"region_scores": self.region_scores.as_dict()} if self.region_scores else {})

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> TaskResult:
        """Read back what `as_dict` gave."""
        if missing := [key for key in ("task", "name", "classes", "images", "scores") if key not in saved]:
            raise CheckpointError(f"a saved task result lacks {missing[0]!r}")
        scores = Scores.from_dict(saved["scores"])
        regions = Scores.from_dict(saved["region_scores"]) if saved.get("region_scores") else None
        return cls(saved["task"], saved["name"], tuple(saved["classes"]), scores, saved["images"], regions)


@dataclass(frozen=True)
class Summary:
    """A run in a few numbers. All of them follow from the results of its tasks, in order and without a gap."""

    tasks: tuple[TaskResult, ...]

    def __post_init__(self) -> None:
        found = [result.task for result in self.tasks]
        if not found or found != list(range(len(found))):
            raise BatchError(f"a summary needs the results of tasks 0, 1, 2 … in order, not {found}")
        for earlier, later in zip(self.tasks, self.tasks[1:], strict=False):
            if lost := set(earlier.classes) - set(later.classes):
                raise BatchError(
                    f"class {min(lost)!r} was seen in task {earlier.name!r}, "
                    f"but the result of task {later.name!r} leaves it out"
                )

    @classmethod
    def of(cls, results: Sequence[TaskResult]) -> Summary:
        """Sum up the results of all tasks so far."""
        return cls(tuple(results))

    @property
    def average(self) -> dict[str, float | None]:
        """Each figure averaged over the tasks that have it."""
        return {figure: _mean(result.scores[figure] for result in self.tasks) for figure in FIGURES}

    @property
    def last(self) -> dict[str, float | None]:
        """Each figure after the final task."""
        return dict(self.tasks[-1].scores.figures)

    @property
    def forgetting(self) -> dict[str, float | None]:
        """Best AP at any earlier evaluation minus the last AP, by class; below 0 where a class got better.

        None where there is nothing to compare, as for classes first seen in the final task. The test set grows
        with the tasks, so part of this is that a class is later told from more images, not only that it was lost.
        """
        forgetting: dict[str, float | None] = {}
        before = [result.ap for result in self.tasks[:-1]]
        for name, last in self.tasks[-1].ap.items():
            earlier = [ap for test in before if (ap := test.get(name)) is not None]
            forgetting[name] = max(earlier) - last if earlier and last is not None else None
        return forgetting

    @property
    def mean_forgetting(self) -> float | None:
        """Forgetting averaged over the classes that have it."""
        return _mean(self.forgetting.values())

    @property
    def with_regions(self) -> Summary | None:
        """The same run where the predictor looks at regions too; None where it does not."""
        scores = [result.region_scores for result in self.tasks]
        if None in scores:
            return None
        pairs = zip(self.tasks, scores, strict=True)
        return Summary(tuple(replace(result, scores=found) for result, found in pairs if found is not None))

    def as_dict(self) -> dict[str, Any]:
        """Return the summary ready for JSON."""
        regions = self.with_regions
        return {
            "average": self.average,
            "last": self.last,
            "mean_forgetting": self.mean_forgetting,
            "forgetting": self.forgetting,
            **({"regions": {"average": regions.average, "last": regions.last}} if regions else {}),
            "tasks": [result.as_dict() for result in self.tasks],
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Summary:
        """Read back what `as_dict` gave; all but the tasks is computed anew."""
        if "tasks" not in saved:
            raise CheckpointError("a saved summary lacks 'tasks'")
        return cls(tuple(TaskResult.from_dict(result) for result in saved["tasks"]))


def _mean(values: Iterable[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return sum(present) / len(present) if present else None
