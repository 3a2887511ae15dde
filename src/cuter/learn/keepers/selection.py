"""Selection answers: is a cut-out certain enough to be kept, and as what?"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor

from cuter.memory import Memory
from cuter.registry import Registry
from cuter.settings import PartSettings

KEPT, OTHER_LABEL, UNSURE, TWO_LABELS = "kept", "another label", "unsure", "two labels"
SECOND = 0.5  # a second score from here on means a second object (paper, Eq. 2)
AS_CERTAIN = 0.95  # of the image's own score
SCARCE_SCORE = 0.55  # least score for classes that memory lacks, in the published code
CLEARLY_BELOW = 0.9  # of the first score; stricter keeps purer cut-outs, but nothing of some classes


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """k cut-outs: the scores of each (k, C), and of its image the scores, the given labels and what is known (k, C)."""

    scores: Tensor
    image_scores: Tensor
    labels: Tensor
    known: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """What became of k cut-outs: the class column of each, and whether it is kept or why not."""

    columns: Tensor
    reasons: list[str]


def by_thresholds(candidates: Candidates, thresholds: Tensor) -> Verdicts:
    """Select as the paper prints it (Eq. 2): highest score above its class's threshold, second highest below 0.5.

    Both over all classes seen so far; the class of the highest must be one of the image's given labels.
    """
    scores = candidates.scores
    values, columns = scores.topk(min(2, scores.shape[1]), dim=1)
    first, column = values[:, 0], columns[:, 0]
    is_alone = values[:, 1] < SECOND if values.shape[1] > 1 else torch.ones_like(first, dtype=torch.bool)
    is_given = candidates.labels.gather(1, columns[:, :1])[:, 0]
    return _judge(column, is_given, first > thresholds[column], is_alone)


def relative_to_image(candidates: Candidates) -> Verdicts:
    """Select where cutting out made the model hardly less certain: a label scores about as high as in the whole image.

    It is the given label with the highest score, and all others that are known for the image must stay clearly below.
    Scores that are low because learning has just begun, or high for classes that nobody looks for any more, do not
    matter (docs/explanation/cuter.md).
    """
    given = candidates.scores.masked_fill(~candidates.labels, -1)
    first, column = given.max(dim=1)
    others = candidates.scores.masked_fill(~candidates.known, 0).scatter(1, column.unsqueeze(1), 0)
    second = others.amax(dim=1)
    whole = candidates.image_scores.gather(1, column.unsqueeze(1))[:, 0]
    return _judge(
        column, is_given=second <= first, is_sure=first >= AS_CERTAIN * whole, is_alone=second < CLEARLY_BELOW * first
    )


def as_in_published_code(candidates: Candidates, scarce: Tensor, generator: torch.Generator) -> Verdicts:
    """Select as the code behind the published tables does, which is milder than Eq. 2.

    A cut-out whose highest score, over all classes seen so far, is a given label is kept as that, whatever the score.
    Where the image has labels that memory lacks, (C,) in `scarce`, the highest score must reach 0.55, and the class of
    the cut-out is drawn among these labels.
    """
    wanted = candidates.labels & scarce.to(candidates.labels.device)
    has_scarce = wanted.any(dim=1)
    first, column = candidates.scores.max(dim=1)
    is_given = candidates.labels.gather(1, column.unsqueeze(1))[:, 0] | has_scarce
    column[has_scarce] = torch.multinomial(wanted[has_scarce].float().cpu(), 1, generator=generator)[:, 0].to(column)
    is_sure = (first >= SCARCE_SCORE) | ~has_scarce
    return _judge(column, is_given, is_sure, is_alone=torch.ones_like(is_sure))


def _judge(columns: Tensor, is_given: Tensor, is_sure: Tensor, is_alone: Tensor) -> Verdicts:
    """Name the first reason that speaks against a cut-out."""
    reasons = [
        OTHER_LABEL if not given else UNSURE if not sure else KEPT if alone else TWO_LABELS
        for given, sure, alone in zip(is_given.tolist(), is_sure.tolist(), is_alone.tolist(), strict=True)
    ]
    return Verdicts(columns, reasons)


class Selection(ABC):
    """Decides which cut-outs are kept, and as what, also by what memory holds at the moment."""

    def __init__(self, settings: Any, memory: Memory):
        self.settings = settings
        self.memory = memory

    @abstractmethod
    def __call__(self, candidates: Candidates) -> Verdicts:
        """Decide."""


Select = Callable[[Candidates], Verdicts]
SELECTIONS: Registry[type[Selection]] = Registry(
    "selection", "cuter.learn.keepers.selection", "cuter.selections", PartSettings
)


class ThresholdSettings(PartSettings):
    """Settings of the paper's thresholds."""

    tau1: float = Field(0.55, ge=0, le=1, description="Least score for classes that memory lacks.")
    tau2: float = Field(0.8, ge=0, le=1, description="Least score for the other classes.")

    @model_validator(mode="after")
    def _scarce_classes_need_no_more(self) -> Self:
        if self.tau1 > self.tau2:
            raise ValueError(
                f"tau1, for classes that memory lacks, is {self.tau1} and must not exceed tau2, {self.tau2}"
            )
        return self


@SELECTIONS.register("paper")
class AsPrinted(Selection):
    """As printed: scores above a threshold, τ1 for classes that memory lacks, else τ2; second score below 0.5."""

    Settings: ClassVar[type[PartSettings]] = ThresholdSettings

    def __call__(self, candidates: Candidates) -> Verdicts:
        """Select with a threshold for each class."""
        counts = self.memory.counts(candidates.scores.shape[1])
        thresholds = thresholds_by_frequency(counts, self.settings.tau1, self.settings.tau2)
        return by_thresholds(candidates, thresholds.to(candidates.scores))


@SELECTIONS.register("relative")
class Relative(Selection):
    """Relative to the image: a label scores in the cut-out about as high as in the whole image."""

    def __call__(self, candidates: Candidates) -> Verdicts:
        """Select."""
        return relative_to_image(candidates)


@SELECTIONS.register("published")
class AsPublished(Selection):
    """As the code behind the published tables, for what memory lacks at the moment."""

    def __call__(self, candidates: Candidates) -> Verdicts:
        """Select, drawing from the generator of memory."""
        scarce = lacking(self.memory.counts(candidates.scores.shape[1]))
        return as_in_published_code(candidates, scarce, self.memory.generator)


@dataclass(frozen=True, slots=True, eq=False)
class Lacking:
    """Which classes memory lacks at the moment."""

    memory: Memory

    def __call__(self, classes: int) -> Tensor:
        """Return for each of so many classes (C,) whether it is scarce."""
        return lacking(self.memory.counts(classes))


@dataclass(frozen=True, slots=True, eq=False)
class Invited:
    """Which labels of images memory has a place for; None: it decides when it sees the items."""

    memory: Memory
    pixels: int  # of a whole image

    def __call__(self, labels: Tensor) -> Tensor | None:
        """Ask for the labels (B, C) of some images."""
        return self.memory.invites(labels, self.pixels)


def thresholds_by_frequency(counts: Tensor, scarce: float, frequent: float) -> Tensor:
    """Return τ1 (`scarce`) for classes that memory holds less than half as often as its most frequent, else τ2."""
    return torch.where(2 * counts < counts.max(), scarce, frequent)


def lacking(counts: Tensor) -> Tensor:
    """Tell which classes memory lacks: it holds less than half as many of them as of its most frequent, or none."""
    return (2 * counts < counts.max()) | (counts == 0)
