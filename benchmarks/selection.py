"""Which cut-outs each rule of selection would keep, and how many of them show what they are labelled with.

    python benchmarks/selection.py --data-root VOCdevkit --backbone FOLDER

A learner of CUTER meets a stream of VOC train; every cut-out that it considers is noted with its scores, and afterwards
each rule judges all of them. Boxes tell whether the label is inside (as in cuter.measure.purity).
"""

import argparse
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch import Tensor

from cuter.learn.keepers import Kept
from cuter.learn.keepers.cut_outs import CutOuts
from cuter.learn.keepers.selection import KEPT, Candidates, Verdicts, by_thresholds, relative_to_image
from cuter.learn.learner import Learner
from cuter.learn.model import View
from cuter.measure.purity import shows
from cuter.memory import Item
from cuter.runs.config import RunConfig
from cuter.runs.plan import make_plan
from cuter.stream.batch import Batch
from cuter.stream.loading import load_batches
from cuter.stream.samples import Sample

TAU1, TAU2 = 0.55, 0.8


def printed(some: Candidates) -> Verdicts:
    """Eq. 2 with the lower threshold for all classes, the milder of the two."""
    return by_thresholds(some, torch.full((some.scores.shape[1],), TAU1))


def known_only(some: Candidates) -> Candidates:
    """Look only at the classes that somebody looked for."""
    return replace(some, scores=some.scores * some.known)


def even_odds(some: Candidates) -> Verdicts:
    """Keep what is more likely than not one class, and no other: a score of 0.8 is a probability of one half."""
    clear = some.scores.masked_fill(
        some.scores < TAU2, 0
    )  # what is below counts for nothing, so that 0.5 does not matter
    return by_thresholds(replace(some, scores=clear), torch.full((some.scores.shape[1],), TAU2))


def highest(some: Candidates) -> Verdicts:
    """Keep whatever scores highest for a given label, as the authors' code does."""
    column = some.scores.argmax(dim=1)
    is_given = some.labels.gather(1, column.unsqueeze(1))[:, 0].tolist()
    return Verdicts(column, [KEPT if given else "another label" for given in is_given])


RULES: dict[str, Callable[[Candidates], Verdicts]] = {
    "highest score, all classes seen": highest,
    "highest score, known classes": lambda some: highest(known_only(some)),
    f"printed: > {TAU1}, second < 0.5, all classes seen": printed,
    f"printed: > {TAU1}, second < 0.5, known classes": lambda some: printed(known_only(some)),
    f"> {TAU2}, second < {TAU2}, all classes seen": even_odds,
    f"> {TAU2}, second < {TAU2}, known classes": lambda some: even_odds(known_only(some)),
    "relative to the image (cuter)": relative_to_image,
}


class Watch:
    """A keeper that first notes all cut-outs of a batch, with the classes that each shows, and then does its work."""

    def __init__(self, learner: Learner, samples: dict[str, Sample]):
        assert isinstance(learner.keeper, CutOuts)
        self.keeper = learner.keeper
        self.all = CutOuts(learner.model, self.keep_all, None)
        self.samples, self.size = samples, learner.backbone.image_size
        self.notes: list[tuple[Candidates, Tensor]] = []
        self.seen: Candidates

    def keep_all(self, candidates: Candidates) -> Verdicts:
        """Refuse nothing, and remember what was asked."""
        self.seen = candidates
        return Verdicts(candidates.scores.argmax(dim=1), [KEPT] * len(candidates.scores))

    def __call__(self, batch: Batch, view: View) -> Kept:
        """Note, then keep."""
        items = self.all(batch, view).items
        if items:
            shown = [[_shows(item, name, self.samples, self.size) for name in batch.names] for item in items]
            self.notes.append((self.seen, torch.tensor(shown)))
        return self.keeper(batch, view)


def _shows(item: Item, name: str, samples: dict[str, Sample], size: int) -> bool:
    return item.box is not None and shows(item.box, name, samples[item.id], size)


def judge(
    rule: Callable[[Candidates], Verdicts], notes: list[tuple[Candidates, Tensor]], names: tuple[str, ...]
) -> list[str]:
    """Return what a rule keeps of all cut-outs, as cells of the table."""
    total, pure, classes = 0, 0, Counter[str]()
    for candidates, shown in notes:
        verdicts = rule(candidates)
        total += len(shown)
        for row, (column, reason) in enumerate(zip(verdicts.columns.tolist(), verdicts.reasons, strict=True)):
            if reason == KEPT:
                classes[names[column]] += 1
                pure += int(shown[row, column])
    kept = classes.total()
    (name, count), *_ = classes.most_common(1) or [("–", 0)]
    share = 100 / max(kept, 1)
    return [f"{100 * kept / total:.1f} %", f"{pure * share:.1f} %", f"{len(classes)}", f"{name}, {count * share:.0f} %"]


def main() -> None:
    """Learn, judge and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-root", type=Path, required=True)
    parser.add_argument("--backbone", required=True)
    parser.add_argument("--images", type=int, default=1000)
    given = parser.parse_args()
    config = RunConfig(
        method="cuter", dataset="voc", data_root=given.data_root, backbone=given.backbone, tasks="5x4",
        dataset_options={"train": "train", "test": "val"}, limit_train=given.images,
        memory={"images": given.images // 5},
    )  # fmt: skip
    plan = make_plan(config)
    learner = Learner.create("cuter", backbone=given.backbone, memory={"images": config.memory_images})
    samples = {v.sample.id: v.sample for batches in plan.learn for batch in batches for v in batch}
    learner.keeper = watch = Watch(learner, samples)
    for task, batches in enumerate(plan.learn):
        loading = load_batches(batches, plan.names(task), learner.backbone.image_size)
        for loaded in track(loading, f"task {task + 1}", total=len(batches)):
            learner.observe(loaded.batch)
    cut_outs = sum(len(shown) for _, shown in watch.notes)
    table = Table("rule", "kept", "pure", "classes", "most frequent", title=f"{cut_outs} cut-outs")
    for name, rule in RULES.items():
        table.add_row(name, *judge(rule, watch.notes, learner.labels.names))
    second = [candidates.scores.topk(2, dim=1).values[:, 1] for candidates, _ in watch.notes]
    console = Console()
    console.print(table)
    console.print(f"second highest score over all classes seen: median {torch.cat(second).median():.2f}")


if __name__ == "__main__":
    main()
