"""Which slots have the same labels: what depends on labels alone is then asked once a set, not once an item."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from cuter.memory.item import NO_LABEL

Array = NDArray[np.float64]


class LabelSets:
    """Slots grouped by their set of labels; `matrix` has a row of zeros and ones for each set that is held.

    A change costs the same at any number of slots and sets. As in `ClassIndex`, a draw depends on the order of rows and
    slots, which depends on all changes before, so that it is state.
    """

    def __init__(self) -> None:
        self._rows: dict[tuple[int, ...], int] = {}
        self._sets: list[tuple[int, ...]] = []  # by row
        self._slots: list[list[int]] = []  # by row
        self._places: dict[int, tuple[tuple[int, ...], int]] = {}  # by slot: its set, and its place in the list
        self._matrix: Array = np.zeros((1, 1))  # has some rows and columns in reserve

    @property
    def matrix(self) -> Array:
        """The sets (rows) by class (columns)."""
        return self._matrix[: len(self._sets)]

    def by_column(self, labels: Sequence[int], values: Array | NDArray[np.bool_]) -> Array:
        """Return the values of classes that are held at their columns of the matrix, 0 elsewhere."""
        row: Array = np.zeros(self._matrix.shape[1])
        row[_columns(labels)] = values
        return row

    def rows_with(self, label: int) -> NDArray[np.intp]:
        """Return the rows of the sets that have this label."""
        return np.flatnonzero(self.matrix[:, _columns([label])[0]])

    def add(self, slot: int, labels: Sequence[int]) -> None:
        """Take in a new slot with its labels."""
        key = tuple(labels)
        if key not in self._rows:
            self._append(key)
        slots = self._slots[self._rows[key]]
        self._places[slot] = key, len(slots)
        slots.append(slot)

    def remove(self, slot: int) -> None:
        """Forget a slot; the last one of its list takes its place."""
        key, place = self._places.pop(slot)
        slots = self._slots[self._rows[key]]
        last = slots.pop()
        if last != slot:
            slots[place] = last
            self._places[last] = key, place
        if not slots:
            self._drop(key)

    def move(self, old: int, new: int) -> None:
        """Call a slot by another number, which no slot has."""
        key, place = self._places[new] = self._places.pop(old)
        self._slots[self._rows[key]][place] = new

    def draw(self, rows: Sequence[int], generator: torch.Generator) -> int:
        """Draw one of the slots of some rows."""
        sizes = torch.tensor([len(self._slots[row]) for row in rows])
        number = int(torch.randint(int(sizes.sum()), (), generator=generator))
        before = int((sizes.cumsum(0) <= number).sum())  # rows whose slots all come before this number
        return self._slots[rows[before]][number - int(sizes[:before].sum())]

    def slots(self) -> list[int]:
        """Return all slots, row by row: added in this order they give the same object again."""
        return [slot for slots in self._slots for slot in slots]

    def _append(self, key: tuple[int, ...]) -> None:
        row, columns = len(self._sets), _columns(key)
        rows, width = self._matrix.shape
        if row == rows or max(columns) >= width:
            more_rows = rows if row == rows else 0
            more_columns = max(columns) + 1 - width + width // 4 if max(columns) >= width else 0
            self._matrix = np.pad(self._matrix, ((0, more_rows), (0, more_columns)))
        self._matrix[row] = 0
        self._matrix[row, columns] = 1
        self._rows[key] = row
        self._sets.append(key)
        self._slots.append([])

    def _drop(self, key: tuple[int, ...]) -> None:
        """Forget a set; the last row moves to its place."""
        row = self._rows.pop(key)
        last, slots = self._sets.pop(), self._slots.pop()
        if last != key:
            self._matrix[row] = self._matrix[len(self._sets)]
            self._sets[row], self._slots[row], self._rows[last] = last, slots, row


def _columns(labels: Sequence[int]) -> list[int]:
    return [label - NO_LABEL for label in labels]
