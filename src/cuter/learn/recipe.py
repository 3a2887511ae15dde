"""A method is a choice of parts, written down in one file of `cuter.learn.methods`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from cuter.registry import Registry


@dataclass(frozen=True)
class Recipe:
    """What a method chooses: values for fields of `LearnerSettings`. The user's own choices go before them.

    A bound such as `joint` is about what is shown, too: it may choose fields of a run's configuration, which mean
    nothing to a learner outside a run.
    """

    summary: str
    choices: Mapping[str, Any] = field(default_factory=dict)

    def choices_for(self, settings: type[BaseModel]) -> dict[str, Any]:
        """Return the choices that are fields of these settings."""
        return {name: value for name, value in self.choices.items() if name in settings.model_fields}


METHODS: Registry[Recipe] = Registry("method", "cuter.learn.methods")
