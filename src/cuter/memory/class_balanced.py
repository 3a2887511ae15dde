"""Class-balancing reservoir sampling (Chrysakis and Moens 2020), the memory that NsCE was published with."""

from collections import Counter
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import torch

from cuter.memory.base import MEMORIES, Memory, MemorySettings
from cuter.memory.item import Item


@MEMORIES.register("class-balanced")
class ClassBalancedReservoir(Memory):
    """As even over the classes as the stream allows, and a uniform sample of each class.

    A class is *full* once it was a largest one while memory had no room. An item of a class that is not full takes the
    place of an item of a largest class; an item of a full class takes the place of one of its own class with
    probability m/n, where m items of it are held and n have come. An item with several labels counts for the one that
    memory holds least of.
    """

    def __init__(self, budget: int, generator: torch.Generator, settings: MemorySettings | None = None):
        super().__init__(budget, generator, settings)
        self.arrived: Counter[int] = Counter()
        self.full: set[int] = set()

    def register(self, offered: Item) -> Item | None:
        """Count an item and its classes."""
        self.arrived.update(offered.classes)
        return super().register(offered)

    def update(self, items: Sequence[Item]) -> None:
        """Decide about items, one after the other."""
        for offered in items:
            item = self.register(offered)
            if item is None:
                continue
            leaving = None if self.fits(item) else self._class_that_gives_way(item)
            if leaving is not None:
                while not self.fits(item):
                    self.remove(self._slot_of(leaving))
            if self.fits(item):
                self.add(item)

    def choose_eviction(self) -> int:
        """Draw an item of a largest class."""
        return self.index.draw_slot(self.index.draw_most_frequent(self.generator), self.generator)

    def _class_that_gives_way(self, item: Item) -> int | None:
        """Return the class that loses an item for this one; None if the item does not enter."""
        self.full.update(takewhile(lambda label: self.index.count(label) == self.index.highest, self.index.classes))
        rarest = min(item.classes, key=self.index.count)
        if rarest not in self.full:
            return self.index.draw_most_frequent(self.generator)
        enters = int(torch.randint(self.arrived[rarest], (), generator=self.generator)) < self.index.count(rarest)
        return rarest if enters else None

    def _slot_of(self, label: int) -> int:
        """Draw an item of a class; of a largest one where none of it is left, since items differ in size."""
        return self.index.draw_slot(label, self.generator) if self.index.count(label) else self.choose_eviction()

    def state_dict(self) -> dict[str, Any]:
        """Return all that is needed to go on exactly as before."""
        return super().state_dict() | {"arrived": list(self.arrived.items()), "full": sorted(self.full)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a saved state."""
        super().load_state_dict(state)
        self.arrived = Counter(dict(map(tuple, state["arrived"])))
        self.full = set(state["full"])
