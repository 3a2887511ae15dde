"""Regions when predicting, regions when learning, and old classes in the stream: what each brings, and both together.

    python benchmarks/bags.py --data-root VOCdevkit --backbone FOLDER

*Predicted with regions*: the mean of the logits of the whole image and of its best region, as `--predictor regions` has
it, but for every image. *Bags*: that same mean is what the loss sees, in the stream and at replay, so that whole image
and regions are trained together as a bag with the image's labels. Learners are those of `benchmarks/rates.py`: RS with
a frozen backbone, VOC train → val, seconds per run. Features of regions are stored too, so bags cost nothing here; with
a backbone that learns they take two more forwards and backwards per image.
"""

import itertools
from dataclasses import dataclass, replace

import torch
from rich.console import Console
from rich.progress import track
from torch import Tensor

from cuter import Learner, load_backbone
from cuter.backbone import Features
from cuter.cut import Localiser
from cuter.learn.model import Model, View
from cuter.learn.predictors import REGIONS
from cuter.stream.images import read_images
from cuter.stream.resize import enlarged
from rates import Experiment, numbers_of, parse_arguments

TARGETS = ("ignored", "absent-if-sure")
BELOW = 0.7  # of absent-if-sure


@dataclass(frozen=True)
class StoredRegions:
    """Embeddings (N, REGIONS, D) of the regions of all images, and which of them there are, (N, REGIONS)."""

    embeddings: Tensor
    found: Tensor

    def joined(self, model: Model, images: Tensor, features: Features, whole: Tensor) -> Tensor:
        """Return the mean of the whole image's logits and its best region's, (B, C)."""
        numbers = numbers_of(images)
        looks = [
            model.head(replace(features, embedding=self.embeddings[numbers, place])).logits for place in range(REGIONS)
        ]
        there = self.found[numbers]
        best = torch.stack(looks, dim=1).masked_fill(~there.unsqueeze(2), -torch.inf).amax(dim=1)
        return torch.where(there.any(dim=1, keepdim=True), (whole + best) / 2, whole)


@torch.no_grad()
def store_regions(name: str, experiment: Experiment, console: Console) -> StoredRegions:
    """Cut all images, and compute the features of their regions."""
    localiser = Localiser(load_backbone(name))
    backbone, samples = localiser.backbone, [*experiment.train, *experiment.test]
    embeddings = torch.zeros(len(samples), REGIONS, backbone.embedding_dim)
    found = torch.zeros(len(samples), REGIONS, dtype=torch.bool)
    for start in track(range(0, len(samples), 32), "regions", console=console):
        images = read_images([sample.path for sample in samples[start : start + 32]], backbone.image_size)
        regions = localiser.cut(images, REGIONS)
        row, place = regions.found.nonzero(as_tuple=True)
        boxes = regions.pixel_boxes(*images.shape[2:])[row, place]
        embeddings[start + row, place] = backbone(enlarged(images[row], boxes.tolist())).embedding
        found[start : start + 32] = regions.found
    return StoredRegions(embeddings, found)


class WithRegions(Model):
    """A model that looks at stored regions when it predicts, when it learns, or both."""

    def __init__(self, model: Model, regions: StoredRegions, *, when_learning: bool, when_predicting: bool):
        super().__init__(model.backbone, model.head)
        self.regions = regions
        self.when_learning, self.when_predicting = when_learning, when_predicting

    def forward(self, images: Tensor, visible: Tensor | None = None) -> View:
        """Return the view of a batch that is learned from."""
        view = super().forward(images, visible)
        if not self.when_learning:
            return view
        return replace(view, logits=self.regions.joined(self, images, self.backbone(images), view.logits))

    def judge(self, images: Tensor, visible: Tensor | None = None) -> Tensor:
        """Return the logits that a prediction is made of."""
        features = self.backbone(images)
        whole = self.head.predict_logits(features)
        return self.regions.joined(self, images, features, whole) if self.when_predicting else whole


def main() -> None:
    given = parse_arguments(__doc__ or "")
    torch.set_num_threads(1)
    console = Console(stderr=True)
    experiment = Experiment(given, console)
    regions = store_regions(given.backbone, experiment, console)
    heads = ("old classes in the stream", "learned from", "predicted from", "average mAP", "last mAP")
    print(f"| {' | '.join(heads)} |\n|---|---|---|---:|---:|")
    ways = ((False, False), (False, True), (True, True))
    for target, (learning, predicting) in itertools.product(TARGETS, ways):

        def look(learner: Learner, learning: bool = learning, predicting: bool = predicting) -> None:
            learner.model = WithRegions(learner.model, regions, when_learning=learning, when_predicting=predicting)

        options = {"targets": target} | ({"targets.below": BELOW} if target == "absent-if-sure" else {})
        found = [experiment.run("rs", seed, prepare=look, **options) for seed in range(given.seeds)]
        average, last = (sum(values) / len(values) for values in zip(*found, strict=True))
        seen = ["bags" if learning else "whole images", "regions too" if predicting else "whole images"]
        print(f"| {target} | {' | '.join(seen)} | {average:.2f} | {last:.2f} |")


if __name__ == "__main__":
    main()
