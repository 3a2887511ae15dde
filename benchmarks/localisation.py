"""How well cut-outs localise: the search behind the defaults of `cuter.cut.settings`, and what they give.

    python benchmarks/localisation.py search --data-root VOCdevkit --backbone FOLDER --out search.json
    python benchmarks/localisation.py test --data-root VOCdevkit --backbone FOLDER

`search` tries features, thresholds, centring and self-loops on images of VOC *train*; `test` takes the backbone's
defaults to all images of VOC *test*. CorLoc is of the first region, AP50 of two. 'Hard' is CorLoc on the images where
neither the whole image nor its middle is a hit: on VOC such a box, which looks at nothing, scores 0.3 to 0.4.
"""

import argparse
import itertools
import json
import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table

from cuter.backbone import Backbone, load_backbone
from cuter.cut import Regions, cut_settings, mask_cut
from cuter.measure.localisation import average_precision_50, corloc, overlaps
from cuter.stream.datasets import load_dataset
from cuter.stream.images import read_image, squash
from cuter.stream.samples import Sample

console = Console()


@dataclass
class Images:
    """Pixels at the backbone's size, and true boxes in those pixels."""

    pixels: torch.Tensor
    truths: list[np.ndarray]

    @classmethod
    def read(cls, samples: list[Sample], size: int) -> "Images":
        """Read the samples."""
        pixels, truths = [], []
        for sample in track(samples, "reading", console=console, transient=True):
            image = read_image(sample.path)
            scale = np.array([size / image.width, size / image.height] * 2)
            pixels.append(squash(image, size))
            boxes = [(box.x1, box.y1, box.x2, box.y2) for box in sample.boxes]
            truths.append(np.array(boxes, dtype=float).reshape(-1, 4) * scale)
        return cls(torch.stack(pixels), truths)


@dataclass
class Figures:
    """What one setting gives."""

    corloc: float
    hard: float
    ap50: float


def measure(regions: Regions, truths: list[np.ndarray], size: int) -> Figures:
    boxes, found = regions.pixel_boxes(size, size).numpy().astype(float), regions.found.numpy()
    kept = [box[there] for box, there in zip(boxes, found, strict=True)]
    first = [box[:1] if there[0] else box[:0] for box, there in zip(boxes, found, strict=True)]
    scores = [score[there] for score, there in zip(regions.scores.numpy(), found, strict=True)]
    hard = [not (overlaps(blind(size), true) > 0.5).any() for true in truths]
    return Figures(
        corloc(first, truths),
        corloc(*(list(itertools.compress(side, hard)) for side in (first, truths))),
        average_precision_50(kept, scores, truths),
    )


def blind(size: int) -> np.ndarray:
    """Return boxes that look at nothing: the whole image, and its middle."""
    margin = size * 3 / 28
    return np.array([[0, 0, size, size], [margin, margin, size - margin, size - margin]])


@torch.no_grad()
def encode(backbone: Backbone, pixels: torch.Tensor, features: str) -> torch.Tensor:
    backbone.set_features(features)
    batches = track(pixels.split(20), features, console=console, transient=True)
    return torch.cat([backbone(batch).patches.half() for batch in batches])


def search(arguments: argparse.Namespace) -> None:
    backbone = load_backbone(arguments.backbone).eval()
    samples = list(load_dataset("voc", arguments.data_root, train="train", test="val").train)
    images = Images.read(random.Random(0).sample(samples, arguments.images), backbone.image_size)
    grid = (backbone.image_size // backbone.patch_size,) * 2
    kinds = [f"{kind}@{block}" for kind in ("keys", "values", "queries") for block in range(5, backbone.blocks + 1)]
    rows = []
    for kind in arguments.features or [*kinds, "tokens"]:
        patches = encode(backbone, images.pixels, kind).float()
        for centre, tau, self_loop_weight in itertools.product(
            (False, True), arguments.tau, arguments.self_loop_weight
        ):
            regions = mask_cut(patches, grid, 2, tau, centre=centre, self_loop_weight=self_loop_weight)
            figures = measure(regions, images.truths, backbone.image_size)
            rows.append({"features": kind, "centre": centre, "tau": tau, "loops": self_loop_weight, **vars(figures)})
        show([row for row in rows if row["features"] == kind], 1)
        if arguments.out:
            arguments.out.write_text(json.dumps(rows, indent=1))
    show(rows, 25)


def show(rows: list[dict[str, object]], most: int) -> None:
    table = Table(*rows[0])
    for row in sorted(rows, key=lambda row: -row["ap50"])[:most]:  # type: ignore[operator]
        table.add_row(*(f"{value:.3f}" if isinstance(value, float) else str(value) for value in row.values()))
    console.print(table)


def test(arguments: argparse.Namespace) -> None:
    for name in arguments.backbone.split(","):
        backbone = load_backbone(name).eval()
        chosen = cut_settings(backbone)
        samples = [sample for sample in load_dataset("voc", arguments.data_root).test if sample.boxes]
        images = Images.read(samples, backbone.image_size)
        size, grid = backbone.image_size, (backbone.image_size // backbone.patch_size,) * 2
        patches = encode(backbone, images.pixels, chosen.features).float()
        regions = mask_cut(patches, grid, 2, chosen.tau, centre=chosen.centre, self_loop_weight=chosen.self_loop_weight)
        figures = measure(regions, images.truths, size)
        console.print(f"{name}, {len(samples)} images of VOC test: {chosen}")
        console.print(f"  CorLoc {figures.corloc:.3f}, hard {figures.hard:.3f}, AP50 {figures.ap50:.3f}")
        for box, called in zip(blind(size), ("whole image", "middle"), strict=True):
            console.print(f"  {called}: CorLoc {corloc([box[None]] * len(images.truths), images.truths):.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["search", "test"])
    parser.add_argument("--data-root", required=True)
    parser.add_argument("--backbone", required=True, help="Name of a backbone; for test also several, with commas.")
    parser.add_argument("--images", type=int, default=500, help="Images to search on.")
    parser.add_argument("--features", nargs="*")
    parser.add_argument("--tau", type=float, nargs="*", default=[0.0, 0.1, 0.2, 0.3, 0.4])
    parser.add_argument("--loops", type=float, nargs="*", default=[0.0, 1.0])
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    search(chosen) if chosen.what == "search" else test(chosen)
