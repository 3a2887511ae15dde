"""Rebalanced reservoir sampling (CUTER, Sec. 2.2): what is rare enters, what is most frequent leaves."""

import torch
from torch import Tensor

from cuter.memory.base import MEMORIES, Memory
from cuter.memory.item import Item


@MEMORIES.register("balanced")
class Balanced(Memory):
    """An item of class y enters a full memory with probability 1 − m_y/m_max, and items of the most frequent leave.

    m_y is how many items of class y are held, m_max the same of the most frequent class. So an item of a most frequent
    class never enters: once all classes are level, only a class that is new or scarce changes memory. Items without
    labels count as one class.
    """

    def accepts(self, item: Item) -> bool:
        """Draw with probability 1 − m_y/m_max, y being the rarest of the item's classes: it is wanted for that one."""
        rarest = min(self.index.count(label) for label in item.classes)
        return int(torch.randint(self.index.highest, (), generator=self.generator)) >= rarest

    def invites(self, labels: Tensor, largest: int) -> Tensor | None:
        """Draw as `accepts` does, for each label of each image; all are invited while the largest item would fit."""
        if self.pixels + largest <= self.budget:
            return labels
        counts = self.counts(labels.shape[1])
        drawn = torch.rand(labels.shape, generator=self.generator)
        return labels & (drawn >= counts / max(self.index.highest, 1)).to(labels.device)

    def choose_eviction(self) -> int:
        """Draw an item of the most frequent class; of one of them if they are several."""
        label = self.index.draw_most_frequent(self.generator)
        return self.index.draw_slot(label, self.generator)
