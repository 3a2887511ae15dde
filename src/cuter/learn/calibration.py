"""Probabilities from scores: a straight line for each class, in log-odds.

The asymmetric loss down-weights easy negatives, so a score is not a probability: the loss is minimal at a score s where
π / (1 - π) = s (s - 0.05)⁴ / (1.05 - s), π being the probability (docs/explanation/calibration.md). A line of positive
slope keeps the order of a class's scores, so that mAP stays as it is, and folds into a linear head, so that exported
models give the same probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from torch import Tensor

from cuter.errors import BatchError

Array = NDArray[np.float64]

# The line through the closed form at its probability of one half (score 0.799) and at a score of 0.5 (3.6 %): where no
# labelled images were held back, this is as well calibrated as the closed form itself.
HALF = 1.3789714  # the logit whose probability is one half
SLOPE = -math.log(0.5 * 0.45**4 / 0.55) / HALF
UNFITTED = (SLOPE, -SLOPE * HALF)

LOWEST_SLOPE = 0.05  # a line must rise, or the order of scores would change
EDGE = 1e-7  # scores are float32: closer to 0 and 1 they hold no more


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """Lines that make log-odds of logits: log-odds = slope · logit + offset.

    Args:
        shared: Slope and offset for classes that have no line of their own.
        lines: Slope and offset by class.
        images: Number of images that the lines were fitted on.

    Examples:
        >>> import torch
        >>> from cuter.learn.calibration import Calibration
        >>> Calibration()(torch.tensor([[0.5, 0.8]]), ["cat", "dog"]).round(decimals=2)
        tensor([[0.0400, 0.5000]])
    """

    shared: tuple[float, float] = UNFITTED
    lines: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    images: int = 0

    def __call__(self, scores: Tensor, names: list[str] | tuple[str, ...]) -> Tensor:
        """Return probabilities (B, C) of scores (B, C), whose columns are the classes `names`."""
        slope, offset = self.coefficients(names)
        logits = torch.logit(scores.double().cpu(), eps=EDGE)
        return torch.sigmoid(slope * logits + offset).float()

    def coefficients(self, names: list[str] | tuple[str, ...]) -> tuple[Tensor, Tensor]:
        """Return slopes and offsets (C,), float64, for these classes."""
        lines = torch.tensor([self.lines.get(name, self.shared) for name in names], dtype=torch.float64)
        slope, offset = lines.reshape(-1, 2).unbind(dim=1)
        return slope, offset

    def raw_threshold(self, name: str, probability: float = 0.5) -> float:
        """Return the score of a class at which its probability has this value."""
        slope, offset = self.lines.get(name, self.shared)
        return 1 / (1 + math.exp((offset - math.log(probability / (1 - probability))) / slope))

    def state_dict(self) -> dict[str, Any]:
        """Return the lines for JSON."""
        return {
            "shared": list(self.shared),
            "lines": {k: list(v) for k, v in self.lines.items()},
            "images": self.images,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Calibration:
        """Read back what `state_dict` gave; nothing gives the lines that were never fitted."""
        if not state:
            return cls()
        (slope, offset), lines = state["shared"], state["lines"]
        return cls((slope, offset), {name: (one, two) for name, (one, two) in lines.items()}, state["images"])


def fit_calibration(
    scores: Tensor, labels: Tensor, known: Tensor, names: list[str] | tuple[str, ...], strength: float = 1.0
) -> Calibration:
    """Fit lines to scores of images that were not learned.

    The shared line is fitted to all classes together, and drawn to the unfitted one; the line of a class is drawn to
    the shared one, so that a class with few images does not go its own way (Platt scaling with a prior).

    Args:
        scores: (B, C), from 0 to 1.
        labels: bool (B, C).
        known: bool (B, C), which labels somebody looked at; others are left out.
        names: The classes.
        strength: How many images the prior weighs, about.

    Returns:
        A line for each class with a known label.

    Raises:
        BatchError: The shapes do not fit.

    Examples:
        >>> import torch
        >>> from cuter.learn.calibration import fit_calibration
        >>> scores = torch.tensor([[0.6], [0.7], [0.8], [0.9]])
        >>> labels = torch.tensor([[False], [False], [True], [True]])
        >>> fit_calibration(scores, labels, torch.ones_like(labels), ["cat"]).images
        4
    """
    if not scores.shape == labels.shape == known.shape or scores.shape[1:] != (len(names),):
        raise BatchError(
            f"scores {tuple(scores.shape)}, labels {tuple(labels.shape)} and known {tuple(known.shape)} must all be "
            f"(images, {len(names)})"
        )
    logits = torch.logit(scores.double().cpu(), eps=EDGE).numpy()
    truth, seen = labels.cpu().numpy().astype(float), known.cpu().numpy().astype(bool)
    shared = _fit(logits[seen], truth[seen], UNFITTED, strength)
    lines = {
        name: _fit(logits[rows, column], truth[rows, column], shared, strength)
        for column, name in enumerate(names)
        if (rows := seen[:, column]).any()
    }
    return Calibration(shared, lines, int(seen.any(axis=1).sum()))


def _fit(logits: Array, labels: Array, prior: tuple[float, float], strength: float) -> tuple[float, float]:
    """Return the slope and offset of least cross-entropy, with a penalty for leaving the prior."""
    start = np.array(prior)
    scale = np.array([2 / prior[0], 1.0])  # half of the prior's slope weighs as much as one unit of log-odds

    def cost(line: Array) -> tuple[float, Array]:
        odds = line[0] * logits + line[1]
        residual = 1 / (1 + np.exp(-odds)) - labels
        away = (line - start) * scale
        value = float((np.logaddexp(0, odds) - labels * odds).sum() + strength * (away @ away))
        return value, np.array([residual @ logits, residual.sum()]) + 2 * strength * away * scale

    slope, offset = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=[(LOWEST_SLOPE, None), (None, None)]).x
    return float(slope), float(offset)
