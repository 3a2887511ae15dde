"""A data set as a stream of tasks, for a loop of your own in Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from cuter.learn.learner import Learner
from cuter.measure.metrics import Scores, multilabel_scores
from cuter.runs.plan import Plan, lay_out
from cuter.stream.batch import Batch
from cuter.stream.labels import LabelSpace
from cuter.stream.loading import load_batches
from cuter.stream.samples import Dataset
from cuter.stream.tasks import in_batches

TEST_BATCH = 64


class TaskStream:
    """Task after task of a data set: its batches to learn, and a test over all classes so far.

    The same stream that `cuter run` shows to a learner.

    Args:
        dataset: As `load_dataset` returns it.
        tasks: '5x4', '11+7x10', or lists of class names.
        size: Height and width of images in pixels: `learner.backbone.image_size`.
        workers: Processes that decode images ahead.
        options: Fields of a run's configuration: batch_size, class_order, blurry, limit_train, limit_test, seed …

    Examples:
        >>> from tempfile import TemporaryDirectory
        >>> from cuter import Learner, TaskStream, load_dataset
        >>> learner = Learner.create("rs", backbone="toybox", device="cpu", memory={"images": 10})
        >>> folder = TemporaryDirectory()
        >>> dataset = load_dataset("toybox", folder.name, train=20, test=20)
        >>> for task in TaskStream(dataset, "5x5", size=learner.backbone.image_size):
        ...     for batch in task:
        ...         step = learner.observe(batch)
        ...     scores = task.evaluate(learner)
        >>> task.name, len(task.seen), 0 < scores["map"] <= 100
        ('task 5', 25, True)
    """

    def __init__(
        self,
        dataset: Dataset,
        tasks: str | Sequence[Sequence[str]],
        *,
        size: int = 224,
        workers: int = 0,
        **options: Any,
    ):
        self.plan = lay_out(dataset, tasks, **options)
        self.size = size
        self.workers = workers

    def __len__(self) -> int:
        return len(self.plan.tasks)

    def __iter__(self) -> Iterator[StreamTask]:
        return (StreamTask(self.plan, number, self.size, self.workers) for number in range(len(self)))


class StreamTask:
    """One task of a stream: iterate over it for its batches. Unreadable images are left out, with a warning."""

    def __init__(self, plan: Plan, number: int, size: int, workers: int = 0):
        self.plan = plan
        self.number = number
        self.size = size
        self.workers = workers

    @property
    def name(self) -> str:
        """The name of the task."""
        return self.plan.tasks[self.number].name

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes that the task brings."""
        return self.plan.tasks[self.number].classes

    @property
    def seen(self) -> list[str]:
        """The classes of all tasks up to this one."""
        return self.plan.seen(self.number)

    def __len__(self) -> int:
        return len(self.plan.learn[self.number])

    def __iter__(self) -> Iterator[Batch]:
        batches = self.plan.learn[self.number]
        for loaded in load_batches(batches, self.plan.names(self.number), self.size, workers=self.workers):
            yield loaded.batch

    def evaluate(self, learner: Learner, batch_size: int = TEST_BATCH) -> Scores:
        """Test a learner over all classes so far.

        Args:
            learner: The learner.
            batch_size: Images per forward.

        Returns:
            Metrics in percent by name: scores["map"], scores["cf1_mean@0.8"], scores["of1@0.8"] …
        """
        batches = in_batches(self.plan.test[self.number], batch_size)
        found, labels, known = [], [], []
        for loaded in load_batches(batches, self.seen, self.size, workers=self.workers):
            scores = learner.scores(loaded.batch.images, batch_size)
            found.append(in_columns(scores, learner.labels, self.seen))
            labels.append(loaded.batch.labels)
            known.append(loaded.batch.known)
        return multilabel_scores(torch.cat(found), torch.cat(labels), torch.cat(known))


def in_columns(scores: Tensor, labels: LabelSpace, classes: Sequence[str]) -> Tensor:
    """Return the scores (B, len(classes)) of these classes; one that the learner has never seen scores 0."""
    columns = torch.zeros(len(scores), len(classes))
    for column, name in enumerate(classes):
        if name in labels:
            columns[:, column] = scores[:, labels.column(name)]
    return columns
