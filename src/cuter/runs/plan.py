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
from cuter.stream.samples import Sample, pick
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
    tasks = make_tasks(config.tasks, dataset.classes, config.class_order)
    shown = tasks if config.task_scope == "own-task" else with_all_before(tasks)
    arrivals = plan_stream(
        _subset(dataset.train, config.limit_train), shown, config.seed, config.blurry, passes=config.passes
    )
    for arriving, visits in zip(tasks, arrivals, strict=True):
        if not visits:
            logger.warning("no training image has a class of %s: %s", arriving.name, ", ".join(arriving.classes))
    learn = [in_batches(visits, config.batch_size) for visits in arrivals]
    plan = Plan(tasks, learn, test=[])
    test = _subset(dataset.test, config.limit_test)
    for task in range(len(tasks)):
        plan.test.append(_test_visits(test, frozenset(plan.seen(task))))
        if not plan.test[task]:
            raise ConfigError(f"no test image has a class of {tasks[task].name}: {', '.join(tasks[task].classes)}")
    return plan


def _test_visits(samples: Sequence[Sample], classes: frozenset[str]) -> list[StreamSample]:
    seen = seen_samples(samples, classes)
    return [StreamSample(sample, classes if sample.known is None else classes & sample.known) for sample in seen]


def _subset(samples: Sequence[Sample], limit: int | None) -> Sequence[Sample]:
    """Draw a subset that does not depend on the run's seed, so that seeds compare on the same images."""
    return samples if limit is None else pick(samples, limit)
