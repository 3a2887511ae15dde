"""A learner as files, and back: all that it needs to go on exactly where it was."""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuter.backbone import Backbone
from cuter.cut import CutSettings, Localiser
from cuter.errors import CheckpointError
from cuter.learn import legacy
from cuter.learn.calibration import Calibration
from cuter.learn.saved import find_saved
from cuter.learn.settings import LearnerSettings
from cuter.settings import import_modules, validated
from cuter.storage import load_state, save_states

if TYPE_CHECKING:
    from cuter.learn.learner import Learner

FORMAT = 4  # of a saved learner
FLAT = 3  # its settings were one list of fields


def save(learner: Learner, folder: str | Path) -> None:
    """Write a learner into a folder: whole or not at all."""
    place = Path(folder).expanduser().resolve()
    try:
        save_states(place, {"learner": state_of(learner)})
    except OSError as error:
        raise CheckpointError(
            f"the learner cannot be saved in {place}: {error}. Nothing there has changed; make room, or choose another "
            "folder"
        ) from error


def load(kind: type[Learner], folder: str | Path, device: str) -> Learner:
    """Read a learner from where it was saved, or from the newest checkpoint of a run."""
    return restore(kind, load_state(find_saved(Path(folder).expanduser()), "learner"), device)


def state_of(learner: Learner) -> dict[str, Any]:
    """Return all that is needed to go on exactly as before, the backbone's architecture included."""
    state = learner.optimizer.state_dict()["state"]
    return {
        "format": FORMAT,
        "settings": learner.settings.model_dump(mode="json"),
        "backbone": learner.backbone.describe(),
        "labels": list(learner.labels),
        "blocks": learner.model.head.blocks,
        "steps": learner.steps,
        "images": learner.images,
        "label_counts": dict(learner.label_counts),
        "calibration": learner.calibration.state_dict(),
        "model": learner.model.state_dict(),
        "optimizer": {str(index): values for index, values in state.items()},
        "generator": learner.generator.get_state(),
        "memory": learner.memory.state_dict(),
        "teacher": learner.teacher.state_dict(),
        "replay": learner.draw.state_dict(),
        "localiser": _localiser_state(learner.localiser),
    }


def restore(kind: type[Learner], state: dict[str, Any], device: str = "auto") -> Learner:
    """Build the learner that a state describes."""
    if state.get("format") not in (FORMAT, FLAT):
        raise CheckpointError(
            f"saved in format {state.get('format')}, but this version reads the formats {FLAT} and {FORMAT}"
        )
    if state["format"] == FLAT:
        state = _of_today(state)
    import_modules(state["settings"].get("imports", []))
    settings = validated(LearnerSettings, state["settings"], saved=True)
    backbone = Backbone.from_description(state["backbone"])
    learner = kind(settings, backbone, device, _localiser_of(state["localiser"]))
    names = iter(state["labels"])
    for count in state["blocks"]:
        learner.grow([next(names) for _ in range(count)])
    learner.model.load_state_dict(state["model"])
    groups = learner.optimizer.state_dict()["param_groups"]
    moments = {int(index): copy.deepcopy(values) for index, values in state["optimizer"].items()}  # steps change them
    learner.optimizer.load_state_dict({"state": moments, "param_groups": groups})
    learner.memory.load_state_dict(state["memory"])
    learner.teacher.load_state_dict(state["teacher"])
    learner.draw.load_state_dict(state["replay"])
    learner.generator.set_state(state["generator"])
    learner.steps = state["steps"]
    learner.images = state.get("images", 0)  # the first learners of this format did not count
    learner.label_counts = Counter(state.get("label_counts", {}))
    learner.calibration = Calibration.from_state(state.get("calibration", {}))
    return learner


def _of_today(state: dict[str, Any]) -> dict[str, Any]:
    """Return a state of format 3 as it would be saved today."""
    tensors = {slot: _renamed(item, {"residual": "logit_grad"}) for slot, item in state["memory"]["tensors"].items()}
    localiser = state["localiser"]
    if localiser:
        localiser = localiser | {"cut": _renamed(localiser["cut"], {"loops": "self_loop_weight"})}
    return state | {
        "settings": legacy.nested(state["settings"]),
        "replay": state["confusion"],
        "memory": state["memory"] | {"tensors": tensors},
        "localiser": localiser,
    }


def _renamed(values: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in values.items()}


def _localiser_state(localiser: Localiser | None) -> dict[str, Any]:
    """Return a frozen localiser with its weights: a run must go on without the place that they came from."""
    if localiser is None:
        return {}
    return {
        "backbone": localiser.backbone.describe(),
        "cut": asdict(localiser.settings),
        "model": localiser.backbone.state_dict(),
    }


def _localiser_of(state: dict[str, Any]) -> Localiser | None:
    if not state:
        return None
    backbone = Backbone.from_description(state["backbone"])
    backbone.load_state_dict(state["model"])
    return Localiser(backbone, CutSettings(**state["cut"]))
