"""What was drawn from memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from cuter.memory.item import Item


@dataclass(frozen=True, slots=True, eq=False)
class Draw(Sequence[Item]):
    """Items with their pixels, in the order in which they were drawn, and the slots that they are in.

    It is valid as long as memory holds these items in these slots: `Memory.refresh` passes over those that have left.
    """

    items: Sequence[Item] = ()
    slots: Sequence[int] = ()

    @overload
    def __getitem__(self, place: int) -> Item: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Item]: ...
    def __getitem__(self, place: int | slice) -> Item | Sequence[Item]:
        return self.items[place]

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)
