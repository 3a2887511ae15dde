"""Targeted replay: what the model takes for something else is replayed (NsCE, Wang et al. 2024, Sec. 4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from cuter.learn.heads.prototypes import POSITIVE_SCORE
from cuter.memory import Draw, Item, Memory
from cuter.stream.batch import Batch

CONFUSED = 0.2  # share of a class's items that are taken for another class (NsCE's code)
AT_ONCE = 64  # items looked at in one forward

Look = Callable[[Sequence[Item]], tuple[Batch, Tensor]]  # items as a batch, and the scores (B, C) that they get


class Confusion:
    """Pairs (i, j) of classes: items with i and without j are often taken for j.

    A pass over memory finds them every so many steps. From then on replay draws items of either class of a pair, and
    any items while there is no pair. NsCE has one label an image; with several, the confusion of (i, j) is the share of
    items with i and without j that get a score of at least 0.8 for j.
    """

    def __init__(self, memory: Memory, look: Look, every: int):
        self.memory = memory
        self.look = look
        self.every = every
        self.pairs: list[tuple[int, int]] = []

    def sample(self, count: int, step: int) -> Draw:
        """Draw different items: `count` of them, or all if there are fewer. Look for pairs first if it is time."""
        if step % self.every == 0:
            self.pairs = self._find_pairs()
        return self.memory.take(self._draw_slots(min(count, len(self.memory))))

    def _draw_slots(self, count: int) -> list[int]:
        """Draw as often as there are slots to draw, and take any others for those that were drawn twice."""
        memory, drawn = self.memory, dict[int, None]()
        confused = [label for pair in self.pairs for label in pair if memory.index.count(label)]
        for _ in range(count if confused else 0):
            label = confused[int(torch.randint(len(confused), (), generator=memory.generator))]
            drawn[memory.index.draw_slot(label, memory.generator)] = None
        if len(drawn) < count:
            others = torch.randperm(len(memory), generator=memory.generator).tolist()
            drawn |= dict.fromkeys([slot for slot in others if slot not in drawn][: count - len(drawn)])
        return list(drawn)

    def _find_pairs(self) -> list[tuple[int, int]]:
        parts = []
        for start in range(0, len(self.memory), AT_ONCE):
            slots = list(range(start, min(start + AT_ONCE, len(self.memory))))
            batch, scores = self.look(self.memory.take(slots))
            parts.append((batch.labels, batch.known, scores >= POSITIVE_SCORE))
        return confused_pairs(*(torch.cat(kind) for kind in zip(*parts, strict=True))) if parts else []

    def state_dict(self) -> dict[str, Any]:
        """Return the pairs."""
        return {"pairs": self.pairs}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over saved pairs."""
        self.pairs = [(first, second) for first, second in state["pairs"]]


def confused_pairs(labels: Tensor, known: Tensor, taken: Tensor) -> list[tuple[int, int]]:
    """Return the pairs (i, j) for which more than `CONFUSED` of the items with i and without j are taken for j."""
    present, predicted = (matrix.any(dim=0).nonzero().flatten() for matrix in (labels, taken))  # few of many classes
    has = labels[:, present].double()
    lacks = (known & ~labels)[:, predicted].double()
    wrong = has.T @ (lacks * taken[:, predicted])
    pairs = (wrong > CONFUSED * (has.T @ lacks)).nonzero()
    return [(int(present[row]), int(predicted[column])) for row, column in pairs.tolist()]
