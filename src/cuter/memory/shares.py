"""Policies with a target: the share of memory that each class should have, by how often the stream showed it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from pydantic import Field

from cuter.memory.base import Memory, MemorySettings
from cuter.memory.item import Item
from cuter.memory.label_sets import Array, LabelSets


class SharesSettings(MemorySettings):
    """Settings of policies with target shares."""

    power: float = Field(
        0.0,
        description="A class that came n times gets a share of memory in proportion to n to this power: 0, all the "
        "same; 1, as in the stream.",
    )


class TargetShares(Memory):
    """Class i of n_i items so far should get the share p_i ∝ n_i^ρ: equal shares at ρ = 0, those of the stream at 1.

    Items without labels count as one class. Which item leaves depends on labels alone, so it is decided among the
    different sets of labels, and drawn among the items that have the chosen one.
    """

    settings: SharesSettings

    def __init__(self, budget: int, generator: torch.Generator, settings: SharesSettings | None = None):
        super().__init__(budget, generator, settings)
        self.arrived: Counter[int] = Counter()  # n_i
        self.sets = LabelSets()

    def shares(self, labels: Sequence[int]) -> Array:
        """Return p_i of these classes, which share memory among them."""
        powers = np.array([self.arrived[label] for label in labels], dtype=np.float64) ** self.settings.power
        shares: Array = powers / powers.sum()
        return shares

    def held(self, labels: Sequence[int]) -> Array:
        """Return how many items of each of these classes are held."""
        return np.array([self.index.count(label) for label in labels], dtype=np.float64)

    def register(self, offered: Item) -> Item | None:
        """Count an item and its classes."""
        self.arrived.update(offered.classes)
        return super().register(offered)

    def add(self, item: Item) -> None:
        """Put an item into a new slot."""
        self.sets.add(len(self), item.classes)
        super().add(item)

    def remove(self, slot: int) -> None:
        """Empty a slot; the last item moves into it."""
        super().remove(slot)
        self.sets.remove(slot)
        if slot != len(self):
            self.sets.move(len(self), slot)

    def state_dict(self) -> dict[str, Any]:
        """Return all that is needed to go on exactly as before."""
        return super().state_dict() | {
            "arrived": list(self.arrived.items()),
            "by_labels": torch.tensor(self.sets.slots(), dtype=torch.int64),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a saved state."""
        super().load_state_dict(state)
        self.arrived = Counter(dict(map(tuple, state["arrived"])))
        self.sets = LabelSets()
        for slot in state["by_labels"].tolist():
            self.sets.add(slot, self.items[slot].classes)
