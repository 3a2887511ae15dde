"""A method is a choice of parts, written down in one file of `cuter.learn.methods`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cuter.registry import Registry


@dataclass(frozen=True)
class Recipe:
    """What a method chooses: values for fields of `LearnerSettings`. The user's own choices go before them."""

    summary: str
    choices: Mapping[str, Any] = field(default_factory=dict)


METHODS: Registry[Recipe] = Registry("method", "cuter.learn.methods")
