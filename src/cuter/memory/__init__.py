"""What is kept: one policy a file."""

from cuter.memory.base import MEMORIES, Memory, MemorySettings
from cuter.memory.draw import Draw
from cuter.memory.item import Item

__all__ = ["MEMORIES", "Draw", "Item", "Memory", "MemorySettings"]
