"""How far a run is: all that a checkpoint must know beside the learner."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from cuter.errors import CheckpointError
from cuter.measure.protocol import TaskResult


@dataclass
class Progress:
    """Position in the stream, results so far and what was skipped."""

    plan: str = ""  # digest of the plan that this is the progress of
    task: int = 0  # the task under way
    batch: int = 0  # its next batch
    images: int = 0
    metrics_length: int = 0
    train_seconds: float = 0.0
    test_seconds: float = 0.0
    results: list[TaskResult] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)  # reason by path
    data_root: str = ""  # that these paths begin with; none in what earlier versions saved

    def move(self, old: str, new: str) -> None:
        """Let what was skipped under the folder `old` be where it is now, under `new`: it must not count twice."""
        if old and new and old != new:
            self.skipped = {_moved(path, old, new): _moved(why, old, new) for path, why in self.skipped.items()}
        self.data_root = new

    def state_dict(self) -> dict[str, Any]:
        """Return the progress ready for JSON."""
        return asdict(self) | {"results": [result.as_dict() for result in self.results]}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Progress:
        """Read back what `state_dict` gave."""
        try:
            return cls(**state | {"results": [TaskResult.from_dict(result) for result in state["results"]]})
        except (KeyError, TypeError) as error:
            raise CheckpointError(f"the checkpoint's progress is of another version: {error}") from None


def _moved(text: str, old: str, new: str) -> str:
    """Replace the folder with which a path, or a message that names one, begins."""
    return new + text.removeprefix(old) if text.startswith(old) else text
