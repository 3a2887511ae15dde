"""Partitioning reservoir sampling (Kim et al. 2020): shares of memory follow a power of the stream's frequencies."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from cuter.memory.base import MEMORIES, Item, Memory

POWER = 0.1  # 0: an equal share for every class; 1: shares as in the stream

Array = NDArray[np.float64]


@MEMORIES.register("prs")
class PartitioningReservoir(Memory):
    """Class i of n_i items so far gets the share p_i ∝ n_i^ρ of memory; l_i is how many it has.

    Shares are over the classes that the stream has shown. Items without labels count as one class.
    """

    def __init__(self, budget: int, generator: torch.Generator, codec: str = "raw"):
        super().__init__(budget, generator, codec)
        self.arrived: Counter[int] = Counter()  # n_i

    def offer(self, items: Sequence[Item]) -> None:
        """Show new items to memory, and count their classes."""
        for item in items:
            self.arrived.update(item.classes)
            super().offer([item])

    def admits(self, item: Item) -> bool:
        """Draw with probability Σ w_i · min(1, M p_i / n_i) over the item's labels, w = softmax(-n_i) over them."""
        shares = dict(zip(self.arrived, self.shares(), strict=True))
        counts = np.array([self.arrived[label] for label in item.classes], dtype=np.float64)
        rates = np.minimum(1, len(self) * np.array([shares[label] for label in item.classes]) / counts)
        chance = float(_softmax(-counts) @ rates)
        return float(torch.rand((), generator=self.generator, dtype=torch.float64)) < chance

    def victim(self, item: Item) -> int:
        """Draw a class by how much it exceeds its share; of its items leaves the one that mends the shares most.

        Only those with the fewest labels that are short of their share may leave.
        """
        shares, labels = self.shares(), list(self.arrived)
        held = np.array([self.index.count(label) for label in labels], dtype=np.float64)
        excess = held - shares * held.sum()
        weights = np.where(held > 0, _softmax(np.where(held > 0, excess, -np.inf)), 0)
        drawn = labels[int(torch.multinomial(torch.from_numpy(weights), 1, generator=self.generator))]
        slots = np.array(self.index.slots(drawn))
        column = {label: place for place, label in enumerate(labels)}
        rows = np.zeros((len(slots), len(labels)))
        for row, slot in enumerate(slots):
            rows[row, [column[label] for label in self.items[slot].classes]] = 1
        short = rows[:, excess <= 0].sum(axis=1)
        may_leave = np.flatnonzero(short == short.min())
        left = held - rows[may_leave]
        deviation = np.abs(left - shares * left.sum(axis=1, keepdims=True)).sum(axis=1)
        return int(slots[may_leave[deviation.argmin()]])

    def shares(self) -> Array:
        """Return p_i of the classes in `arrived`, in its order."""
        powers = np.array(list(self.arrived.values()), dtype=np.float64) ** POWER
        shares: Array = powers / powers.sum()
        return shares

    def state_dict(self) -> dict[str, Any]:
        """Return all that is needed to go on exactly as before."""
        return super().state_dict() | {"arrived": list(self.arrived.items())}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a saved state."""
        super().load_state_dict(state)
        self.arrived = Counter(dict(map(tuple, state["arrived"])))


def _softmax(values: Array) -> Array:
    powers = np.exp(values - values.max())
    result: Array = powers / powers.sum()
    return result
