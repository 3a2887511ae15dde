"""A method is a choice of parts, written down in one file of `cuter.learn.methods`."""

from dataclasses import dataclass

from cuter.learn.keepers import Keeper
from cuter.registry import Registry


@dataclass(frozen=True)
class Recipe:
    """The parts of a method."""

    summary: str
    keeper: Keeper  # what of a batch may be kept?
    memory: str  # what stays, within a budget of pixels?


METHODS: Registry[Recipe] = Registry("method", "cuter.learn.methods")
