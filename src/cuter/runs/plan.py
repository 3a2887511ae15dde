"""What a run will do: everything that follows from its configuration and the data set, before the first step."""

from __future__ import annotations

import functools
import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from cuter.errors import ConfigError
from cuter.measure.protocol import seen_samples
from cuter.runs.config import RunConfig
from cuter.stream.datasets import load_dataset
from cuter.stream.samples import Dataset, Sample, pick
from cuter.stream.tasks import StreamSample, Task, in_batches, make_tasks, plan_stream, with_all_before

logger = logging.getLogger("cuter.run")


@dataclass(frozen=True)
class Plan:
    """The tasks, and for each of them the batches to learn and the images to test afterwards."""

    tasks: list[Task]
    learn: list[list[list[StreamSample]]]
    test: list[list[StreamSample]]

    def seen(self, task: int) -> list[str]:
        """Return the classes of the tasks up to this one."""
        return [name for earlier in self.tasks[: task + 1] for name in earlier.classes]

    def names(self, task: int) -> list[str]:
        """Return the classes that somebody looks for during this task; in a blurry stream also its neighbours'."""
        known = frozenset[str]().union(*(visit.known for visits in self.learn[task] for visit in visits))
        return [name for name in self.seen(len(self.tasks)) if name in known]

    def digest(self) -> str:
        """Return a checksum that changes when the data set or the tasks do."""
        spell = functools.cache(lambda names: ",".join(sorted(names)))  # few sets of names, many visits
        digest = hashlib.sha256(repr([task.classes for task in self.tasks]).encode())
        batches = [batch for task in self.learn for batch in task]
        for visits in (*batches, self.test[-1]):  # the last test holds the images of those before it
            lines = [f"{visit.sample.id}:{spell(visit.labels)}:{spell(visit.known)}" for visit in visits]
            digest.update("\n".join(lines).encode() + b"\n\n")
        return digest.hexdigest()


def make_plan(config: RunConfig) -> Plan:
    """Read the data set and lay out the stream."""
    dataset = load_dataset(config.dataset, config.data_root, **config.dataset_options)
    return lay_out(
        dataset,
        config.tasks,
        class_order=config.class_order,
        task_scope=config.task_scope,
        passes=config.passes,
        blurry=config.blurry,
        batch_size=config.batch_size,
        limit_train=config.limit_train,
        limit_test=config.limit_test,
        seed=config.seed,
    )


def lay_out(
    dataset: Dataset,
    tasks: str | Sequence[Sequence[str]],
    *,
    class_order: str | int = "name",
    task_scope: str = "own-task",
    passes: int = 1,
    blurry: float = 0.0,
    batch_size: int = 12,
    limit_train: int | None = None,
    limit_test: int | None = None,
    seed: int = 0,
) -> Plan:
    """Lay out a data set as a stream of tasks; the arguments are the fields of `RunConfig`."""
    arriving = make_tasks(tasks, dataset.classes, class_order)
    shown = arriving if task_scope == "own-task" else with_all_before(arriving)
    arrivals = plan_stream(_subset(dataset.train, limit_train), shown, seed, blurry, passes=passes)
    for task, visits in zip(arriving, arrivals, strict=True):
        if not visits:
            logger.warning("no training image has a class of %s: %s", task.name, ", ".join(task.classes))
    plan = Plan(arriving, [in_batches(visits, batch_size) for visits in arrivals], test=[])
    test = _subset(dataset.test, limit_test)
    for number, task in enumerate(arriving):
        plan.test.append(_test_visits(test, frozenset(plan.seen(number))))
        if not plan.test[number]:
            raise ConfigError(f"no test image has a class of {task.name}: {', '.join(task.classes)}")
    return plan


def _test_visits(samples: Sequence[Sample], classes: frozenset[str]) -> list[StreamSample]:
    seen = seen_samples(samples, classes)
    return [StreamSample(sample, classes if sample.known is None else classes & sample.known) for sample in seen]


def _subset(samples: Sequence[Sample], limit: int | None) -> Sequence[Sample]:
    """Draw a subset that does not depend on the run's seed, so that seeds compare on the same images."""
    return samples if limit is None else pick(samples, limit)
