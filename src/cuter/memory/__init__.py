"""What is kept: one policy a file."""

from cuter.memory.base import MEMORIES, Item, Memory

__all__ = ["MEMORIES", "Item", "Memory"]
