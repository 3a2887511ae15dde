"""Heads turn features into scores, and grow: one head a file."""

from cuter.learn.heads.base import HEADS, Head, HeadSettings, Scores
from cuter.learn.heads.linear import LinearHead

__all__ = ["HEADS", "Head", "HeadSettings", "LinearHead", "Scores"]
