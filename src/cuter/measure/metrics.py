"""Multi-label metrics, each under a name that has its definition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cuter.errors import CheckpointError
from cuter.measure.average_precision import average_precision
from cuter.measure.inputs import Matrix, checked

THRESHOLDS = (0.5, 0.8)

# Papers print different figures under the same name, so a figure is never shown without its definition.
FIGURES = {
    "map": "mAP, classes without a positive left out",
    "map_zero": "mAP, classes without a positive count as 0",
    "cf1_mean@0.5": "CF1, mean of per-class F1, threshold 0.5",
    "cf1_harmonic@0.5": "CF1, harmonic mean of mean precision and mean recall, threshold 0.5",
    "of1@0.5": "OF1, threshold 0.5",
    "cf1_mean@0.8": "CF1, mean of per-class F1, threshold 0.8",
    "cf1_harmonic@0.8": "CF1, harmonic mean of mean precision and mean recall, threshold 0.8",
    "of1@0.8": "OF1, threshold 0.8",
}


@dataclass(frozen=True, slots=True)
class Scores:
    """What one evaluation gave, in percent; None where there was nothing to measure.

    figures: one number for each key of `FIGURES`; ap: average precision by column, None without a positive.
    """

    figures: Mapping[str, float | None]
    ap: tuple[float | None, ...]

    def __getitem__(self, figure: str) -> float | None:
        return self.figures[figure]

    def as_dict(self) -> dict[str, Any]:
        """Return the figures by name and `ap` as a list, ready for JSON."""
        return {**self.figures, "ap": list(self.ap)}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Scores:
        """Read back what `as_dict` gave."""
        if missing := [key for key in (*FIGURES, "ap") if key not in saved]:
            raise CheckpointError(f"saved scores lack {missing[0]!r}")
        return cls({key: saved[key] for key in FIGURES}, tuple(saved["ap"]))


def multilabel_scores(scores: Matrix, labels: Matrix, known: Matrix | None = None) -> Scores:
    """Measure probabilities (images, classes) against bool labels; `known` says which labels somebody looked at.

    - A class is predicted where its score is strictly above the threshold. 0/0 counts as 0 in precision, recall
      and F1.
    - CF1 as mean of per-class F1 (KRT, CUTER) counts every class, also one without a positive, whose F1 is 0:
      the same as scikit-learn's `f1_score(average="macro", zero_division=0)`.
    - CF1 as harmonic mean (PRS, AGCN) takes precision and recall averaged over the same classes.
    - OF1 pools the decisions of all classes: `f1_score(average="micro", zero_division=0)`.
    - Unknown entries take part in nothing, so a class without a single known entry is in no mean.
    """
    probabilities, positives, known_array = checked(scores, labels, known)
    ap = average_precision(probabilities, positives, known_array)
    looked_at = known_array.any(axis=0)
    figures = {
        "map": _mean_percent(ap[~np.isnan(ap)]),
        "map_zero": _mean_percent(np.nan_to_num(ap[looked_at])),
    }
    for threshold in THRESHOLDS:
        predicted = known_array & (probabilities > threshold)
        figures |= {
            f"{name}@{threshold}": value
            for name, value in f1_figures(predicted[:, looked_at], positives[:, looked_at]).items()
        }
    return Scores(figures, tuple(None if np.isnan(value) else 100 * float(value) for value in ap))


def f1_figures(predicted: NDArray[np.bool_], positives: NDArray[np.bool_]) -> dict[str, float | None]:
    """Return CF1 in both definitions and OF1, in percent, of decisions (images, classes); None without a class."""
    hits, found, wanted = _counts(predicted, positives)
    if not hits.size:
        return {"cf1_mean": None, "cf1_harmonic": None, "of1": None}
    precision, recall = _ratio(hits, found).mean(), _ratio(hits, wanted).mean()
    return {
        "cf1_mean": _mean_percent(_ratio(2 * hits, found + wanted)),
        "cf1_harmonic": _mean_percent(_ratio(2 * precision * recall, precision + recall)),
        "of1": _mean_percent(_ratio(2 * hits.sum(), found.sum() + wanted.sum())),
    }


def class_decisions(
    predicted: NDArray[np.bool_], positives: NDArray[np.bool_]
) -> tuple[tuple[float | None, ...], tuple[float | None, ...], tuple[float | None, ...]]:
    """Return precision, recall and F1 of each class in percent, None where they are 0/0."""
    hits, found, wanted = _counts(predicted, positives)
    pairs = ((hits, found), (hits, wanted), (2 * hits, found + wanted))
    precision, recall, f1 = (
        tuple(100 * part / whole if whole else None for part, whole in zip(*pair, strict=True))
        for pair in ((part.tolist(), whole.tolist()) for part, whole in pairs)
    )
    return precision, recall, f1


def _counts(predicted: NDArray[np.bool_], positives: NDArray[np.bool_]) -> tuple[NDArray[np.int64], ...]:
    """Return for each class how many images are rightly predicted, predicted, and positive."""
    hits, found, wanted = (np.count_nonzero(one, axis=0) for one in (predicted & positives, predicted, positives))
    return np.asarray(hits), np.asarray(found), np.asarray(wanted)


def _ratio(part: ArrayLike, whole: ArrayLike) -> NDArray[np.float64]:
    """Divide; 0/0 is 0."""
    ratio = np.zeros(np.shape(part))
    np.divide(part, whole, out=ratio, where=np.asarray(whole) > 0)
    return ratio


def _mean_percent(fractions: NDArray[np.float64]) -> float | None:
    return 100 * float(fractions.mean()) if fractions.size else None
