"""What a view should obey beside its labels: terms of the loss, each with its weight."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor

from cuter.learn.heads.prototypes import Prototypes
from cuter.learn.model import View
from cuter.learn.regularisers import REGULARISERS
from cuter.learn.separation import non_sparse_separation
from cuter.stream.batch import Batch

Term = Callable[[View, Batch], Tensor]  # of a view, and of what is said of its labels


@dataclass(frozen=True, slots=True, eq=False)
class PatchTerm:
    """α · R of the patch features (paper, Sec. 2.3)."""

    regulariser: str
    alpha: float

    def __call__(self, view: View, told: Batch) -> Tensor:
        """Return the weighted regulariser."""
        return self.alpha * REGULARISERS[self.regulariser](view.patches, view.regions)


@dataclass(frozen=True, slots=True, eq=False)
class SeparationTerm:
    """λ · (reg + sep) of a head with class means (NsCE)."""

    head: Prototypes
    weight: float

    def __call__(self, view: View, told: Batch) -> Tensor:
        """Return the weighted terms."""
        return self.weight * non_sparse_separation(self.head, view.embedding, told)


@dataclass(frozen=True, slots=True, eq=False)
class SumOfTerms:
    """All terms together; 0 without any."""

    terms: Sequence[Term]

    def __call__(self, view: View, told: Batch) -> Tensor:
        """Return the sum."""
        return sum((term(view, told) for term in self.terms), start=view.logits.new_zeros(()))
