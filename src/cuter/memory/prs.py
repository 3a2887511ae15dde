"""Partitioning reservoir sampling (Kim et al. 2020): shares of memory follow a power of the stream's frequencies."""

from typing import ClassVar

import numpy as np
import torch
from pydantic import Field

from cuter.memory.base import MEMORIES, MemorySettings
from cuter.memory.item import Item
from cuter.memory.label_sets import Array
from cuter.memory.shares import SharesSettings, TargetShares

SAME = 1e-9  # of deviations that differ by rounding only


class PrsSettings(SharesSettings):
    """Settings of partitioning reservoir sampling."""

    power: float = Field(0.1, description=SharesSettings.model_fields["power"].description)


@MEMORIES.register("prs")
class PartitioningReservoir(TargetShares):
    """Class i should hold the share p_i of memory; l_i is how many items it has.

    Shares are over the classes in memory: one that it has lost claims nothing until it comes again.
    """

    Settings: ClassVar[type[MemorySettings]] = PrsSettings

    def accepts(self, item: Item) -> bool:
        """Draw with probability Σ w_i · min(1, M p_i / n_i) over the item's labels, w = softmax(-n_i) over them."""
        labels = item.classes
        others = [label for label in self.index.classes if label not in labels]
        shares = self.shares([*labels, *others])[: len(labels)]
        counts = np.array([self.arrived[label] for label in labels], dtype=np.float64)
        chance = float(_softmax(-counts) @ np.minimum(1, len(self) * shares / counts))
        return float(torch.rand((), generator=self.generator, dtype=torch.float64)) < chance

    def choose_eviction(self) -> int:
        """Draw a class by how much it exceeds its share; of its items leaves the one that mends the shares most.

        Only those with the fewest labels that are short of their share may leave.
        """
        labels = list(self.index.classes)
        shares, held = self.shares(labels), self.held(labels)
        excess = held - shares * held.sum()
        drawn = labels[int(torch.multinomial(torch.from_numpy(_softmax(excess)), 1, generator=self.generator))]
        is_short = self.sets.by_column(labels, excess <= 0)
        rows = self.sets.rows_with(drawn)
        short = self.sets.matrix[rows] @ is_short
        rows = rows[short == short.min()]
        left = self.sets.by_column(labels, held) - self.sets.matrix[rows]
        wanted = self.sets.by_column(labels, shares) * left.sum(axis=1, keepdims=True)
        deviation = np.abs(left - wanted).sum(axis=1)
        return self.sets.draw(rows[deviation <= deviation.min() + SAME].tolist(), self.generator)


def _softmax(values: Array) -> Array:
    powers = np.exp(values - values.max())
    result: Array = powers / powers.sum()
    return result
