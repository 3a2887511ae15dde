"""What each regulariser does to a pre-trained backbone when it is lowered alone, and what it costs.

    python benchmarks/regularisers.py --data-root VOCdevkit --backbone FOLDER

For each regulariser the pre-trained backbone takes some AdamW steps on training images, with that term as its only
loss; then the held-out images are looked at again. Adam takes steps of one size whatever the size of the gradient, so
the forms are compared by where they lead. The row of 'nuclear', whose gradient is round-off, shows what steps in
random directions do. 'won, lost' are images where the first region became a hit, or ceased to be one.

The classification loss that alpha is relative to is the asymmetric loss on held-out images, with their true labels and
a linear head fitted to the pre-trained embeddings of the training images: random labels would overstate it, and rows of
zero give the backbone no gradient at all. Time is of the process's CPU, so that other processes count little.
"""

import argparse
import copy
import random
import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch import Tensor

from cuter.backbone import Backbone, Features
from cuter.cut import Localiser, fiedler_values, gaussian_affinity
from cuter.cut.graph import unit_features
from cuter.learn.heads import LinearHead
from cuter.learn.losses import asymmetric_loss
from cuter.learn.regularisers import REGULARISERS
from cuter.learn.settings import LearnerSettings
from cuter.measure.localisation import overlaps
from cuter.stream.datasets import load_dataset
from cuter.stream.samples import Sample
from localisation import Images, console, measure

BATCH = 12
PASSES = 10  # over the training images, to fit the head
ROUND_OFF = 1e-6  # gradients that are a smaller share of the parameters are none
SHARE = 0.1  # of the classification loss's gradient norm, which alpha gives the regulariser


@dataclass
class Held:
    """What a backbone makes of the held-out images."""

    fiedler: float
    corloc: float
    hard: float
    ap50: float
    hits: np.ndarray
    loss: float
    values: dict[str, float]


@dataclass
class Cost:
    """A regulariser's gradient beside others, and its time."""

    of_parameters: float
    of_loss: float
    milliseconds: float


@torch.no_grad()
def look(localiser: Localiser, head: LinearHead, held: Images, labels: Tensor) -> Held:
    parts = [localiser.features(batch) for batch in held.pixels.split(BATCH)]
    patches, embeddings = (torch.cat([getattr(part, kind) for part in parts]) for kind in ("patches", "embedding"))
    logits = head.logits(embeddings)
    regions = localiser.cut_features(Features(embeddings, patches, parts[0].grid, patches))
    figures = measure(regions, held.truths, localiser.backbone.image_size)
    boxes = regions.pixel_boxes(*held.pixels.shape[2:])[:, :1].double().numpy()
    return Held(
        fiedler=(fiedler_values(gaussian_affinity(unit_features(patches))) / patches.shape[1]).mean().item(),
        corloc=figures.corloc,
        hard=figures.hard,
        ap50=figures.ap50,
        hits=np.array([(overlaps(one, true) > 0.5).any() for one, true in zip(boxes, held.truths, strict=True)]),
        loss=asymmetric_loss(logits, labels, torch.ones_like(labels)).item(),
        values={name: form(patches, regions).item() for name, form in REGULARISERS.items()},
    )


def lower(localiser: Localiser, name: str, pixels: Tensor) -> None:
    """Take one step a batch on the regulariser alone."""
    defaults = LearnerSettings()
    optimizer = torch.optim.AdamW(localiser.backbone.parameters(), lr=defaults.lr, weight_decay=defaults.weight_decay)
    for batch in track(pixels.split(BATCH), name, console=console, transient=True):
        features = localiser.backbone(batch)
        regions = localiser.cut_features(features, max_regions=1)
        optimizer.zero_grad(set_to_none=True)
        REGULARISERS[name](features.patches, regions).backward()
        optimizer.step()


def fitted_head(backbone: Backbone, pixels: Tensor, labels: Tensor) -> LinearHead:
    with torch.no_grad():
        embeddings = torch.cat([backbone(batch).embedding for batch in pixels.split(BATCH)])
    head = LinearHead(backbone.embedding_dim)
    optimizer = torch.optim.AdamW(head.grow(labels.shape[1]), lr=LearnerSettings().head_lr)
    for _ in range(PASSES):
        for some, truth in zip(embeddings.split(BATCH), labels.split(BATCH), strict=True):
            optimizer.zero_grad(set_to_none=True)
            asymmetric_loss(head.logits(some), truth, torch.ones_like(truth)).backward()
            optimizer.step()
    return head


def costs(
    localiser: Localiser, head: LinearHead, pixels: Tensor, labels: Tensor
) -> tuple[dict[str, Cost], float, float]:
    """Return the cost of each regulariser, and the milliseconds of a step without one and of its cut: medians."""
    rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in REGULARISERS}
    steps, cuts = [], []
    backbone = localiser.backbone
    for batch, truth in zip(pixels.split(BATCH), labels.split(BATCH), strict=True):
        began = time.process_time()
        features = backbone(batch)
        loss = asymmetric_loss(head.logits(features.embedding), truth, torch.ones_like(truth))
        of_loss = gradients(loss, backbone)
        steps.append(time.process_time() - began)
        began = time.process_time()
        regions = localiser.cut_features(features)
        cuts.append(time.process_time() - began)
        for name, form in REGULARISERS.items():
            began = time.process_time()
            leaf = features.patches.detach().requires_grad_()
            form(leaf, regions).backward()
            spent = time.process_time() - began
            of_form = gradients(form(features.patches, regions), backbone)
            reached = {key: parameter for key, parameter in backbone.named_parameters() if key in of_form}
            size = norm(of_form.values())
            rows[name].append((size / norm(reached.values()), size / norm(of_loss[key] for key in of_form), spent))
    medians = {name: [statistics.median(column) for column in zip(*row, strict=True)] for name, row in rows.items()}
    found = {name: Cost(parameters, loss, 1000 * spent) for name, (parameters, loss, spent) in medians.items()}
    return found, 1000 * statistics.median(steps), 1000 * statistics.median(cuts)


def gradients(value: Tensor, backbone: Backbone) -> dict[str, Tensor]:
    """Return the gradients of the parameters that the value depends on, by name."""
    parameters = {name: one for name, one in backbone.named_parameters() if one.requires_grad}
    found = torch.autograd.grad(value, list(parameters.values()), retain_graph=True, allow_unused=True)
    return {name: slope for name, slope in zip(parameters, found, strict=True) if slope is not None}


def norm(tensors: Iterable[Tensor]) -> float:
    return float(torch.stack([tensor.detach().norm() for tensor in tensors]).norm())


def truth_of(samples: list[Sample], classes: Sequence[str]) -> Tensor:
    return torch.tensor([[name in sample.labels for name in classes] for sample in samples])


def main(arguments: argparse.Namespace) -> None:
    torch.manual_seed(0)
    localiser = Localiser.load(arguments.backbone)
    pretrained = localiser.backbone
    dataset = load_dataset(arguments.dataset, arguments.data_root)
    draw = random.Random(arguments.seed)
    train = draw.sample([sample for sample in dataset.train if sample.boxes], BATCH * arguments.steps)
    test = draw.sample([sample for sample in dataset.test if sample.boxes], arguments.images)
    seen, held = (Images.read(samples, pretrained.image_size) for samples in (train, test))
    seen_labels, held_labels = truth_of(train, dataset.classes), truth_of(test, dataset.classes)
    head = fitted_head(pretrained, seen.pixels, seen_labels)
    few = BATCH * arguments.batches
    cost, step, cut = costs(localiser, head, held.pixels[:few], held_labels[:few])
    before = look(localiser, head, held, held_labels)
    columns = ("lowered", "its value", "Fiedler", "CorLoc", "won, lost", "hard", "AP50", "loss")
    table = Table(*columns, "gradient / parameters", "alpha", "ms", box=box.MARKDOWN)
    table.add_row("nothing", "", *figures(before), "", "", "")
    for name in REGULARISERS:
        changed = Localiser(copy.deepcopy(pretrained), localiser.settings)
        lower(changed, name, seen.pixels)
        after = look(changed, head, held, held_labels)
        value = f"{before.values[name]:.4g} → {after.values[name]:.4g}"
        price = cost[name]
        alpha = f"{SHARE / price.of_loss:.1e}" if price.of_parameters > ROUND_OFF else "none"
        size = f"{price.of_parameters:.1e}"
        table.add_row(name, value, *figures(after, before), size, alpha, f"{price.milliseconds:.0f}")
    wide = Console(width=160)  # a table in a file must not fold
    wide.print(f"{localiser.settings.features}; {len(test)} held-out images; {arguments.steps} steps of {BATCH}")
    wide.print(table)
    wide.print(f"forward and backward of {BATCH} images without regulariser: {step:.0f} ms; their cut: {cut:.0f} ms")


def figures(now: Held, before: Held | None = None) -> list[str]:
    flips = f"{(now.hits & ~before.hits).sum()}, {(before.hits & ~now.hits).sum()}" if before else ""
    return [f"{now.fiedler:.4f}", f"{now.corloc:.3f}", flips, f"{now.hard:.3f}", f"{now.ap50:.3f}", f"{now.loss:.4f}"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="voc", help="A data set with boxes.")
    parser.add_argument("--data-root", type=Path, required=True)
    parser.add_argument("--backbone", required=True)
    parser.add_argument("--images", type=int, default=96, help="Held-out images.")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="Of the draw of images.")
    parser.add_argument("--batches", type=int, default=5, help="Held-out batches for gradients and times.")
    main(parser.parse_args())
