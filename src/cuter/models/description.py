"""What is in a model: its classes and how often it saw them, its memory, its settings, and how it came to be."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuter.learn.learner import Learner
from cuter.learn.recipe import METHODS
from cuter.learn.saved import find_saved
from cuter.learn.settings import LearnerSettings
from cuter.models.versions import ModelFolder, Version
from cuter.settings import flattened
from cuter.storage import bytes_in, load_state


@dataclass(frozen=True, eq=False)
class Description:
    """A model.

    Args:
        folder: Where it was read.
        learner: The learner itself.
        version: Which version it is; None for a run or a saved learner.
        versions: All versions that are kept.
        bytes: Size on disk: of the learner, and of all that is in the folder.
        classes: By class: images learned, items in memory, and the score at which its probability is one half.
        settings: Settings that differ from what its method chooses, by their dotted names.
    """

    folder: Path
    learner: Learner
    version: Version | None
    versions: tuple[Version, ...]
    bytes: tuple[int, int]
    classes: dict[str, tuple[int, int, float]]
    settings: dict[str, Any]

    @property
    def method(self) -> str:
        """The method and what it is, in a sentence."""
        name = self.learner.settings.method
        return f"{name}: {METHODS[name].summary}" if name in METHODS else name

    def as_dict(self) -> dict[str, Any]:
        """Return the facts for JSON."""
        learner = self.learner
        return {
            "folder": str(self.folder),
            "method": learner.settings.method,
            "backbone": learner.backbone.name,
            "image_size": learner.backbone.image_size,
            "version": self.version.model_dump(mode="json") if self.version else None,
            "versions": [version.number for version in self.versions],
            "images": learner.images,
            "steps": learner.steps,
            "classes": [
                {"name": name, "images": images, "in_memory": held, "score_at_half": round(score, 4)}
                for name, (images, held, score) in self.classes.items()
            ],
            "memory": {
                "policy": learner.settings.memory.kind,
                "items": len(learner.memory),
                "images": len({item.id for item in learner.memory.items}),
                "fill": learner.memory.fill,
            },
            "calibrated_on": learner.calibration.images,
            "bytes": self.bytes[0],
            "bytes_in_folder": self.bytes[1],
            "settings": self.settings,
        }


def describe(folder: str | Path) -> Description:
    """Read a model, a run, or a saved learner, and describe it.

    Raises:
        CheckpointError: There is no learner, or it is damaged.
    """
    place = Path(folder).expanduser()
    model = ModelFolder(place)
    saved = find_saved(place)
    learner = Learner.from_state(load_state(saved, "learner"), "cpu")
    counts = learner.memory.counts(len(learner.labels)).tolist()
    classes = {
        name: (learner.label_counts[name], held, learner.calibration.raw_threshold(name))
        for name, held in zip(learner.labels, counts, strict=True)
    }
    method = learner.settings.method
    usual = flattened(LearnerSettings(method=method if method in METHODS else "rs").model_dump(mode="json"))
    own = flattened(learner.settings.model_dump(mode="json"))
    return Description(
        folder=place,
        learner=learner,
        version=model.current if model.exists() else None,
        versions=tuple(model.versions) if model.exists() else (),
        bytes=(bytes_in(saved), bytes_in(place)),
        classes=classes,
        settings={name: value for name, value in own.items() if usual.get(name) != value},
    )
