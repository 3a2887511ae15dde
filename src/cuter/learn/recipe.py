"""A method is a choice of parts, written down in one file of `cuter.learn.methods`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cuter.errors import ConfigError
from cuter.registry import Registry


@dataclass(frozen=True)
class Recipe:
    """What a method chooses. The user's own choices go before it.

    Args:
        summary: What the method does, in a sentence.
        choices: Values for fields of `LearnerSettings`; a part by its name, or as a mapping with its name as 'kind'.
        stream: Values for fields of a run's configuration. A bound such as `joint` is about what is shown to the
            learner; that means nothing to a learner outside of a run.
    """

    summary: str
    choices: Mapping[str, Any] = field(default_factory=dict)
    stream: Mapping[str, Any] = field(default_factory=dict)

    def require_learner(self, name: str) -> None:
        """Raise `ConfigError` if the method of this name decides what is shown: a learner alone would not be it."""
        if self.stream:
            raise ConfigError(
                f"method {name!r} is a way of showing data ({', '.join(self.stream)}), which a learner cannot choose: "
                f"start 'cuter run --method {name}', or create a learner with the method 'finetune' and show it all "
                "images"
            )


METHODS: Registry[Recipe] = Registry("method", "cuter.learn.methods", "cuter.methods")
