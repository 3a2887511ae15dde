"""What a view should obey beside its labels: terms of the loss, each with its weight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor

from cuter.learn.heads import Head
from cuter.learn.heads.prototypes import Prototypes, PrototypesSettings
from cuter.learn.model import View
from cuter.learn.regularisers import REGULARISERS, Regulariser, RegulariserSettings
from cuter.learn.separation import non_sparse_separation
from cuter.stream.batch import Batch

if TYPE_CHECKING:
    from cuter.learn.settings import LearnerSettings

Term = Callable[[View, Batch], Tensor]  # of a view, and of what is said of its labels


@dataclass(frozen=True, slots=True, eq=False)
class PatchTerm:
    """α · R of the patch features (paper, Sec. 2.3)."""

    regulariser: Regulariser
    weight: float

    def __call__(self, view: View, targets: Batch) -> Tensor:
        """Return the weighted regulariser."""
        return self.weight * self.regulariser(view.patches, view.regions)


@dataclass(frozen=True, slots=True, eq=False)
class SeparationTerm:
    """λ · (reg + sep) of a head with class means (NsCE)."""

    head: Prototypes
    weight: float

    def __call__(self, view: View, targets: Batch) -> Tensor:
        """Return the weighted terms."""
        return self.weight * non_sparse_separation(self.head, view.embedding, targets)


@dataclass(frozen=True, slots=True, eq=False)
class SumOfTerms:
    """All terms together; 0 without any."""

    terms: Sequence[Term]

    def __call__(self, view: View, targets: Batch) -> Tensor:
        """Return the sum."""
        return sum((term(view, targets) for term in self.terms), start=view.logits.new_zeros(()))


def make_regulariser(settings: LearnerSettings, head: Head) -> Term:
    """Return what a view and what is said of its labels should obey: α·R of the patches, λ·(reg + sep) of the head."""
    terms: list[Term] = []
    if isinstance(settings.regulariser, RegulariserSettings):
        regulariser, weight = REGULARISERS[settings.regulariser.kind], settings.regulariser.weight
        terms.append(PatchTerm(regulariser, regulariser.weight if weight is None else weight))
    if isinstance(head, Prototypes) and isinstance(settings.head, PrototypesSettings) and settings.head.separation:
        terms.append(SeparationTerm(head, settings.head.separation))
    return SumOfTerms(terms)
