"""Reservoir sampling (Vitter 1985; experience replay: Chaudhry et al. 2019): every item seen is equally likely kept."""

import torch

from cuter.memory.base import MEMORIES, Memory
from cuter.memory.item import Item


@MEMORIES.register("reservoir")
class Reservoir(Memory):
    """Item number n enters a full memory of M items with probability M/n and replaces a uniform slot."""

    def accepts(self, item: Item) -> bool:
        """Draw with probability M/n; M is the number of items held, since items of any size share the budget."""
        return int(torch.randint(self.seen, (), generator=self.generator)) < len(self)

    def choose_eviction(self) -> int:
        """Draw a slot."""
        return int(torch.randint(len(self), (), generator=self.generator))
