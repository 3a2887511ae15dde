"""What a learner makes of a few test images: the regions it would cut out, and the labels it would give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from PIL import Image
from torch import Tensor

from cuter.cut.cutout import cutouts
from cuter.learn.learner import Learner
from cuter.learn.predictors import REGIONS
from cuter.show.pictures import data_uri, marked
from cuter.stream.photos import read_photos
from cuter.stream.samples import pick
from cuter.stream.tasks import StreamSample

SHOWN = 8
WITHIN = (320, 240)  # pixels of a picture
SURE = 0.5  # a label is given above this probability
MOST_LABELS = 6

RIGHT, WRONG, NOT_KNOWN = "right", "wrong", "not known"


@dataclass(frozen=True, slots=True)
class Guess:
    """A label that the learner gives, in percent, and whether that is right, wrong, or nobody knows."""

    label: str
    percent: float
    verdict: str
    region: int = 0  # which region says so more clearly than the whole image, from 1 on; 0: none


@dataclass(frozen=True, slots=True)
class Prediction:
    """One test image as one learner sees it."""

    id: str
    picture: str  # a data URI
    size: tuple[int, int]  # of the picture, in pixels
    regions: int
    truth: tuple[str, ...]
    guesses: tuple[Guess, ...]
    missed: tuple[str, ...]  # true labels that it has learned and does not give
    unlearned: tuple[str, ...]  # true labels that it has not met yet
    likeliest: Guess | None  # where it gives none

    @property
    def alt(self) -> str:
        """What stands for the picture where it cannot be seen."""
        regions = f"{self.regions} region{'' if self.regions == 1 else 's'} cut out"
        return f"test image with {', '.join(self.truth) or 'nothing'}, {regions}"


def predict_tests(learner: Learner, visits: Sequence[StreamSample]) -> list[Prediction]:
    """Predict a fixed draw of test images, the same for all runs of a data set; unreadable ones are left out."""
    by_sample = {visit.sample.id: visit for visit in visits}
    drawn = [by_sample[sample.id] for sample in pick([visit.sample for visit in visits], SHOWN)]
    predictions = []
    settings = learner.settings
    max_regions = (
        max(settings.localiser.max_regions, REGIONS)
        if settings.predictor.kind == "regions"
        else settings.localiser.max_regions
    )
    for photos in read_photos([visit.sample.path for visit in drawn], learner.backbone.image_size):
        if not photos.places:
            continue
        regions = learner.cut(photos.pixels, max_regions).to("cpu")
        scores, seen_in = _probabilities(learner, photos.pixels)
        for index, (place, original) in enumerate(zip(photos.places, photos.originals, strict=True)):
            found = cutouts(regions, index, original.size)
            boxes = [(box.x1, box.y1, box.x2, box.y2) for box in drawn[place].sample.boxes]
            picture = marked(original, found, WITHIN, boxes)
            names = learner.labels.names
            probabilities = dict(zip(names, scores[index].tolist(), strict=True))
            numbers = dict(zip(names, seen_in[index].tolist(), strict=True))
            predictions.append(
                _prediction(drawn[place], picture, sum(one.found for one in found), probabilities, numbers)
            )
    return predictions


def _probabilities(learner: Learner, pixels: Tensor) -> tuple[Tensor, Tensor]:
    """Return probabilities (B, C), and the number of the region that says more than the whole image (B, C), or 0."""
    if learner.settings.predictor.kind == "regions":
        found = learner.region_scores(pixels)
        return learner.calibration(found.joined, learner.labels.names), found.numbers
    probabilities = learner.probabilities(pixels)
    return probabilities, torch.zeros_like(probabilities, dtype=torch.long)


def _prediction(
    visit: StreamSample,
    picture: Image.Image,
    regions: int,
    probabilities: Mapping[str, float],
    seen_in: Mapping[str, int],
) -> Prediction:
    by_score = sorted(probabilities, key=lambda label: -probabilities[label])
    guesses = [_guess(label, probabilities[label], visit, seen_in[label]) for label in by_score]
    given = {label for label in by_score if probabilities[label] > SURE}
    truth = sorted(visit.labels)
    return Prediction(
        id=visit.sample.id,
        picture=data_uri(picture),
        size=picture.size,
        regions=regions,
        truth=tuple(truth),
        guesses=tuple(guesses[: min(len(given), MOST_LABELS)]),
        missed=tuple(label for label in truth if label in probabilities and label not in given),
        unlearned=tuple(label for label in truth if label not in probabilities),
        likeliest=guesses[0] if guesses and not given else None,
    )


def _guess(label: str, probability: float, visit: StreamSample, region: int) -> Guess:
    verdict = RIGHT if label in visit.labels else WRONG if label in visit.known else NOT_KNOWN
    return Guess(label, 100 * probability, verdict, region)
