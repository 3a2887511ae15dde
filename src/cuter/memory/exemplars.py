"""Policies that pick exemplars of each class when its task is over, as iCaRL does (Rebuffi et al. 2017)."""

from abc import abstractmethod
from collections.abc import Sequence
from math import ceil
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from cuter.memory.base import Memory, MemorySettings
from cuter.memory.index import ClassIndex
from cuter.memory.item import NO_LABEL, Item

Array = NDArray[np.float64]
EXEMPLAR, CANDIDATE = 0, 1


class Exemplars(Memory):
    """⌈M/K⌉ exemplars of each class of the tasks before, and a reservoir of the current one in the rest of memory.

    Nobody says that a task is over: it is when classes come that were never seen. Then K counts them too, and of each
    class held the policy picks its quota. An item with several labels is in the pool of each, and stays if any of them
    picks it. M is how many items of the mean size in memory the budget holds: the quota is in items, since replay draws
    items.
    """

    required_vectors: ClassVar[frozenset[str]] = frozenset({"embedding"})

    def __init__(self, budget: int, generator: torch.Generator, settings: MemorySettings | None = None):
        super().__init__(budget, generator, settings)
        self.kinds = ClassIndex()  # slots of exemplars and of candidates
        self.seen_before = 0  # in tasks that are over

    @abstractmethod
    def pick(self, features: Array, count: int) -> Sequence[int]:
        """Return the rows of at most `count` exemplars among more features (n, D) of length 1."""

    def accepts(self, item: Item) -> bool:
        """Draw with probability m/n: m candidates are held of n items of the current task; one can always be held."""
        number = int(torch.randint(self.seen - self.seen_before, (), generator=self.generator))
        return number < max(1, self.kinds.count(CANDIDATE))

    def choose_eviction(self) -> int:
        """Draw a candidate; if there is none, an exemplar of a most frequent class."""
        if self.kinds.count(CANDIDATE):
            return self.kinds.draw_slot(CANDIDATE, self.generator)
        return self.index.draw_slot(self.index.draw_most_frequent(self.generator), self.generator)

    def register(self, offered: Item) -> Item | None:
        """Count an item; if it brings new classes, the tasks before are over."""
        if len(offered.labels) > self.columns:
            self._end_tasks(len(offered.labels))
        return super().register(offered)

    def add(self, item: Item) -> None:
        """Put an item into a new slot."""
        self.kinds.add(len(self), {CANDIDATE})
        super().add(item)

    def remove(self, slot: int) -> None:
        """Empty a slot; the last item moves into it."""
        super().remove(slot)
        self.kinds.remove(slot)
        if slot != len(self):
            self.kinds.move(len(self), slot)

    def state_dict(self) -> dict[str, Any]:
        """Return all that is needed to go on exactly as before."""
        return super().state_dict() | {"kinds": self.kinds.state_dict(), "seen_before": self.seen_before}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a saved state."""
        super().load_state_dict(state)
        self.kinds.load_state_dict(state["kinds"])
        self.seen_before = state["seen_before"]

    def _end_tasks(self, classes: int) -> None:
        """Keep the exemplars of each class that is held, and forget the other items."""
        quota = self._quota(classes)
        kept: set[int] = set()
        for label in self.index.classes:
            slots = self.index.slots(label)
            kept.update(
                slots if len(slots) <= quota else (slots[row] for row in self.pick(self._features(slots), quota))
            )
        for slot in sorted(
            set(range(len(self))) - kept, reverse=True
        ):  # from the end: those before stay where they are
            self.remove(slot)
        self.kinds = ClassIndex()
        for slot in range(len(self)):
            self.kinds.add(slot, {EXEMPLAR})
        self.seen_before = self.seen

    def _quota(self, classes: int) -> int:
        """Return ⌈M/K⌉; items without labels count as one class more."""
        capacity = self.budget * len(self) // max(1, self.pixels)
        return ceil(capacity / (classes + (self.index.count(NO_LABEL) > 0)))

    def _features(self, slots: Sequence[int]) -> Array:
        """Return the embeddings of some items, brought to length 1."""
        embeddings = torch.stack([self.items[slot].tensors()["embedding"] for slot in slots]).double()
        features: Array = torch.nn.functional.normalize(embeddings, dim=1).numpy()
        return features
