"""Which slots hold which class, and which classes are the most frequent, without ever looking through memory."""

from collections.abc import Collection, Sequence
from typing import Any

import torch


class ClassIndex:
    """Lists of slots by class, and the classes from the most to the least frequent.

    A change costs the same at any number of slots and classes. Where a slot stands in its list depends on all changes
    before, and a draw depends on it, so the lists are state: built anew from the items they would draw differently.
    """

    def __init__(self) -> None:
        self._slots: dict[int, list[int]] = {}
        self._places: dict[int, dict[int, int]] = {}  # by slot: its place in the list of each of its classes
        # As in a bucket sort: classes[_over[k] : _over[k - 1]] are those with k slots, so that a class which gets or
        # loses a slot only changes places with the one at the border of its bucket.
        self._classes: list[int] = []
        self._ranks: dict[int, int] = {}  # by class: its place in _classes
        self._over: list[int] = []  # how many classes have more than 0, 1, 2 … slots

    @property
    def classes(self) -> Sequence[int]:
        """The classes held, from the most to the least frequent."""
        return self._classes

    @property
    def highest(self) -> int:
        """Count of the most frequent class; 0 if none is held."""
        return len(self._over)

    def count(self, label: int) -> int:
        """Return how many slots have this class."""
        return len(self._slots.get(label, ()))

    def slots(self, label: int) -> Sequence[int]:
        """Return the slots of a class that is held."""
        return self._slots[label]

    def add(self, slot: int, labels: Collection[int]) -> None:
        """Take in a new slot with its classes, at least one."""
        self._places[slot] = places = {}
        for label in sorted(labels):  # removal goes through them in this order, and a loaded state knows no other
            self._rise(label)
            slots = self._slots.setdefault(label, [])
            places[label] = len(slots)
            slots.append(slot)

    def remove(self, slot: int) -> None:
        """Forget a slot; in each of its lists the last one takes its place."""
        for label, place in self._places.pop(slot).items():
            self._fall(label)
            slots = self._slots[label]
            last = slots.pop()
            if last != slot:
                slots[place] = last
                self._places[last][label] = place
            if not slots:
                del self._slots[label]

    def move(self, old: int, new: int) -> None:
        """Call a slot by another number, which no slot has."""
        self._places[new] = self._places.pop(old)
        for label, place in self._places[new].items():
            self._slots[label][place] = new

    def draw_most_frequent(self, generator: torch.Generator) -> int:
        """Draw one of the classes with the highest count."""
        return self._classes[int(torch.randint(self._over[-1], (), generator=generator))]

    def draw_slot(self, label: int, generator: torch.Generator) -> int:
        """Draw a slot of a class that is held."""
        slots = self._slots[label]
        return slots[int(torch.randint(len(slots), (), generator=generator))]

    def state_dict(self) -> dict[str, Any]:
        """Return every list in its order."""
        return {
            "classes": torch.tensor(self._classes, dtype=torch.int64),
            "counts": torch.tensor([self.count(label) for label in self._classes], dtype=torch.int64),
            "slots": torch.tensor([slot for label in self._classes for slot in self._slots[label]], dtype=torch.int64),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a saved state."""
        counts = state["counts"].tolist()
        self._classes = state["classes"].tolist()
        self._ranks = {label: rank for rank, label in enumerate(self._classes)}
        slots = iter(state["slots"].tolist())
        self._slots = {
            label: [next(slots) for _ in range(count)] for label, count in zip(self._classes, counts, strict=True)
        }
        self._over = [0] * max(counts, default=0)
        for count in counts:
            for level in range(count):
                self._over[level] += 1
        self._places = {}
        for label in sorted(self._slots):
            for place, slot in enumerate(self._slots[label]):
                self._places.setdefault(slot, {})[label] = place

    def _rise(self, label: int) -> None:
        """Bring a class to the border of the next higher bucket, and the border past it."""
        count = self.count(label)
        if count == 0:
            self._ranks[label] = len(self._classes)
            self._classes.append(label)
        if count == self.highest:
            self._over.append(0)
        self._exchange(label, self._over[count])
        self._over[count] += 1

    def _fall(self, label: int) -> None:
        """Bring a class to the border of the next lower bucket, and the border past it."""
        count = self.count(label)
        self._over[count - 1] -= 1
        self._exchange(label, self._over[count - 1])
        if count == 1:
            self._classes.pop()
            del self._ranks[label]
        if not self._over[-1]:
            self._over.pop()

    def _exchange(self, label: int, rank: int) -> None:
        other, own = self._classes[rank], self._ranks[label]
        self._classes[own], self._classes[rank] = other, label
        self._ranks[other], self._ranks[label] = own, rank
