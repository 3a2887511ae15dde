"""Draws answer: which items of memory are replayed?"""

from abc import ABC, abstractmethod
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from cuter.learn.confusion import Confusion, Look
from cuter.memory import Draw, Memory
from cuter.registry import Registry
from cuter.settings import PartSettings, Role


class ReplaySettings(PartSettings):
    """Settings of replay, however items are drawn."""

    size: Annotated[int, Role.COMMON] = Field(6, ge=0, le=10_000, description="Items replayed in each step.")
    weight: float = Field(1.0, ge=0, description="Weight of the loss of replayed items; the stream has 1.")
    unknown: Literal["absent", "ignored"] = Field(
        "absent",
        description="What a replayed whole image says of classes that nobody looked for in it: absent or ignored.",
    )


class ReplayDraw(ABC):
    """Draws the items that are replayed in a step.

    Args:
        settings: The settings of the draw.
        memory: Where items are drawn from.
        look: Returns what the model predicts for items.
    """

    def __init__(self, settings: Any, memory: Memory, look: Look):
        self.settings = settings
        self.memory = memory

    @abstractmethod
    def __call__(self, step: int) -> Draw:
        """Draw items in the step of this number."""

    def state_dict(self) -> dict[str, Any]:
        """Return all that is needed to go on exactly as before."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:  # noqa: B027  # most have no state
        """Take over a saved state."""


DRAWS: Registry[type[ReplayDraw]] = Registry("replay", "cuter.learn.draws", "cuter.replays", ReplaySettings)


@DRAWS.register("uniform")
class Uniform(ReplayDraw):
    """Any items, all equally likely."""

    def __call__(self, step: int) -> Draw:
        """Draw items at random."""
        return self.memory.sample(self.settings.size)


@DRAWS.register("by-class")
class ByClass(ReplayDraw):
    """Items of each class by turns."""

    def __call__(self, step: int) -> Draw:
        """Draw items evenly."""
        return self.memory.sample_evenly(self.settings.size)


class ConfusedSettings(ReplaySettings):
    """Settings of targeted replay."""

    steps: int = Field(
        50, ge=1, le=1_000_000_000, description="Steps after which memory is searched for confused classes."
    )


@DRAWS.register("confused")
class Confused(ReplayDraw):
    """Items of classes that the model takes for each other, as in NsCE."""

    Settings: ClassVar[type[PartSettings]] = ConfusedSettings

    def __init__(self, settings: ConfusedSettings, memory: Memory, look: Look):
        super().__init__(settings, memory, look)
        self.confusion = Confusion(memory, look, settings.steps)

    def __call__(self, step: int) -> Draw:
        """Draw items of confused classes, which are looked for anew every so many steps."""
        return self.confusion.sample(self.settings.size, step)

    def state_dict(self) -> dict[str, Any]:
        """Return the confused classes."""
        return self.confusion.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over saved classes."""
        self.confusion.load_state_dict(state)
