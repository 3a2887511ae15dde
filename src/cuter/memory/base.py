"""A memory with a fixed budget of pixels."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor

from cuter.errors import BatchError, CheckpointError, ConfigError
from cuter.memory.codec import decode, encode, require_codec
from cuter.memory.draw import Draw
from cuter.memory.index import ClassIndex
from cuter.memory.item import Item
from cuter.registry import Registry
from cuter.settings import PartSettings, Role


class MemorySettings(PartSettings):
    """Settings of every memory policy."""

    images: Annotated[int, Role.COMMON] = Field(
        1000, ge=0, le=10_000_000, description="Budget, counted in pixels: as many as this number of whole images has."
    )
    codec: Literal["raw", "jpeg", "webp"] = Field(
        "raw", description="How pixels are stored: raw; jpeg or webp hold several times more in as many bytes."
    )


class Memory(ABC):
    """Items within a budget of pixels. A policy decides who enters (`accepts`) and who leaves (`choose_eviction`).

    `items` are as they are stored, with images compressed by the codec; what is drawn has its pixels again.

    Args:
        budget: Pixels that fit.
        generator: Where random draws come from.
        settings: Settings of the policy; by default its defaults.

    Raises:
        ConfigError: The budget is negative.

    Examples:
        >>> import torch
        >>> from cuter.memory import MEMORIES, Item
        >>> memory = MEMORIES["reservoir"](budget=3 * 8 * 8, generator=torch.Generator().manual_seed(0))
        >>> label = torch.tensor([True])
        >>> image = torch.zeros(3, 8, 8, dtype=torch.uint8)
        >>> memory.offer([Item(image, labels=label, known=label, id=str(number)) for number in range(10)])
        >>> len(memory), memory.fill, len(memory.sample(2))
        (3, 1.0, 2)
    """

    required_vectors: ClassVar[frozenset[str]] = frozenset()  # of items: "embedding", "logit_grad"
    Settings: ClassVar[type[MemorySettings]] = MemorySettings

    def __init__(self, budget: int, generator: torch.Generator, settings: MemorySettings | None = None):
        if budget < 0:
            raise ConfigError(f"the memory budget must be 0 pixels or more, not {budget}")
        self.budget = budget
        self.generator = generator
        self.settings = settings or self.Settings()
        self.codec = self.settings.codec
        require_codec(self.codec)
        self.items: list[Item] = []
        self.index = ClassIndex()
        self.pixels = 0
        self.seen = 0
        self.columns = 0

    def accepts(self, item: Item) -> bool:
        """Tell whether this item may enter a full memory; by default all may."""
        return True

    @abstractmethod
    def choose_eviction(self) -> int:
        """Return the slot that is emptied next."""

    def invites(self, labels: Tensor, largest: int) -> Tensor | None:
        """Draw which labels of some images (B, C) an item may be made of, before anybody makes it.

        A policy that looks at nothing but the class can draw so early, and what would not enter need not be made: what
        is made then is offered as `invited`. None: the policy decides only when items are offered.

        Args:
            labels: (B, C), what the images show.
            largest: pixels of the largest item that can be made.
        """
        return None

    def offer(self, items: Sequence[Item], *, invited: bool = False) -> None:
        """Show new items to memory: all enter while there is room, then the policy decides, or has decided before."""
        for name in sorted(self.required_vectors):
            if any(getattr(item, name) is None for item in items):
                raise BatchError(
                    f"this memory policy needs items that come with: {', '.join(sorted(self.required_vectors))}"
                )
        if not invited:
            self.update(items)
            return
        for offered in items:
            item = self.register(offered)
            if item is not None:
                self.enter(item)

    def update(self, items: Sequence[Item]) -> None:
        """Decide about items, one after the other."""
        for offered in items:
            item = self.register(offered)
            if item is not None and (self.fits(item) or self.accepts(item)):
                self.enter(item)

    def enter(self, item: Item) -> None:
        """Add an item; others leave where there is no room."""
        while not self.fits(item):
            self.remove(self.choose_eviction())
        self.add(item)

    def register(self, offered: Item) -> Item | None:
        """Count an item, and return it as it is stored; None if it is larger than the budget."""
        self.seen += 1
        self.columns = max(self.columns, len(offered.labels))
        item = replace(offered, image=encode(offered.image, self.codec))
        return item if item.pixels <= self.budget else None

    def fits(self, item: Item) -> bool:
        """Tell whether there is room for this item."""
        return self.pixels + item.pixels <= self.budget

    def add(self, item: Item) -> None:
        """Put an item into a new slot. Its tensors are copied: an item of a batch would keep the whole batch alive."""
        self.index.add(len(self.items), item.classes)
        self.items.append(item.copied())
        self.pixels += item.pixels

    def remove(self, slot: int) -> None:
        """Empty a slot; the last item moves into it, so the cost does not depend on the size of memory."""
        self.pixels -= self.items[slot].pixels
        self.index.remove(slot)
        last = self.items.pop()
        if slot != len(self.items):
            self.items[slot] = last
            self.index.move(len(self.items), slot)

    def forget(self, ids: Iterable[str]) -> Counter[str]:
        """Remove all items that come from these images, and return how many each of them had."""
        unwanted = set(ids)
        slots = [slot for slot, item in enumerate(self.items) if item.id in unwanted]
        removed = Counter(self.items[slot].id for slot in slots)
        for slot in reversed(slots):  # the last item moves into the slot, and is none of those that must go
            self.remove(slot)
        return removed

    def sample(self, count: int) -> Draw:
        """Draw different items at random: `count` of them, or all if there are fewer."""
        return self.take(torch.randperm(len(self.items), generator=self.generator)[:count].tolist())

    def sample_evenly(self, count: int) -> Draw:
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
        return self.take(list(drawn))

    def take(self, slots: Sequence[int]) -> Draw:
        """Return the items of these slots with their pixels."""
        return Draw([replace(self.items[slot], image=decode(self.items[slot].image)) for slot in slots], slots)

    def refresh(self, drawn: Draw, vectors: Mapping[str, Tensor]) -> None:
        """Renew vectors of items that were drawn, one row each: the model has just seen them again.

        Vectors are named as the fields of `Item`. An item that has left its slot since then is passed over.
        """
        for place, slot in enumerate(drawn.slots if vectors else ()):
            if slot < len(self.items) and self.items[slot].labels is drawn.items[place].labels:  # the item, or renewed
                renewed: dict[str, Any] = {name: rows[place].clone() for name, rows in vectors.items()}
                self.items[slot] = replace(self.items[slot], **renewed)

    def counts(self, columns: int | None = None) -> Tensor:
        """Return how many items have each label, by column: of the longest label space so far, or of this length."""
        columns = self.columns if columns is None else columns
        return torch.tensor([self.index.count(label) for label in range(columns)], dtype=torch.int64)

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
            "tensors": {str(slot): item.tensors() for slot, item in enumerate(self.items)},
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
            Item(id=id, box=box and tuple(box), **state["tensors"][str(slot)])
            for slot, (id, box) in enumerate(zip(state["ids"], state["boxes"], strict=True))
        ]
        self.pixels = sum(item.pixels for item in self.items)

    def _shuffled(self, numbers: Sequence[int]) -> Iterator[int]:
        """Yield all in random order, each at the same cost however many there are (Fisher and Yates, as it goes)."""
        moved: dict[int, int] = {}
        for last in range(len(numbers) - 1, -1, -1):
            place = int(torch.randint(last + 1, (), generator=self.generator))
            yield numbers[moved.get(place, place)]
            moved[place] = moved.pop(last, last)


MEMORIES: Registry[type[Memory]] = Registry("memory policy", "cuter.memory", "cuter.memories", MemorySettings)
