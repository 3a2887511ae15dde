"""How well scores and probabilities agree with what is observed, by how probabilities are made of scores.

    cuter run --dataset voc --data-root VOCdevkit --backbone FOLDER --tasks 5x4 --limit-train 1500 --out RUN
    python benchmarks/calibration.py RUN [RUN …] --test 600 --picture calibration.png

or, training a run of its own first, in RUNS/DATASET-METHOD:

    python benchmarks/calibration.py --dataset voc --data-root VOCdevkit --backbone FOLDER --method rs --out RUNS

Of each finished run the learner scores test images; then probabilities are made of the scores in every way: not at all,
by the closed form of the loss, by the line that comes with a learner, and by lines fitted to some training images that
the run did not show to it, or to what its memory holds. Held-back images are drawn anew `--draws` times, and figures
are means over the draws. CF1 is the mean of per-class F1; 0.8 is the threshold of papers, for raw scores alone.
All rows are measured on the same test images, and no image of a fit is among them.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from torch import Tensor

from cuter import Learner, load_dataset
from cuter.learn.calibration import Calibration, fit_calibration
from cuter.learn.predictors import PREDICTORS
from cuter.learn.replay import as_batch
from cuter.measure.calibration import (
    Bin,
    brier_score,
    calibration_error,
    class_calibration_errors,
    reliability_bins,
)
from cuter.measure.metrics import f1_figures, multilabel_scores
from cuter.runs.config import RunConfig, load_saved_config
from cuter.runs.run import start
from cuter.show.run_display import RunDisplay
from cuter.stream.loading import load_batches
from cuter.stream.samples import Sample, pick
from cuter.stream.tasks import StreamSample, in_batches

HELD_BACK = (30, 100, 300)
THRESHOLDS = (0.5, 0.3, 0.8)  # the last is that of papers, for raw scores alone
F1 = tuple(f"{name} at {threshold}" for threshold in THRESHOLDS for name in ("CF1", "OF1"))
HEAD = ("run", "probabilities", "ECE", "class-wise", "Brier", "mAP", *F1)
BATCH = 64

Truth = tuple[Tensor, Tensor]  # bool (images, classes): labels and known


def closed_form(scores: Tensor) -> Tensor:
    """Return the probabilities at which the asymmetric loss is minimal for these scores."""
    odds = scores * (scores - 0.05).clamp(min=0) ** 4 / (1.05 - scores)
    return odds / (1 + odds)


def look(learner: Learner, samples: Sequence[Sample]) -> tuple[Tensor, Truth]:
    """Let a learner score images."""
    names = learner.labels.names
    visits = [StreamSample(sample, frozenset(names) & (sample.known or frozenset(names))) for sample in samples]
    scores, labels, known = [], [], []
    for loaded in load_batches(in_batches(visits, BATCH), names, learner.backbone.image_size, workers=0):
        scores.append(learner.scores(loaded.batch.images, BATCH))
        labels.append(loaded.batch.labels)
        known.append(loaded.batch.known)
    return torch.cat(scores), (torch.cat(labels), torch.cat(known))


def look_at_memory(learner: Learner, unknown: str) -> tuple[Tensor, Truth]:
    """Let a learner score what its memory holds; labels that nobody looked at are 'ignored' or 'absent'."""
    items = learner.memory.take(range(len(learner.memory))).items
    batch = as_batch(items, learner.labels.names, learner.backbone.image_size, unknown)
    scores = []
    for first in range(0, len(items), BATCH):
        part = slice(first, first + BATCH)
        visible = None if batch.visible is None else batch.visible[part]
        with learner.model.inference():
            scores.append(torch.sigmoid(learner.model.predict_logits(batch.images[part], visible).float()))
    return torch.cat(scores), (batch.labels, batch.known)


def figures(probabilities: Tensor, truth: Truth) -> list[float]:
    """Return the columns of the table, in percent."""
    labels, known = (one.numpy() for one in truth)
    by_class = [error for error in class_calibration_errors(probabilities, *truth) if error is not None]
    pooled, squared = calibration_error(probabilities, *truth), brier_score(probabilities, *truth)
    errors = [100 * (error or 0.0) for error in (pooled, sum(by_class) / len(by_class), squared)]
    decided = [f1_figures(known & (probabilities.numpy() > threshold), labels) for threshold in THRESHOLDS]
    pairs = [found[name] or 0.0 for found in decided for name in ("cf1_mean", "of1")]
    return [*errors, multilabel_scores(probabilities, *truth)["map"] or 0.0, *pairs]


def ways(
    learner: Learner, held_back: Sequence[tuple[Tensor, Truth]], scores: Tensor
) -> Iterator[tuple[str, list[Tensor]]]:
    """Yield each way to make probabilities, and what it gives, once for each draw."""
    names = learner.labels.names

    def fitted(seen: Tensor, truth: Truth, *, shared_only: bool = False) -> Tensor:
        found = fit_calibration(seen, *truth, names)
        return (Calibration(found.shared) if shared_only else found)(scores, names)

    yield "raw score", [scores]
    yield "closed form", [closed_form(scores)]
    yield "unfitted line", [Calibration()(scores, names)]
    for count in HELD_BACK:
        some = [(seen[:count], (labels[:count], known[:count])) for seen, (labels, known) in held_back]
        yield f"one line, {count} images", [fitted(*one, shared_only=True) for one in some]
        yield f"line per class, {count} images", [fitted(*one) for one in some]
    for unknown in ("ignored", "absent"):
        yield f"line per class, memory, unknown {unknown}", [fitted(*look_at_memory(learner, unknown))]


def measure(folder: Path, given: Any) -> dict[str, tuple[list[float], tuple[Bin, ...]]]:
    """Print the rows of a run; return their figures and the reliability of the first draw, by way."""
    learner = Learner.load(folder, device="cpu")
    learner.predictor = PREDICTORS["regions" if given.regions else "whole"](learner.model, learner.cut_settings)
    config = load_saved_config(folder / "config.yaml")
    dataset = load_dataset(config.dataset, given.data_root or config.data_root, **config.dataset_options)
    learned = {sample.id for sample in pick(dataset.train, config.limit_train or len(dataset.train))}
    unseen = [sample for sample in dataset.train if sample.id not in learned]
    if len(unseen) < max(HELD_BACK):
        raise SystemExit(f"{folder}: {len(unseen)} training images are left; --limit-train must leave {max(HELD_BACK)}")
    scores, truth = look(learner, pick(dataset.test, given.test))
    pool = pick(unseen, 2 * max(HELD_BACK), seed=1)
    pool_scores, (labels, known) = look(learner, pool)
    orders = [torch.randperm(len(pool), generator=torch.Generator().manual_seed(seed)) for seed in range(given.draws)]
    held_back = [(pool_scores[order], (labels[order], known[order])) for order in orders]
    found = {}
    name = f"{config.dataset} {learner.settings.method}"
    for way, drawn in ways(learner, held_back, scores):
        values = torch.tensor([figures(probabilities, truth) for probabilities in drawn]).mean(dim=0).tolist()
        found[way] = values, reliability_bins(drawn[0], *truth)
        cells = [f"{value:.2f}" for value in values]
        if way != "raw score":
            cells[-2:] = ["–", "–"]
        print(f"| {name} | {way} | {' | '.join(cells)} |", flush=True)
    return found


def draw(found: dict[str, dict[str, tuple[list[float], tuple[Bin, ...]]]], file: Path) -> None:
    """Draw a reliability diagram for each run, three in a row, and their legend in the place behind the last."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from cuter.show.style import BLUE, GREEN, GREY, MEDIUM, VERMILION, new_figure, tidy

    shown = {
        "raw score": (VERMILION, "s"),
        "unfitted line": (GREEN, "^"),
        f"line per class, {HELD_BACK[-1]} images": (BLUE, "o"),
    }
    rows = len(found) // 3 + 1
    figure = new_figure(9, 3.3 * rows, dpi=110)
    FigureCanvasAgg(figure)
    *panels, last = figure.subplots(rows, 3).flat[: len(found) + 1]
    for axes, (name, ways_found) in zip(panels, found.items(), strict=True):
        axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--", zorder=1)
        for way, (colour, marker) in shown.items():
            points = [(one.probability, one.frequency) for one in ways_found[way][1] if one.count]
            axes.plot(*zip(*points, strict=True), color=colour, marker=marker, markersize=4, linewidth=1.4, label=way)
        errors = " → ".join(f"{ways_found[way][0][0]:.1f}" for way in shown)
        tidy(axes, f"{name}\nECE {errors}", "mean probability in a bin", "share that shows the class")
        axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    last.legend(*panels[0].get_legend_handles_labels(), loc="center left", fontsize=MEDIUM, frameon=False)
    for axes in figure.axes[len(found) :]:
        axes.axis("off")
    figure.savefig(file, facecolor="white")


def train(given: Any) -> Iterator[Path]:
    """Carry out a run for each method, or take the one that is there."""
    tasks = {"voc": "5x4", "coco": "8x10"}
    for method in given.method:
        folder = given.out / f"{given.dataset}-{method}"
        if not (folder / "summary.json").is_file():
            config = RunConfig(
                dataset=given.dataset,
                data_root=given.data_root,
                backbone=given.backbone,
                method=method,
                tasks=tasks[given.dataset],
                memory={"images": given.limit_train // 5},
                limit_train=given.limit_train,
                limit_test=given.test,
                device="cpu",
            )
            start(config, folder, RunDisplay(Console(stderr=True)))
        yield folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", type=Path, help="folders of finished runs; without any, runs are trained")
    parser.add_argument("--dataset", choices=("voc", "coco"), default="voc")
    parser.add_argument("--data-root", type=Path, help="by default that of the run")
    parser.add_argument("--backbone")
    parser.add_argument("--method", nargs="+", default=["rs"])
    parser.add_argument("--limit-train", type=int, default=400)
    parser.add_argument("--out", type=Path, default=Path("calibration-runs"), help="folder for runs that are trained")
    parser.add_argument("--test", type=int, default=600, help="test images")
    parser.add_argument("--draws", type=int, default=5, help="draws of held-back images")
    parser.add_argument("--regions", action="store_true", help="predict with regions")
    parser.add_argument("--picture", type=Path, help="file for a reliability diagram of all runs")
    given = parser.parse_args()
    if not given.runs and not (given.data_root and given.backbone):
        parser.error("name folders of runs, or --data-root and --backbone to train some")
    torch.set_num_threads(1)
    print(f"| {' | '.join(HEAD)} |\n|---|---|{'---:|' * (len(HEAD) - 2)}")
    found = {}
    for folder in given.runs or train(given):
        method = load_saved_config(folder / "config.yaml")
        found[f"{method.method}, {method.dataset.upper()}"] = measure(folder, given)
    if given.picture:
        draw(found, given.picture)


if __name__ == "__main__":
    main()
