"""A memory with a fixed budget of pixels."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from cuter.errors import CheckpointError, ConfigError
from cuter.memory.codec import decode, encode, require_codec
from cuter.memory.index import ClassIndex
from cuter.registry import Registry

NO_LABEL = -1  # the class of items without labels: they share memory as one class more, and are drawn as such


@dataclass(frozen=True, slots=True)
class Item:
    """What memory keeps: an image or a part of one at its own size, and what is known of its labels.

    image: uint8 (3, h, w), or (n,) where memory stores it as the bytes of a compressed file.
    labels and known: bool (C,) over the label space at the time. Columns never change their meaning, so a later, longer
    label space only adds columns at the end. Of a cut-out, known
    tells which classes somebody looked for in its image.
    id: the image that it comes from; box: which part of it a cut-out is, half-open x1, y1, x2, y2 in pixels of the
    image as the learner saw it.
    """

    image: Tensor
    labels: Tensor
    known: Tensor
    id: str
    box: tuple[int, int, int, int] | None = None

    @property
    def pixels(self) -> int:
        """What the item costs: a pixel is three bytes, and so are three bytes of a compressed file."""
        return -(-self.image.numel() // 3)

    @property
    def classes(self) -> list[int]:
        """The columns of its labels."""
        return self.labels.nonzero().flatten().tolist() or [NO_LABEL]


class Memory(ABC):
    """Items within a budget of pixels. A policy decides who enters (`admits`) and who leaves (`victim`).

    `items` are as they are stored, with images compressed by the codec; what is drawn has its pixels again.
    """

    def __init__(self, budget: int, generator: torch.Generator, codec: str = "raw"):
        if budget < 0:
            raise ConfigError(f"the memory budget must be 0 pixels or more, not {budget}")
        require_codec(codec)
        self.budget = budget
        self.generator = generator
        self.codec = codec
        self.items: list[Item] = []
        self.index = ClassIndex()
        self.pixels = 0
        self.seen = 0
        self.columns = 0

    @abstractmethod
    def admits(self, item: Item) -> bool:
        """Tell whether this item may enter a full memory."""

    @abstractmethod
    def victim(self, item: Item) -> int:
        """Return the slot that makes room for this item."""

    def offer(self, items: Sequence[Item]) -> None:
        """Show new items to memory: all enter while there is room, then the policy decides."""
        for offered in items:
            item = replace(offered, image=encode(offered.image, self.codec))
            self.seen += 1
            self.columns = max(self.columns, len(item.labels))
            if item.pixels > self.budget:
                continue
            if self.pixels + item.pixels <= self.budget or self.admits(item):
                while self.pixels + item.pixels > self.budget:
                    self.remove(self.victim(item))
                self.add(item)

    def add(self, item: Item) -> None:
        """Put an item into a new slot. Its tensors are copied: an item of a batch would keep the whole batch alive."""
        item = replace(item, image=item.image.clone(), labels=item.labels.clone(), known=item.known.clone())
        self.index.add(len(self.items), item.classes)
        self.items.append(item)
        self.pixels += item.pixels

    def remove(self, slot: int) -> None:
        """Empty a slot; the last item moves into it, so the cost does not depend on the size of memory."""
        self.pixels -= self.items[slot].pixels
        self.index.remove(slot)
        last = self.items.pop()
        if slot != len(self.items):
            self.items[slot] = last
            self.index.move(len(self.items), slot)

    def sample(self, count: int) -> list[Item]:
        """Draw different items at random: `count` of them, or all if there are fewer."""
        order = torch.randperm(len(self.items), generator=self.generator)[:count]
        return [self._decoded(slot) for slot in order.tolist()]

    def sample_evenly(self, count: int) -> list[Item]:
        """Draw different items, one of each class by turns: `count` of them, or all if there are fewer.

        The classes are in random order. A draw yields an item or meets one that another of its classes has yielded, so
        there are at most as many draws as `count` items have labels, whatever memory holds.
        """
        count = min(count, len(self))
        drawn: dict[int, None] = {}
        labels = self._shuffled(self.index.classes)
        turns: Iterator[Iterator[int]] = (self._shuffled(self.index.slots(label)) for label in labels)
        while len(drawn) < count:
            again = []
            for slots in turns:
                slot = next((slot for slot in slots if slot not in drawn), None)
                if slot is not None:
                    drawn[slot] = None
                    again.append(slots)
                if len(drawn) == count:
                    break
            turns = iter(again)
        return [self._decoded(slot) for slot in drawn]

    def counts(self) -> Tensor:
        """Return how many items have each label, by column, over the longest label space that an item came with."""
        return torch.tensor([self.index.count(label) for label in range(self.columns)], dtype=torch.int64)

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
            "codec": self.codec,
            "seen": self.seen,
            "columns": self.columns,
            "index": self.index.state_dict(),
            "ids": [item.id for item in self.items],
            "boxes": [item.box for item in self.items],
            "images": {str(slot): item.image for slot, item in enumerate(self.items)},
            "labels": {str(slot): item.labels for slot, item in enumerate(self.items)},
            "known": {str(slot): item.known for slot, item in enumerate(self.items)},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a saved state."""
        if state["budget"] != self.budget:
            raise CheckpointError(f"saved with a memory of {state['budget']} pixels, not {self.budget}")
        if state["codec"] != self.codec:
            raise CheckpointError(f"saved with a memory of codec {state['codec']!r}, not {self.codec!r}")
        self.seen = state["seen"]
        self.columns = state["columns"]
        self.index.load_state_dict(state["index"])
        self.items = [
            Item(
                state["images"][str(slot)],
                state["labels"][str(slot)],
                state["known"][str(slot)],
                id,
                box and tuple(box),
            )
            for slot, (id, box) in enumerate(zip(state["ids"], state["boxes"], strict=True))
        ]
        self.pixels = sum(item.pixels for item in self.items)

    def _decoded(self, slot: int) -> Item:
        item = self.items[slot]
        return replace(item, image=decode(item.image))

    def _shuffled(self, numbers: Sequence[int]) -> Iterator[int]:
        """Yield all in random order, each at the same cost however many there are (Fisher and Yates, as it goes)."""
        moved: dict[int, int] = {}
        for last in range(len(numbers) - 1, -1, -1):
            place = int(torch.randint(last + 1, (), generator=self.generator))
            yield numbers[moved.get(place, place)]
            moved[place] = moved.pop(last, last)


MEMORIES: Registry[type[Memory]] = Registry("memory policy", "cuter.memory")
