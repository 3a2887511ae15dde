"""What looking at regions brings to a prediction, and what it costs, by how it is done.

    cuter run … --dataset-options train=train --dataset-options test=val --out RUN
    python benchmarks/predict.py RUN [RUN …] --images 600

Of each finished run the learner predicts images of its test split in every way: number of regions, size at which
they are looked at, how their scores join that of the whole image, up to which share of the patches a region is looked
at, and how high the second score of an image must be for that. The cost is in forwards of whole images, timed in the
same run; images without a second look are not cut. Figures are means over the runs. How regions are predicted was
chosen with it, on VOC train → val.
"""

import argparse
import itertools
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from cuter.cut import mask_cut
from cuter.learn.learner import Learner
from cuter.measure.metrics import multilabel_scores
from cuter.runs.config import load_saved_config
from cuter.runs.plan import make_plan
from cuter.stream.images import read_images
from cuter.stream.resize import resize

COUNTS = (1, 2, 3)
LARGEST = (0.4, 1.0)  # share of the patches up to which a region is looked at
SECOND = (0.0, 0.6, 0.7, 0.75, 0.8)  # second highest score from which an image is looked at again
FIGURES = ("map", "cf1_mean@0.8", "of1@0.8")


@dataclass
class Seen:
    """What a learner says of images: logits (n, C) of the whole, (n, regions, C) by size; -inf without a region."""

    labels: Tensor
    whole: Tensor
    regions: dict[int, Tensor]
    areas: Tensor  # (n, regions), the share of the patches; 0 without a region
    seconds: dict[str | int, float]


def look(folder: Path, count: int, sizes: list[int], batch: int) -> Seen:
    """Let the learner of a run look at test images and at their regions in all sizes."""
    learner = Learner.load(folder, device="cpu")
    config = load_saved_config(folder / "config.yaml").model_copy(update={"limit_test": None})
    visits = make_plan(config).test[-1]
    order = torch.randperm(len(visits), generator=torch.Generator().manual_seed(0))[:count].tolist()
    samples = [visits[place].sample for place in order]
    names, cut, model = learner.labels.names, learner.cut_settings, learner.model
    seconds: dict[str | int, float] = dict.fromkeys(("whole", "cut", *sizes), 0.0)
    whole, regions, areas = [], {size: [] for size in sizes}, []

    def timed(what: str | int, start: float) -> None:
        seconds[what] += time.process_time() - start

    for start in range(0, len(samples), batch):
        images = read_images([sample.path for sample in samples[start : start + batch]], learner.backbone.image_size)
        with model.inference():
            clock = time.process_time()
            features = model.backbone(images)
            whole.append(model.head.predict_logits(features))
            timed("whole", clock)
            clock = time.process_time()
            found = mask_cut(
                features.patches,
                features.grid,
                max(COUNTS),
                cut.tau,
                centre=cut.centre,
                self_loop_weight=cut.self_loop_weight,
            )
            timed("cut", clock)
            boxes = found.pixel_boxes(*images.shape[2:]).tolist()
            places = found.found.nonzero().tolist()
            areas.append(found.masks.float().mean(dim=(2, 3)))
            for size in sizes:
                clock = time.process_time()
                crops = []
                for image, number in places:
                    x1, y1, x2, y2 = boxes[image][number]
                    crops.append(resize(images[image, None, :, y1:y2, x1:x2], size))
                found_scores = torch.full((*found.found.shape, len(names)), -torch.inf)
                if crops:
                    found_scores[found.found] = model.predict_logits(torch.cat(crops))
                timed(size, clock)
                regions[size].append(found_scores)
    labels = torch.tensor([[name in sample.labels for name in names] for sample in samples])
    scores = {size: torch.cat(parts) for size, parts in regions.items()}
    return Seen(labels, torch.cat(whole), scores, torch.cat(areas), seconds)


def joined(seen: Seen, size: int, count: int, join: str, *, largest: float, second: float) -> tuple[Tensor, float]:
    """Return logits of one way to predict, and its cost in forwards of whole images."""
    again = torch.sigmoid(seen.whole).topk(2, dim=1).values[:, 1] > second
    asked = (seen.areas[:, :count] > 0) & (seen.areas[:, :count] <= largest) & again.unsqueeze(1)
    best = seen.regions[size][:, :count].masked_fill(~asked.unsqueeze(2), -torch.inf).amax(dim=1)
    best = torch.where(best.isfinite(), best, seen.whole)
    a_forward = seen.seconds["whole"] / len(seen.whole)
    a_look = seen.seconds[size] / max(int((seen.areas > 0).sum()), 1)
    a_cut = seen.seconds["cut"] / len(seen.whole) / max(COUNTS)
    cost = (
        1 + (asked.sum(dim=1).float().mean().item() * a_look + again.float().mean().item() * count * a_cut) / a_forward
    )
    return (seen.whole + best) / 2 if join == "mean" else torch.maximum(seen.whole, best), cost


def figures(logits: Tensor, labels: Tensor) -> list[float]:
    """Return mAP, CF1 and OF1."""
    scores = multilabel_scores(torch.sigmoid(logits), labels)
    return [scores[figure] or 0.0 for figure in FIGURES]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--images", type=int, default=600)
    parser.add_argument("--sizes", nargs="+", type=int, default=[224, 160])
    parser.add_argument("--batch-size", type=int, default=32)
    given = parser.parse_args()
    torch.set_num_threads(1)
    seen = [look(folder, given.images, given.sizes, given.batch_size) for folder in given.runs]
    heads = ("regions", "pixels", "join", "up to", "second", *FIGURES, "cost")
    print(f"| {' | '.join(heads)} |\n|{'---:|' * len(heads)}")
    plain = torch.tensor([figures(one.whole, one.labels) for one in seen]).mean(dim=0)
    print(f"| 0 | – | – | – | – | {' | '.join(f'{value:.2f}' for value in plain.tolist())} | 1.00 |")
    ways = itertools.product(COUNTS, given.sizes, ("max", "mean"), LARGEST, SECOND)
    for count, size, join, largest, second in ways:
        found = [joined(one, size, count, join, largest=largest, second=second) for one in seen]
        rows = [figures(logits, one.labels) for (logits, _), one in zip(found, seen, strict=True)]
        values = " | ".join(f"{value:.2f}" for value in torch.tensor(rows).mean(dim=0).tolist())
        cost = sum(cost for _, cost in found) / len(found)
        print(f"| {count} | {size} | {join} | {largest} | {second} | {values} | {cost:.2f} |")


if __name__ == "__main__":
    main()
