"""Keepers answer: what of a batch may be kept? One keeper a file."""

from cuter.learn.keepers.base import KEEPERS, Keeper, Kept, WantedVectors

__all__ = ["KEEPERS", "Keeper", "Kept", "WantedVectors"]
