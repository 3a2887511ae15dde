"""Draws answer: which items of memory are replayed?"""

from collections.abc import Callable
from dataclasses import dataclass

from cuter.learn.confusion import Confusion
from cuter.memory import Draw, Memory

DrawReplay = Callable[[int], Draw]  # in the step of this number


@dataclass(frozen=True, slots=True, eq=False)
class Uniform:
    """Any items, all equally likely."""

    memory: Memory
    count: int

    def __call__(self, step: int) -> Draw:
        """Draw items at random."""
        return self.memory.sample(self.count)


@dataclass(frozen=True, slots=True, eq=False)
class ByClass:
    """Items of each class by turns."""

    memory: Memory
    count: int

    def __call__(self, step: int) -> Draw:
        """Draw items evenly."""
        return self.memory.sample_evenly(self.count)


@dataclass(frozen=True, slots=True, eq=False)
class Confused:
    """Items of classes that the model takes for each other."""

    confusion: Confusion
    count: int

    def __call__(self, step: int) -> Draw:
        """Draw items of confused classes, which are looked for anew every so many steps."""
        return self.confusion.sample(self.count, step)
