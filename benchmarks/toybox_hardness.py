"""Is the toybox hard in the ways that matter? What missing labels cost, and what becomes of rare classes.

    python benchmarks/toybox_hardness.py              # three seeds, some twelve minutes on two cores

RS with the settings of `cuter demo` on 1,200 scenes, once as it is, with the labels of the task alone, and once with
the labels of all classes seen so far, on the same images in the same order: all else is equal. Then the classes in two
halves by frequency: their AP after their own task, and at the end.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table

from cuter import Learner, load_dataset
from cuter.measure.metrics import multilabel_scores
from cuter.show.demo import BACKBONE, OPTIONS
from cuter.stream.loading import load_batches
from cuter.stream.samples import Dataset
from cuter.stream.tasks import Task, in_batches, make_tasks, plan_stream, with_all_before
from cuter.toybox.world import BY_FREQUENCY

LEARNER = ("memory_images", "replay_size", "lr", "head_lr", "augment")
SCENES = {"train": 1200, "test": 400}
HALF = len(BY_FREQUENCY) // 2


def learn(dataset: Dataset, tasks: Sequence[Task], labels_of: Sequence[Task], seed: int) -> list[dict[str, float]]:
    """Learn the stream of `tasks` with the labels that `labels_of` name; return AP by class after each task."""
    learner = Learner.create("rs", backbone=BACKBONE, seed=seed, **{name: OPTIONS[name] for name in LEARNER})
    results = []
    for visits, told, seen in zip(
        plan_stream(dataset.train, tasks, seed), labels_of, with_all_before(tasks), strict=True
    ):
        known = frozenset(told.classes)
        batches = in_batches([replace(visit, known=known) for visit in visits], OPTIONS["batch_size"])
        for loaded in load_batches(batches, told.classes, learner.backbone.image_size, workers=0):
            learner.observe(loaded.batch)
        results.append(test(learner, dataset, seen.classes))
    return results


def test(learner: Learner, dataset: Dataset, classes: Sequence[str]) -> dict[str, float]:
    """Return the AP of each of these classes, over the test images that show one of them."""
    visits = plan_stream(dataset.test, [Task("test", tuple(classes))], seed=0)[0]
    scores, labels = [], []
    for loaded in load_batches(in_batches(visits, 50), classes, learner.backbone.image_size, workers=0):
        found = learner.scores(loaded.batch.images)
        scores.append(found[:, [learner.labels.column(name) for name in classes]])
        labels.append(loaded.batch.labels)
    values = multilabel_scores(torch.cat(scores), torch.cat(labels)).ap
    return {name: value for name, value in zip(classes, values, strict=True) if value is not None}


def mean(values: dict[str, float], names: Sequence[str]) -> float:
    return float(np.mean([values[name] for name in names if name in values]))


def figures(results: Sequence[dict[str, float]], tasks: Sequence[Task]) -> list[float]:
    """Return a row of the table: average and last mAP, and of each half of the classes the AP then and now."""
    then = {
        name: result[name]
        for result, task in zip(results, tasks, strict=True)
        for name in task.classes
        if name in result
    }
    now = results[-1]
    halves = [mean(values, half) for half in (BY_FREQUENCY[:HALF], BY_FREQUENCY[-HALF:]) for values in (then, now)]
    return [float(np.mean([mean(result, list(result)) for result in results])), mean(now, list(now)), *halves]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    dataset = load_dataset("toybox", **SCENES)
    tasks = make_tasks(OPTIONS["tasks"], dataset.classes)
    kinds = {"the task": tasks, "all classes seen": with_all_before(tasks)}
    rows: dict[str, list[list[float]]] = {kind: [] for kind in kinds}
    for seed in track(range(given.seeds), "learning", console=Console(stderr=True)):
        for kind, labels_of in kinds.items():
            rows[kind].append(figures(learn(dataset, tasks, labels_of, seed), tasks))
    table = Table("labels of", "average mAP", "last mAP", "frequent: then", "now", "rare: then", "now")
    for kind, values in rows.items():
        spread = zip(np.mean(values, axis=0), np.std(values, axis=0), strict=True)
        table.add_row(kind, *(f"{middle:.1f} ± {std:.1f}" for middle, std in spread))
    Console().print(table)


if __name__ == "__main__":
    main()
