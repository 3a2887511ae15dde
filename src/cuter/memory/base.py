"""A memory with a fixed budget of pixels."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from cuter.errors import CheckpointError, ConfigError
from cuter.registry import Registry


@dataclass(frozen=True, slots=True)
class Item:
    """What memory keeps: an image or a part of one at its own size, and what is known of its labels.

    image: uint8 (3, h, w); labels and known: bool (C,) over the label space at the time. Columns never change their
    meaning, so a later, longer label space only adds unknown columns at the end.
    """

    image: Tensor
    labels: Tensor
    known: Tensor
    id: str

    @property
    def pixels(self) -> int:
        """What the item costs."""
        return self.image.shape[-2] * self.image.shape[-1]


class Memory(ABC):
    """Items within a budget of pixels. A policy decides who enters (`admits`) and who leaves (`victim`)."""

    def __init__(self, budget: int, generator: torch.Generator):
        if budget < 0:
            raise ConfigError(f"the memory budget must be 0 pixels or more, not {budget}")
        self.budget = budget
        self.generator = generator
        self.items: list[Item] = []
        self.pixels = 0
        self.seen = 0

    @abstractmethod
    def admits(self, item: Item) -> bool:
        """Tell whether this item may enter a full memory."""

    @abstractmethod
    def victim(self, item: Item) -> int:
        """Return the slot that makes room for this item."""

    def offer(self, items: Sequence[Item]) -> None:
        """Show new items to memory: all enter while there is room, then the policy decides."""
        for item in items:
            self.seen += 1
            enters = self.pixels + item.pixels <= self.budget or self.admits(item)
            if enters and item.pixels <= self.budget:
                while self.pixels + item.pixels > self.budget:
                    self.remove(self.victim(item))
                self.add(item)

    def add(self, item: Item) -> None:
        """Put an item into a new slot. Its tensors are copied: an item of a batch would keep the whole batch alive."""
        item = replace(item, image=item.image.clone(), labels=item.labels.clone(), known=item.known.clone())
        self.items.append(item)
        self.pixels += item.pixels

    def remove(self, slot: int) -> None:
        """Empty a slot; the last item moves into it, so the cost does not depend on the size of memory."""
        self.pixels -= self.items[slot].pixels
        self.items[slot] = self.items[-1]
        self.items.pop()

    def sample(self, count: int) -> list[Item]:
        """Draw different items at random: `count` of them, or all if there are fewer."""
        order = torch.randperm(len(self.items), generator=self.generator)[:count]
        return [self.items[slot] for slot in order.tolist()]

    @property
    def fill(self) -> float:
        """Share of the budget that is in use."""
        return self.pixels / self.budget if self.budget else 0.0

    def __len__(self) -> int:
        return len(self.items)

    def state_dict(self) -> dict[str, Any]:
        """Return all that is needed to go on exactly as before, but for the generator, which is the owner's."""
        return {
            "budget": self.budget,
            "seen": self.seen,
            "ids": [item.id for item in self.items],
            "images": {str(slot): item.image for slot, item in enumerate(self.items)},
            "labels": {str(slot): item.labels for slot, item in enumerate(self.items)},
            "known": {str(slot): item.known for slot, item in enumerate(self.items)},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a saved state."""
        if state["budget"] != self.budget:
            raise CheckpointError(f"saved with a memory of {state['budget']} pixels, not {self.budget}")
        self.seen = state["seen"]
        self.items = [
            Item(state["images"][str(slot)], state["labels"][str(slot)], state["known"][str(slot)], id)
            for slot, id in enumerate(state["ids"])
        ]
        self.pixels = sum(item.pixels for item in self.items)


MEMORIES: Registry[type[Memory]] = Registry("memory policy", "cuter.memory")
