"""How good a backbone is that nobody gave labels to: by its cut, and by what its neighbours have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from cuter.backbone import Backbone
from cuter.measure.cut_quality import as_boxes
from cuter.measure.knn import knn_map
from cuter.measure.probe import Probe
from cuter.pretrain.settings import PretrainSettings
from cuter.stream.loading import load_batches
from cuter.stream.samples import Dataset, Sample, pick
from cuter.stream.tasks import StreamSample, in_batches

BATCH = 64  # images looked at together


@dataclass(frozen=True, eq=False)
class Labelled:
    """Images (N, 3, H, W), and which classes are present and known, (N, C) each."""

    images: Tensor
    labels: Tensor
    known: Tensor


@dataclass(frozen=True)
class Judge:
    """Measures states of a backbone on the same images: the figures of `cuter assess`, and k-NN where labels are."""

    probe: Probe
    bank: Labelled | None = None
    queries: Labelled | None = None

    @classmethod
    def without_labels(cls, images: Tensor) -> Judge:
        """Judge by the average Fiedler value of uint8 images (N, 3, size, size) alone."""
        return cls(Probe([(some, [as_boxes([])] * len(some)) for some in torch.split(images, BATCH)]))

    @classmethod
    def of(cls, dataset: Dataset, settings: PretrainSettings) -> Judge:
        """Judge by the cut of test images, and by k-NN of test images among training images."""
        probe = Probe.of(dataset.test or dataset.train, settings.probe_images, settings.image_size)
        sides = [pick(side, settings.knn_images) for side in (dataset.train, dataset.test)]
        if not all(sides):
            return cls(probe)
        return cls(probe, *(_read(side, dataset.classes, settings) for side in sides))

    def measure(self, backbone: Backbone) -> dict[str, float]:
        """Return the average Fiedler value (lower is better), and CorLoc, AP50 and k-NN mAP where they can be had.

        The last one is in percent.
        """
        figures = self.probe.measure(backbone)
        if self.bank is not None and self.queries is not None:
            value = knn_map(_embedded(backbone, self.queries), _embedded(backbone, self.bank))
            figures |= {} if value is None else {"knn_map": value}
        return figures


def _read(samples: Sequence[Sample], classes: Sequence[str], settings: PretrainSettings) -> Labelled:
    every = frozenset(classes)
    visits = [StreamSample(sample, every if sample.known is None else sample.known) for sample in samples]
    loaded = load_batches(in_batches(visits, BATCH), classes, settings.image_size, workers=settings.workers)
    batches = [one.batch for one in loaded]
    images, labels, known = (
        torch.cat([getattr(batch, part) for batch in batches]) for part in ("images", "labels", "known")
    )
    return Labelled(images, labels, known)


@torch.no_grad()
def _embedded(backbone: Backbone, side: Labelled) -> tuple[Tensor, Tensor, Tensor]:
    device = backbone.mean.device
    embeddings = [backbone(images.to(device)).embedding.cpu() for images in torch.split(side.images, BATCH)]
    return torch.cat(embeddings), side.labels, side.known
