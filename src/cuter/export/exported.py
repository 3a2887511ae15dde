"""What an export has written."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Exported:
    """Files of an export, and how they were checked.

    Args:
        folder: Where they are.
        files: Bytes of each file, by name.
        facts: What `model.json` says: labels, image size, how images are prepared, what the check found.
    """

    folder: Path
    files: Mapping[str, int]
    facts: Mapping[str, Any]

    @property
    def largest_difference(self) -> float:
        """The largest difference between a probability of the exported model and the learner's, on the check images."""
        return float(self.facts["check"]["largest_difference"])

    def as_dict(self) -> dict[str, Any]:
        """Return all of it, ready for JSON."""
        return {"folder": str(self.folder), "files": dict(self.files), **self.facts}
