"""Thresholds of a model on labelled images."""

from pathlib import Path

import numpy as np
import pytest

from cuter import Learner, load_dataset
from cuter.errors import DataError
from cuter.measure.thresholds import tune_thresholds
from cuter.models.thresholds import tune
from cuter.stream.samples import Sample


@pytest.mark.parametrize("regions", [False, True])
def test_they_are_those_of_what_predict_says(learner: Learner, photos: Path, regions: bool) -> None:
    data = load_dataset("folder", photos)
    samples = [*data.train, *data.test]
    told: list[tuple[int, int]] = []
    tuned = tune(
        learner, samples, data.classes, min_positives=2, regions=regions, batch_size=16, workers=0,
        progress=lambda done, total: told.append((done, total)),
    )  # fmt: skip
    paths = [sample.path for sample in samples]
    names = learner.labels.names
    if regions:
        rows = [one.probabilities for one in learner.predict(paths, 16, regions=True)]
    else:
        rows = learner.predict(paths, 16)
    scores = np.array([[row[name] for name in names] for row in rows], dtype=np.float32)
    labels = np.array([[name in sample.labels for name in names] for sample in samples])
    assert tuned.classes == tune_thresholds(scores, labels, None, names, min_positives=2)
    assert told == [(16, 40), (32, 40), (40, 40)]


def test_only_what_somebody_looked_for_counts(learner: Learner, photos: Path) -> None:
    path = next((photos / "images").iterdir())
    star, nothing = frozenset({"star"}), frozenset[str]()
    samples = [
        Sample("1", path, star, known=star),
        Sample("2", path, nothing, known=nothing),
        Sample("3", path, star, known=None),
        Sample("4", path, frozenset({"moon"}), known=frozenset({"moon"})),
        Sample("5", path.with_name("gone.png"), star),
    ]
    tuned = tune(learner, samples, ["star", "moon"], min_positives=1, workers=0)
    assert {one.name: one.positives for one in tuned.classes if one.positives} == {"star": 2}
    assert next(one for one in tuned.classes if one.name == "star").at.precision == 1
    assert (tuned.images, len(tuned.unreadable), tuned.unknown) == (4, 1, ["moon"])


def test_no_image_at_all(learner: Learner, photos: Path) -> None:
    with pytest.raises(DataError, match=r"there is no image to tune on$"):
        tune(learner, [], ["star"], workers=0)
    with pytest.raises(DataError, match=r"there is no image to tune on: .*gone\.png"):
        tune(learner, [Sample("1", photos / "gone.png", frozenset())], ["star"], workers=0)
