"""Policies as the code behind CUTER's tables has them, faults included: for the suite `published`, not for use.

docs/explanation/departures.md lists the faults; the correct policies are in files of their own.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from cuter.memory.balanced import Balanced
from cuter.memory.base import MEMORIES
from cuter.memory.item import Item
from cuter.memory.prs import PartitioningReservoir
from cuter.memory.reservoir import Reservoir


@MEMORIES.register("reservoir-published")
class FrozenReservoir(Reservoir):
    """Item number n enters with probability 1/n in place of M/n, so that memory hardly changes once it is full."""

    def accepts(self, item: Item) -> bool:
        """Draw with probability 1/n."""
        return int(torch.randint(self.seen, (), generator=self.generator)) == 0


@MEMORIES.register("prs-published")
class RandomEvictionPRS(PartitioningReservoir):
    """PRS decides who enters; who leaves is drawn from all items, so that shares are not approached."""

    def choose_eviction(self) -> int:
        """Draw a slot."""
        return int(torch.randint(len(self), (), generator=self.generator))


@MEMORIES.register("balanced-published")
class CappedBalanced(Balanced):
    """CUTER's memory, in which no class may exceed its share of the current task while there is room.

    The share is the budget divided by the number of classes that somebody looked for. Beyond it a new item takes the
    place of one of its own class.
    """

    def invites(self, labels: Tensor, largest: int) -> Tensor | None:
        """Decide only about items: whether one replaces another depends on its size."""
        return None

    def update(self, items: Sequence[Item]) -> None:
        """Let an item of a class beyond its share replace one of that class, then decide as usual."""
        for item in items:
            label = min(item.classes, key=self.index.count)
            share = self.budget / max(1, int(item.known.sum()))
            if self.fits(item) and self.index.count(label) and self._pixels_of(label) + item.pixels > share:
                self.remove(self.index.draw_slot(label, self.generator))
            super().update([item])

    def _pixels_of(self, label: int) -> int:
        return sum(self.items[slot].pixels for slot in self.index.slots(label))
