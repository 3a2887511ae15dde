"""Keepers answer: what of a batch may be kept? One keeper a file."""

from cuter.learn.keepers.base import KEEPERS, Keeper, Kept, RequiredVectors

__all__ = ["KEEPERS", "Keeper", "Kept", "RequiredVectors"]
