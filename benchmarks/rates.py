"""Learning rates of each head, and the weight of replay, chosen on VOC train → val with a frozen backbone.

    python benchmarks/rates.py --data-root VOCdevkit --backbone FOLDER                 # rates, ten minutes on one core
    python benchmarks/rates.py --data-root VOCdevkit --backbone FOLDER --what replay   # weight of replay, mean or sum
    python benchmarks/rates.py --data-root VOCdevkit --backbone FOLDER --what heads    # what heads see, what predicts
    python benchmarks/rates.py --data-root VOCdevkit --backbone FOLDER --what edges    # what makes an edge of AGCN

The features of all images are computed once, without augmentation. The learners are those of `cuter run`, with the same
stream, memory and tests, on images of one pixel whose value is the number of an image: a stand-in for the backbone
looks up the stored features. So a run takes seconds, and every head gets the same grid over several seeds. What moves
features (the rate of the backbone) is not part of it.
"""

import argparse
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import track
from torch import Tensor, nn

from cuter import Batch, Learner, load_backbone, load_dataset
from cuter.backbone.features import Features
from cuter.learn.heads import correlation
from cuter.learn.settings import LearnerSettings
from cuter.measure.metrics import multilabel_scores
from cuter.measure.protocol import seen_samples
from cuter.settings import validated
from cuter.stream.images import read_images
from cuter.stream.samples import Sample, pick
from cuter.stream.tasks import Task, in_batches, make_tasks, plan_stream, with_all_before

TASKS, BATCH = "5x4", 12
ROWS = (3e-4, 1e-3, 3e-3, 1e-2)  # rates of what a class brings to the head
SHARED = (3e-5, 1e-4, 3e-4)  # rates of what all classes share
LINEAR = ("rs", "icarl", "nsce")  # nothing is shared in their heads
GRAPHS = ("krt", "apple", "agcn", "agcn++")
OTHERS = ("gss", "prs", "ocdm")  # the head of rs, with another memory


class Stored(nn.Module):
    """Stands in for a backbone that is not trained: the value of a pixel is the number of an image."""

    name, features, image_size, patch_size, is_cnn, blocks = "stored", "tokens", 1, 1, True, 0

    def __init__(self, embeddings: Tensor, tokens: Tensor, grid: tuple[int, int]):
        super().__init__()
        self.embeddings, self.tokens, self.grid = embeddings, tokens, grid
        self.embedding_dim = embeddings.shape[1]
        self.nothing = nn.Parameter(torch.zeros(1))  # the optimiser wants something of the backbone

    def __deepcopy__(self, memo: dict[int, Any]) -> "Stored":
        return self  # the model of the task before sees the same features

    def set_features(self, features: str | None) -> None:
        """There is one kind."""

    def forward(self, images: Tensor, visible: None = None) -> Features:
        """Look the features up."""
        numbers = numbers_of(images)
        tokens = self.tokens[numbers].float()
        return Features(self.embeddings[numbers], tokens, self.grid, tokens)


def as_pixels(numbers: Sequence[int]) -> Tensor:
    """Write numbers as images (B, 3, 1, 1)."""
    digits = [[number % 256, number // 256 % 256, number // 256**2] for number in numbers]
    return torch.tensor(digits, dtype=torch.uint8).reshape(-1, 3, 1, 1)


def numbers_of(images: Tensor) -> Tensor:
    """Read the numbers that `as_pixels` wrote, also from images that were brought to 0..1."""
    digits = (images if images.dtype == torch.uint8 else (images * 255).round()).long().flatten(1)
    return digits @ torch.tensor([1, 256, 256**2])


@torch.no_grad()
def store(backbone_name: str, samples: Sequence[Sample], console: Console) -> Stored:
    """Compute the features of all samples, in half precision."""
    backbone = load_backbone(backbone_name).eval()
    backbone.set_features("tokens")
    embeddings, tokens, grid = [], [], (0, 0)
    for start in track(range(0, len(samples), 32), "features", console=console):
        seen = backbone(read_images([sample.path for sample in samples[start : start + 32]], backbone.image_size))
        grid = seen.grid
        embeddings.append(seen.embedding)
        tokens.append(seen.tokens.half())
    return Stored(torch.cat(embeddings), torch.cat(tokens), grid)


def parse_arguments(description: str) -> argparse.Namespace:
    """Read what benchmarks on stored features have in common."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-root", type=Path, required=True)
    parser.add_argument("--backbone", required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--train", type=int, default=1000, help="images of train")
    parser.add_argument("--test", type=int, default=600, help="images of val")
    parser.add_argument("--memory", type=int, default=200, help="images that memory holds")
    return parser.parse_args()


class Experiment:
    """A stream and its tests, on stored features."""

    def __init__(self, given: argparse.Namespace, console: Console):
        dataset = load_dataset("voc", given.data_root, train="train", test="val")
        self.train, self.test = pick(dataset.train, given.train), pick(dataset.test, given.test)
        samples = [*self.train, *self.test]
        self.number = {sample.id: number for number, sample in enumerate(samples)}
        self.backbone = store(given.backbone, samples, console)
        self.tasks = make_tasks(TASKS, dataset.classes)
        self.memory = given.memory

    def run(
        self, method: str, seed: int, prepare: Callable[[Learner], None] = lambda _: None, **settings: Any
    ) -> tuple[float, float]:
        """Learn the stream and return average and last mAP in percent. `prepare` may change the learner first."""
        correlation.EVIDENCE = settings.pop("evidence", correlation.EVIDENCE)
        common = {"method": method, "seed": seed, "augment": "none", "memory.images": self.memory, "replay.size": 6}
        learner = Learner(validated(LearnerSettings, common | settings), self.backbone, "cpu")  # type: ignore[arg-type]
        prepare(learner)
        results = []
        for visits, task, seen in zip(
            plan_stream(self.train, self.tasks, seed), self.tasks, with_all_before(self.tasks), strict=True
        ):
            for batch in in_batches(visits, BATCH):
                images = as_pixels([self.number[visit.sample.id] for visit in batch])
                labels = [sorted(visit.labels) for visit in batch]
                ids = [visit.sample.id for visit in batch]
                learner.observe(Batch.of(images, labels, known=task.classes, ids=ids))
            results.append(self.mean_ap(learner, seen))
        return sum(results) / len(results), results[-1]

    def mean_ap(self, learner: Learner, seen: Task) -> float:
        """Return mAP over the classes seen, on the test images that show one of them."""
        tested = seen_samples(self.test, seen.classes)
        scores = learner.scores(as_pixels([self.number[sample.id] for sample in tested]), 256)
        scores = scores[:, [learner.labels.column(name) for name in seen.classes]]
        labels = torch.tensor([[name in sample.labels for name in seen.classes] for sample in tested])
        found = multilabel_scores(scores, labels)["map"]
        assert found is not None
        return found


Trial = tuple[str, dict[str, Any]]


def rates() -> Iterable[Trial]:
    """The same grid for every head: rate of rows, and of what is shared where there is such."""
    for method, rows in itertools.product(LINEAR, ROWS):
        yield method, {"head.lr": rows}
    for method, rows, shared in itertools.product(GRAPHS, ROWS, SHARED):
        yield method, {"head.lr": rows, "head.shared_lr": shared}


def replay() -> Iterable[Trial]:
    """Weights of replay, with the mean and with the sum over known classes."""
    for method, reduction, weight in itertools.product(
        (*LINEAR, *OTHERS, *GRAPHS), ("mean", "sum"), (0.25, 0.5, 1.0, 2.0, 4.0)
    ):
        yield method, {"class_reduction": reduction, "replay.weight": weight}


def heads() -> Iterable[Trial]:
    """What the embedding of the image brings to class attention, and class means or rows to prototypes."""
    for method, sees in itertools.product(("krt", "apple"), ("patches", "image")):
        yield method, {"head.sees": sees}
    for method, scores in itertools.product(("icarl", "nsce"), ("means", "rows")):
        yield method, {"head.scores": scores}


def edges() -> Iterable[Trial]:
    """How many images a share of AGCN's graph needs before it makes an edge."""
    for method, images in itertools.product(("agcn", "agcn++"), (1e-6, 3, 10, 30)):
        yield method, {"evidence": images}


TRIALS = {"rates": rates, "replay": replay, "heads": heads, "edges": edges}


def table(method: str, results: Mapping[tuple[Any, ...], list[tuple[float, float]]], fields: Sequence[str]) -> str:
    """Return average / last mAP, means over seeds, in Markdown: rows by the first field, columns by the second."""
    columns = list(dict.fromkeys(values[1:] for values in results))
    heads = [f"{fields[1]} {values[0]}" if values else "average / last mAP" for values in columns]
    lines = [f"| `{method}`, {fields[0]} | {' | '.join(heads)} |", "|---|" + "---:|" * len(columns)]
    for row in dict.fromkeys(values[0] for values in results):
        pairs = [results[(row, *column)] for column in columns]
        cells = [" / ".join(f"{sum(kind) / len(kind):.1f}" for kind in zip(*seeds, strict=True)) for seeds in pairs]
        lines.append(f"| {row} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-root", type=Path, required=True)
    parser.add_argument("--backbone", required=True)
    parser.add_argument("--what", choices=TRIALS, default="rates")
    parser.add_argument("--only", action="append", help="only this method; may be repeated")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--train", type=int, default=600, help="images of train")
    parser.add_argument("--test", type=int, default=400, help="images of val")
    parser.add_argument("--memory", type=int, default=120, help="images that memory holds")
    given = parser.parse_args()
    torch.set_num_threads(1)
    console = Console(stderr=True)
    experiment = Experiment(given, console)
    trials = [(method, options) for method, options in TRIALS[given.what]() if not given.only or method in given.only]
    results: dict[str, dict[tuple[Any, ...], list[tuple[float, float]]]] = {}
    for method, options in track(trials, "runs", console=console):
        values = [experiment.run(method, seed, **options) for seed in range(given.seeds)]
        results.setdefault(method, {})[tuple(options.values())] = values
        console.print(method, options, [f"{average:.1f} / {last:.1f}" for average, last in values])
    fields = {method: list(options) for method, options in trials}
    for method, rows in results.items():
        print(f"\n{table(method, rows, fields[method])}")


if __name__ == "__main__":
    main()
