"""What an evaluation finds: figures, classes, reliability and the worst mistakes, all from scores and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from cuter.errors import BatchError, ConfigError
from cuter.learn.calibration import Calibration
from cuter.measure.calibration import (
    Bin,
    brier_score,
    calibration_error,
    class_calibration_errors,
    reliability_bins,
)
from cuter.measure.metrics import FIGURES as METRICS
from cuter.measure.metrics import class_decisions, f1_figures, multilabel_scores
from cuter.registry import did_you_mean
from cuter.stream.loading import Unreadable

NATURAL = 0.5  # of a calibrated probability: above it, a class is rather present than not
OF_PAPERS = ("map", "cf1_mean@0.8", "cf1_harmonic@0.8", "of1@0.8")
MOST_MISTAKES = 8  # of each kind

FIGURES = {
    **{name: METRICS[name].replace("threshold 0.8", "raw score above 0.8, as in papers") for name in OF_PAPERS},
    "cf1_mean": "CF1, mean of per-class F1, calibrated probability above the threshold",
    "cf1_harmonic": "CF1, harmonic mean of mean precision and mean recall, calibrated probability above the threshold",
    "of1": "OF1, calibrated probability above the threshold",
    "ece_raw": "ECE of raw scores, all classes pooled, 15 bins",
    "ece": "ECE of calibrated probabilities, all classes pooled, 15 bins",
    "class_ece_raw": "ECE of raw scores, mean over classes, 15 bins",
    "class_ece": "ECE of calibrated probabilities, mean over classes, 15 bins",
    "brier_raw": "Brier score of raw scores, times 100",
    "brier": "Brier score of calibrated probabilities, times 100",
}


@dataclass(frozen=True, slots=True)
class ClassFigures:
    """One class, figures in percent; None where there was nothing to measure.

    Args:
        name: The class.
        positives: Images that show it.
        known: Images that somebody looked for it in.
        ap: Average precision.
        threshold: Probability above which it is predicted.
        precision: Share of the images with a prediction that show it.
        recall: Share of the images that show it that are predicted.
        f1: Harmonic mean of both.
        ece: Expected calibration error of its probabilities.
    """

    name: str
    positives: int
    known: int
    ap: float | None
    threshold: float
    precision: float | None
    recall: float | None
    f1: float | None
    ece: float | None


@dataclass(frozen=True, slots=True)
class Mistake:
    """An image where a class is predicted and not there, or there and not predicted.

    Args:
        id: The image.
        label: The class.
        probability: What the learner says of the class, from 0 to 1.
        labels: The classes that the image shows, of those that were evaluated.
    """

    id: str
    label: str
    probability: float
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Evaluation:
    """What an evaluation found.

    Args:
        images: Images with at least one label that counts.
        figures: A number for each key of `FIGURES`, in percent; None where there was nothing to measure.
        classes: The classes that the learner knows and somebody looked for, in the order of the learner.
        raw_reliability: Bins of raw scores.
        reliability: Bins of calibrated probabilities.
        false_positives: Predictions that are wrong, the most certain first; an image is there once.
        missed: Classes that were not predicted, the least probable first; an image is there once.
        unknown_classes: Classes of the data that the learner does not know; they take part in nothing.
        absent_classes: Classes of the learner that nobody looked for in the data.
        unreadable: Images that had to be skipped.
    """

    images: int
    figures: Mapping[str, float | None]
    classes: tuple[ClassFigures, ...]
    raw_reliability: tuple[Bin, ...]
    reliability: tuple[Bin, ...]
    false_positives: tuple[Mistake, ...]
    missed: tuple[Mistake, ...]
    unknown_classes: tuple[str, ...] = ()
    absent_classes: tuple[str, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()

    def __getitem__(self, figure: str) -> float | None:
        return self.figures[figure]

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain values for JSON."""
        return asdict(self)


def evaluate_scores(
    scores: Tensor,
    labels: Tensor,
    known: Tensor,
    names: Sequence[str],
    *,
    calibration: Calibration | None = None,
    thresholds: Mapping[str, float] | None = None,
    ids: Sequence[str] | None = None,
) -> Evaluation:
    """Measure scores against labels.

    Args:
        scores: (images, classes), from 0 to 1, as `Learner.scores` returns them.
        labels: bool (images, classes).
        known: bool (images, classes), which labels somebody looked at; others take part in nothing.
        names: The classes.
        calibration: What makes probabilities of scores; by default that of a learner which was never calibrated.
        thresholds: Probability above which a class is predicted, by name; 0.5 for classes that are not named.
        ids: Names of the images; by default their numbers.

    Returns:
        Figures over the classes that somebody looked for; the others are `absent_classes`.

    Raises:
        BatchError: The shapes do not fit, or nothing is known.
        ConfigError: A threshold is out of range, or for a class that there is not.

    Examples:
        >>> import torch
        >>> from cuter.models.evaluation import evaluate_scores
        >>> labels = torch.tensor([[True, False], [False, True]])
        >>> found = evaluate_scores(torch.tensor([[0.9, 0.7], [0.6, 0.9]]), labels, labels | True, ["cat", "dog"])
        >>> found["map"], found["cf1_mean"], [one.name for one in found.classes]
        (100.0, 100.0, ['cat', 'dog'])
    """
    levels = class_thresholds(thresholds or {}, names)
    chances = (calibration or Calibration())(scores, tuple(names))
    raw = multilabel_scores(scores, labels, known)  # refuses what does not fit
    looked_at = known.any(dim=0)
    rows = known.any(dim=1)
    if not rows.any():
        raise BatchError("there is nothing to evaluate: no image has a label that somebody looked at")
    kept = [name for name, is_kept in zip(names, looked_at.tolist(), strict=True) if is_kept]
    said, present, seen = (one[rows][:, looked_at].cpu().numpy() for one in (chances, labels & known, known))
    scored = scores[rows][:, looked_at].cpu()
    image_ids = [ids[row] if ids else str(row) for row in rows.nonzero().flatten().tolist()]
    predicted = seen & (said > np.array([levels[name] for name in kept]))
    errors = class_calibration_errors(said, present, seen)
    columns = zip(
        kept,
        present.sum(axis=0).tolist(),
        seen.sum(axis=0).tolist(),
        [ap for ap, is_kept in zip(raw.ap, looked_at.tolist(), strict=True) if is_kept],
        [levels[name] for name in kept],
        *class_decisions(predicted, present),
        [_percent(error) for error in errors],
        strict=True,
    )
    return Evaluation(
        images=len(image_ids),
        figures={
            **{name: raw[name] for name in OF_PAPERS},
            **f1_figures(predicted, present),
            "ece_raw": _percent(calibration_error(scored, present, seen)),
            "ece": _percent(calibration_error(said, present, seen)),
            "class_ece_raw": _mean_percent(class_calibration_errors(scored, present, seen)),
            "class_ece": _mean_percent(errors),
            "brier_raw": _percent(brier_score(scored, present, seen)),
            "brier": _percent(brier_score(said, present, seen)),
        },
        classes=tuple(ClassFigures(*column) for column in columns),
        raw_reliability=reliability_bins(scored, present, seen),
        reliability=reliability_bins(said, present, seen),
        false_positives=_worst(-said, predicted & ~present, present, image_ids, kept),
        missed=_worst(said, present & ~predicted, present, image_ids, kept),
        absent_classes=tuple(name for name in names if name not in set(kept)),
    )


def class_thresholds(given: Mapping[str, float], names: Sequence[str]) -> dict[str, float]:
    """Return the threshold of each class: the one given, or 0.5.

    Raises:
        ConfigError: One is out of range, or for a class that there is not.
    """
    for name, value in given.items():
        if name not in names:
            raise ConfigError(
                f"there is a threshold for {name!r}, which the model does not know.{did_you_mean(name, sorted(names))}"
            )
        if not 0 <= value <= 1:
            raise ConfigError(f"the threshold for {name!r} must be a probability from 0 to 1, not {value}")
    return {name: given.get(name, NATURAL) for name in names}


def _worst(
    order: NDArray[np.float32],
    mistaken: NDArray[np.bool_],
    present: NDArray[np.bool_],
    ids: Sequence[str],
    names: Sequence[str],
) -> tuple[Mistake, ...]:
    """Return the mistakes that are lowest in this order, the lowest of each image."""
    ranked = np.where(mistaken, order, np.inf)
    lowest = ranked.min(axis=1)
    rows = [row for row in np.argsort(lowest, kind="stable")[:MOST_MISTAKES].tolist() if np.isfinite(lowest[row])]
    return tuple(
        Mistake(
            ids[row],
            names[column],
            abs(float(order[row, column])),
            tuple(name for name, is_there in zip(names, present[row], strict=True) if is_there),
        )
        for row in rows
        for column in [int(ranked[row].argmin())]
    )


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _mean_percent(shares: Sequence[float | None]) -> float | None:
    found = [share for share in shares if share is not None]
    return 100 * sum(found) / len(found) if found else None
