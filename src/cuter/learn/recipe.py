"""A method is a choice of parts, written down in one file of `cuter.learn.methods`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from cuter.errors import ConfigError
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

    def require_learner(self, name: str) -> None:
        """Raise `ConfigError` if the method of this name decides what is shown: a learner alone would not be it."""
        from cuter.learn.settings import LearnerSettings  # which asks for the recipes itself

        if shown := [choice for choice in self.choices if choice not in LearnerSettings.model_fields]:
            raise ConfigError(
                f"method {name!r} is a way of showing data ({', '.join(shown)}), which a learner cannot choose: start "
                f"'cuter run --method {name}', or create a learner with the method 'finetune' and show it all images"
            )


METHODS: Registry[Recipe] = Registry("method", "cuter.learn.methods")
