"""What is kept: one policy a file."""

from cuter.memory.base import MEMORIES, Memory
from cuter.memory.item import Item

__all__ = ["MEMORIES", "Item", "Memory"]
