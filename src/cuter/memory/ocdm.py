"""OCDM (Liang and Li 2022): the classes in memory come as near as they can to a target distribution."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from cuter.memory.base import MEMORIES, MemorySettings
from cuter.memory.item import Item
from cuter.memory.shares import SharesSettings, TargetShares

SAME = 1e-12  # of sums that differ by rounding only


@MEMORIES.register("ocdm")
class OptimisedDistribution(TargetShares):
    """A batch enters as a whole, and then items leave one by one until the rest fits: each time that one without which
    KL(p* ‖ p) is smallest, p* being the target shares of all classes that the stream has shown, p those in memory.
    """

    Settings: ClassVar[type[MemorySettings]] = SharesSettings

    def update(self, items: Sequence[Item]) -> None:
        """Take in a batch, and then remove what is most superfluous of all."""
        for item in filter(None, map(self.register, items)):
            self.add(item)
        while self.pixels > self.budget:
            self.remove(self.choose_eviction())

    def choose_eviction(self) -> int:
        """Draw one of the items without which the divergence is smallest.

        Without an item of the labels Y, log p_i = log(l_i - [i ∈ Y]) - log(Σ l - |Y|), so that the divergence grows by
        Σ_{i ∈ Y} p*_i (log l_i - log(l_i - 1)) + log(Σ l - |Y|) and a constant: a product of matrix and vector. To lose
        the last item of a class is infinitely bad; where all do, the least Σ p* is lost, and then the rest counts.
        """
        share = dict(zip(self.arrived, self.shares(list(self.arrived)), strict=True))
        labels = self.index.classes
        held = self.held(labels)
        wanted = np.array([share[label] for label in labels])
        of_each = [wanted * (held == 1), wanted * (np.log(held) - np.log(np.maximum(held - 1, 1))), np.ones_like(held)]
        sums = self.sets.matrix @ np.stack([self.sets.by_column(labels, values) for values in of_each], axis=1)
        lost, growth, size = sums.T  # of each set of labels; one look at the matrix, which is large
        divergence = growth + np.log(np.maximum(held.sum() - size, 1))
        divergence[lost > lost.min() + SAME] = np.inf
        rows = np.flatnonzero(divergence <= divergence.min() + SAME)
        return self.sets.draw(rows.tolist(), self.generator)
