"""From which score on an old class counts as seen: thresholds that lead to a certain rate of pseudo-labels."""

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor

START = 0.8  # KRT's threshold before it moves
LOWEST, HIGHEST = 1e-4, 1 - 1e-6  # KRT's limits of it


class Thresholds(ABC):
    """Thresholds for old classes, which move with every batch so that pseudo-labels come at a certain rate."""

    @abstractmethod
    def begin_task(self) -> None:
        """Begin again to look at the rate: another model is asked from now on."""

    @abstractmethod
    def follow(self, scores: Tensor, asked: Tensor) -> Tensor:
        """Return thresholds (old,) for scores (B, old), of which some are asked for (B, old), and move after them."""

    @abstractmethod
    def count(self, labels: Tensor) -> None:
        """Note labels (B, C) that were given."""

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """Return all that is needed to go on exactly as before."""

    @abstractmethod
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a saved state."""


class RunningThreshold(Thresholds):
    """One threshold for all classes, moved in small steps towards a number of pseudo-labels an image (KRT, Sec. 3.2).

    KRT goes over all images of the task before it learns them, moving the threshold by 0.005 until their mean number of
    pseudo-labels is within 0.1 of the target. Online there is no such pass: the mean is a running one over the last
    batches, and the threshold moves once a batch.
    """

    STEP = 0.005
    TOLERANCE = 0.1  # labels an image
    MEMORY = 0.8  # of the running mean: some five batches

    def __init__(self, rate: float):
        self.rate = rate  # wanted pseudo-labels an image and old class
        self.threshold = START
        self.surplus = 0.0  # running mean of labels an image beyond the target

    def begin_task(self) -> None:
        """Forget the surplus; the threshold goes on from where it is."""
        self.surplus = 0.0

    def count(self, labels: Tensor) -> None:
        """Given labels do not matter here."""

    def follow(self, scores: Tensor, asked: Tensor) -> Tensor:
        """Return the threshold, and move it up when there are too many labels an image, down when there are too few."""
        thresholds = scores.new_full(scores.shape[1:], self.threshold)
        if asked.any():
            labels = ((scores > self.threshold) & asked).sum().item() / len(scores)
            target = self.rate * asked.sum().item() / len(scores)
            self.surplus = self.MEMORY * self.surplus + (1 - self.MEMORY) * (labels - target)
            if abs(self.surplus) > self.TOLERANCE:
                moved = self.threshold + (self.STEP if self.surplus > 0 else -self.STEP)
                self.threshold = min(max(moved, LOWEST), HIGHEST)
        return thresholds

    def state_dict(self) -> dict[str, Any]:
        """Return the threshold and the surplus."""
        return {"threshold": self.threshold, "surplus": self.surplus}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a saved state."""
        self.threshold, self.surplus = state["threshold"], state["surplus"]


class ThresholdsByClass(Thresholds):
    """A threshold for each class that follows the quantile of its scores at which it comes as often as it should.

    In the spirit of APPLE (Song et al. 2024), which says 'adaptive' and gives no formula. All classes together should
    have as many pseudo-labels as KRT wants, each of them a share that is its share of the labels given so far: a class
    that came often is expected to hide in more of the new images. After each image with a label a threshold rises by
    STEP · (1 - rate), after each without one it falls by STEP · rate, which rests where labels come at this rate.
    """

    STEP = 0.01

    def __init__(self, rate: float):
        self.rate = rate
        self.given = torch.zeros(0, dtype=torch.float64)  # labels by column
        self.thresholds = torch.zeros(0, dtype=torch.float64)

    def begin_task(self) -> None:
        """Go on: another model is asked, but for a class that it knows the threshold is the best guess there is."""

    def count(self, labels: Tensor) -> None:
        """Note how often each class was given."""
        given = labels.sum(dim=0).to("cpu", torch.float64)
        self.given = torch.cat([self.given, given.new_zeros(len(given) - len(self.given))]) + given

    def follow(self, scores: Tensor, asked: Tensor) -> Tensor:
        """Return the thresholds, and move each by how many labels too many or too few its class gets."""
        old = scores.shape[1]
        self.thresholds = torch.cat([self.thresholds, self.thresholds.new_full((old - len(self.thresholds),), START)])
        thresholds = self.thresholds.to(scores)
        given = self.given[:old]
        rates = (self.rate * old * given / given.sum().clamp(min=1)).clamp(max=0.5)
        labelled, asked_for = (((scores > thresholds) & asked).sum(dim=0).cpu(), asked.sum(dim=0).cpu())
        self.thresholds = (self.thresholds + self.STEP * (labelled - rates * asked_for)).clamp(LOWEST, HIGHEST)
        return thresholds

    def state_dict(self) -> dict[str, Any]:
        """Return the thresholds and the counts that they depend on."""
        return {"given": self.given, "thresholds": self.thresholds}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a saved state."""
        self.given, self.thresholds = state["given"], state["thresholds"]
