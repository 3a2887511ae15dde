"""A learner evaluated on labelled images."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import torch

from cuter.errors import BatchError, DataError
from cuter.learn.learner import Learner
from cuter.models.evaluation import Evaluation, class_thresholds, evaluate_scores
from cuter.stream.batch import Batch
from cuter.stream.loading import Loaded, Unreadable, load_batches
from cuter.stream.samples import Sample
from cuter.stream.tasks import StreamSample, in_batches

BATCH = 64

Progress = Callable[[int, int], None]


def evaluate(
    learner: Learner,
    samples: Sequence[Sample],
    *,
    classes: Sequence[str] | None = None,
    thresholds: Mapping[str, float] | None = None,
    regions: bool = False,
    workers: int = 0,
    progress: Progress = lambda done, total: None,
) -> Evaluation:
    """Evaluate a learner on labelled images.

    Unlike the tests of a run, images that show no class of the learner count: a prediction there is a mistake.

    Args:
        learner: The learner.
        samples: Images of a data set, such as `dataset.test`. One that cannot be read is skipped, and named.
        classes: What somebody looked for in images that do not say it themselves: `dataset.classes`. By default the
            classes that any of the images names.
        thresholds: Probability above which a class is predicted, by name; 0.5 for classes that are not named.
        regions: Look at regions of each image too, whatever the predictor of the settings is.
        workers: Processes that decode images ahead.
        progress: Called with the number of images that are done, and of all.

    Returns:
        Figures, classes, reliability and the worst mistakes.

    Raises:
        BatchError: No image has a label of a class that the learner knows.
        ConfigError: A threshold is out of range, or for a class that the learner does not know.
        DataError: No image can be read.

    Examples:
        >>> from tempfile import TemporaryDirectory
        >>> from cuter import Learner, TaskStream, load_dataset
        >>> from cuter.models.evaluating import evaluate
        >>> learner = Learner.create("rs", backbone="toybox", device="cpu", memory={"images": 10})
        >>> folder = TemporaryDirectory()
        >>> dataset = load_dataset("toybox", folder.name, train=20, test=20)
        >>> for task in TaskStream(dataset, "5x5", size=learner.backbone.image_size):
        ...     for batch in task:
        ...         step = learner.observe(batch)
        >>> found = evaluate(learner, dataset.test)
        >>> found.images, 0 < found["map"] <= 100, found["ece"] < found["ece_raw"]
        (20, True, True)
    """
    columns = list(classes) if classes is not None else sorted(frozenset[str]().union(*map(_named, samples)))
    everything, own = frozenset(columns), frozenset(learner.labels)
    visits = [
        StreamSample(sample, everything if sample.known is None else everything & sample.known) for sample in samples
    ]
    visits = [visit for visit in visits if visit.known & own]
    if not visits:
        raise BatchError(
            f"there is nothing to evaluate: nobody looked for a class of the model ({_some(learner.labels)}) "
            f"in {len(samples)} images of {_some(columns)}"
        )
    size = learner.backbone.image_size
    loaded = load_batches(in_batches(visits, BATCH), columns, size, workers=workers)
    return evaluate_batches(learner, _counted(loaded, len(visits), progress), thresholds=thresholds, regions=regions)


def evaluate_batches(
    learner: Learner,
    batches: Iterable[Loaded | Batch],
    *,
    thresholds: Mapping[str, float] | None = None,
    regions: bool = False,
) -> Evaluation:
    """Evaluate a learner on batches, as `load_batches` gives them or made in any other way.

    Args:
        learner: The learner.
        batches: Images with what is known of their labels; no more than one is held at a time.
        thresholds: As for `evaluate`.
        regions: As for `evaluate`.

    Raises:
        BatchError: No image has a label of a class that the learner knows.
        ConfigError: As for `evaluate`.
        DataError: No image could be read.

    Examples:
        >>> import torch
        >>> from cuter import Batch, Learner
        >>> from cuter.models.evaluating import evaluate_batches
        >>> learner = Learner.create(backbone="toybox", device="cpu")
        >>> batch = Batch.of(torch.zeros(2, 3, 96, 96, dtype=torch.uint8), [["cat"], []])
        >>> step = learner.observe(batch)
        >>> evaluate_batches(learner, [batch]).images
        2
    """
    names = learner.labels.names
    class_thresholds(thresholds or {}, names)  # a mistake shows before hours of work
    scores, labels, known = ([torch.zeros(0, len(names), dtype=kind)] for kind in (torch.float, torch.bool, torch.bool))
    ids: list[str] = []
    unreadable: list[Unreadable] = []
    heard: dict[str, None] = {}
    for one in batches:
        batch = one if isinstance(one, Batch) else one.batch
        unreadable += () if isinstance(one, Batch) else one.skipped
        heard |= dict.fromkeys(batch.names)
        own = _over(batch, names)
        images = batch.images
        scores.append(learner.region_scores(images, BATCH).joined if regions else learner.scores(images, BATCH))
        labels.append(own.labels.cpu())
        known.append(own.known.cpu())
        ids += batch.ids
    if unreadable and not ids:
        raise DataError(f"none of the {len(unreadable)} images is readable: {unreadable[0].reason}")
    found = evaluate_scores(
        torch.cat(scores),
        torch.cat(labels),
        torch.cat(known),
        names,
        calibration=learner.calibration,
        thresholds=thresholds,
        ids=ids,
    )
    unknown = tuple(name for name in heard if name not in learner.labels)
    return replace(found, unknown_classes=unknown, unreadable=tuple(unreadable))


def _over(batch: Batch, names: tuple[str, ...]) -> Batch:
    """Return a batch over these classes alone."""
    columns = [column for column, name in enumerate(batch.names) if name in set(names)]
    own = replace(
        batch,
        labels=batch.labels[:, columns],
        known=batch.known[:, columns],
        names=tuple(batch.names[column] for column in columns),
    )
    return own.aligned(names)


def _counted(loaded: Iterable[Loaded], total: int, progress: Progress) -> Iterator[Loaded]:
    """Pass batches on, and tell how many images are done whenever the next batch is asked for."""
    done = 0
    for one in loaded:
        yield one
        done += len(one.batch) + len(one.skipped)
        progress(done, total)


def _named(sample: Sample) -> frozenset[str]:
    return sample.labels | (sample.known or frozenset())


def _some(names: Iterable[str], most: int = 3) -> str:
    """Name the first of some classes."""
    named = list(names)
    return ", ".join(named[:most]) + (" …" if len(named) > most else "") if named else "no class"
