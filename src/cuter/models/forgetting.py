"""A person asks for a photo to be deleted: all that memory holds of it goes, wherever a model was saved."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cuter.backbone import load_backbone
from cuter.errors import BackboneError, ConfigError, NotThereError
from cuter.learn.learner import Learner
from cuter.lock import locked
from cuter.models.held_back import HeldBack
from cuter.models.teaching import TEACHING
from cuter.models.versions import HELD_BACK, LEARNER, ModelFolder, Version
from cuter.storage import MANIFEST, load_state, restore_replaced, save_states, verify

Watch = Callable[[int, int], None]  # saved states or steps done, and in all


@dataclass(frozen=True)
class Forgotten:
    """What was removed.

    Args:
        places: Items removed by image, for each saved state that held any: a version, a checkpoint, a saved learner.
        looked_at: How many saved states there are.
        deleted: Damaged or half-written copies, which nobody can look into: they were deleted as a whole.
        not_found: Ids of which nothing was held anywhere.
    """

    places: dict[str, Counter[str]] = field(default_factory=dict)
    looked_at: int = 0
    deleted: tuple[str, ...] = ()
    not_found: tuple[str, ...] = ()

    @property
    def items(self) -> int:
        """How many items were removed."""
        return sum(counts.total() for counts in self.places.values())

    def as_dict(self) -> dict[str, Any]:
        """Return the facts for JSON."""
        return {
            "items": self.items,
            "places": {place: dict(counts) for place, counts in self.places.items()},
            "looked_at": self.looked_at,
            "deleted": list(self.deleted),
            "not_found": list(self.not_found),
        }


def forget(folder: str | Path, ids: Iterable[str], watch: Watch = lambda done, total: None) -> Forgotten:
    """Remove all that comes from some images from a model, a run, or a saved learner.

    In a model: from all versions that are kept, from the images held back, and from what is being learned. In a run:
    from all checkpoints. Weights keep what they have learned: `retrain` makes a model that has never seen the images.
    Killed on the way, the same call goes on.

    Args:
        folder: A model, a run, or a saved learner.
        ids: Ids of the images, as their data set has them: of a folder, paths within it.
        watch: Called for each saved state.

    Returns:
        What was removed.

    Raises:
        ConfigError: No id is given, or another process holds the folder.
        CheckpointError: A saved state is damaged.
        NotThereError: There is nothing of the kind.
    """
    wanted = list(dict.fromkeys(ids))
    if not wanted:
        raise ConfigError("name at least one image to forget")
    place = Path(folder).expanduser().resolve()
    model = ModelFolder(place)
    restore_replaced(place)
    if not place.is_dir():
        raise NotThereError(f"{place}: no such folder")
    if model.exists():
        with model.locked():
            found = _forget_in_model(model, wanted, watch)
    elif (place / "checkpoints").is_dir():
        with locked(place):
            found = _forget_in_run(place, wanted, watch)
    else:  # a lock would be a file in it, and a saved learner is replaced as a whole
        found = _forget_in_saved(place, wanted)
    seen = {id for counts in found.places.values() for id in counts}
    return Forgotten(found.places, found.looked_at, found.deleted, tuple(id for id in wanted if id not in seen))


def _forget_in_model(model: ModelFolder, ids: list[str], watch: Watch) -> Forgotten:
    """Write versions without these images beside the old ones, then change over to all of them in one step."""
    index = model.index
    unfinished = _saved_states(model.path / TEACHING)
    total = len(index.versions) + len(unfinished.whole)
    places: dict[str, Counter[str]] = {}
    versions: list[Version] = []
    for number, version in enumerate(index.versions, start=1):
        states, removed = _without(model.folder_of(version), ids)
        if removed:
            places[f"version {version.number}"] = removed
            version = version.model_copy(update={"folder": model.write(version.number, states)})  # noqa: PLW2901
        versions.append(version)
        watch(number, total)
    if places:
        model.commit(index.current, versions)
    for number, folder in enumerate(unfinished.whole, start=len(versions) + 1):
        if removed := _rewrite(folder, ids):
            places[f"{TEACHING}/{folder.name}"] = removed
        watch(number, total)
    deleted = tuple(_deleted(copy, model.path) for copy in unfinished.damaged)
    return Forgotten(places, total, deleted)


def _forget_in_run(run: Path, ids: list[str], watch: Watch) -> Forgotten:
    """Rewrite every checkpoint of a run."""
    found = _saved_states(run)
    places: dict[str, Counter[str]] = {}
    for number, checkpoint in enumerate(found.whole, start=1):
        if removed := _rewrite(checkpoint, ids):
            places[checkpoint.name] = removed
        watch(number, len(found.whole))
    return Forgotten(places, len(found.whole), tuple(_deleted(copy, run) for copy in found.damaged))


def _forget_in_saved(folder: Path, ids: list[str]) -> Forgotten:
    """Rewrite a saved learner."""
    if not (folder / MANIFEST).is_file():
        raise NotThereError(f"{folder} holds no model, no run with checkpoints, and no saved learner")
    removed = _rewrite(folder, ids)
    return Forgotten({folder.name: removed} if removed else {}, looked_at=1)


@dataclass(frozen=True)
class _Found:
    whole: list[Path]
    damaged: list[Path]


def _saved_states(run: Path) -> _Found:
    """Return the checkpoints of a run, and copies that it set aside as damaged."""
    checkpoints = run / "checkpoints"
    hidden = [entry.name for entry in checkpoints.glob(".step-*.*.*")]
    for name in {one[1:].rsplit(".", 2)[0] for one in hidden}:  # '.NAME.0123abcd.part' or '.old'
        restore_replaced(checkpoints / name)
    return _Found(sorted(checkpoints.glob("step-*")), sorted(checkpoints.glob("damaged-*")))


def _without(folder: Path, ids: list[str]) -> tuple[dict[str, Any], Counter[str]]:
    """Return the states of a folder without some images, and what was removed of them."""
    verify(folder)
    names = [file.stem for file in folder.glob("*.safetensors")]
    states = {name: load_state(folder, name) for name in names}
    removed = Counter[str]()
    learner = Learner.from_state(states[LEARNER], "cpu")
    if found := learner.forget(ids):
        states[LEARNER] = learner.state_dict()
        removed += found
    if HELD_BACK in states:
        held_back = HeldBack.from_state(states[HELD_BACK])
        if found := held_back.forget(ids):
            states[HELD_BACK] = held_back.state_dict()
            removed += found
    return states, removed


def _rewrite(folder: Path, ids: list[str]) -> Counter[str]:
    states, removed = _without(folder, ids)
    if removed:
        save_states(folder, states)
    return removed


def _deleted(copy: Path, root: Path) -> str:
    shutil.rmtree(copy)
    return str(copy.relative_to(root))


def retrain(
    model: str | Path, backbone: str | None = None, passes: int = 5, watch: Watch = lambda done, total: None
) -> Version:
    """Make a new version that has seen nothing but what memory holds now: no weight remembers what was forgotten.

    Args:
        model: A model with versions.
        backbone: Where the pre-trained weights are; by default where they came from when the model was made.
        passes: How often memory is shown, about.
        watch: Called with steps done, and in all.

    Returns:
        The new version, which is the current one.

    Raises:
        ConfigError: Memory is empty, or the backbone is not to be found under its name.
    """
    folder = ModelFolder.open(model)
    with folder.locked():
        current = folder.current
        old = Learner.load(folder.folder_of(current), device="auto")
        if not len(old.memory):
            raise ConfigError(f"the memory of version {current.number} is empty: there is nothing to train from")
        learner = _fresh(old, backbone)
        steps = max(1, passes * len(learner.memory) // max(1, learner.settings.replay.size))
        for number in range(steps):
            learner.rehearse()
            watch(number + 1, steps)
        states = {}
        figures: dict[str, float | None] = {}
        measured_on = 0
        if (folder.folder_of(current) / f"{HELD_BACK}.json").is_file():
            held_back = HeldBack.from_state(load_state(folder.folder_of(current), HELD_BACK))
            figures = held_back.fit(learner)
            states, measured_on = {HELD_BACK: held_back.state_dict()}, len(held_back)
        return folder.add(learner, "retrained from memory", figures, states, held_back=measured_on)


def _fresh(old: Learner, backbone: str | None) -> Learner:
    """Return a learner of the same settings, classes and memory, with the weights of its pre-trained backbone."""
    name = backbone or old.backbone.name
    try:
        learner = Learner.from_settings(old.settings, load_backbone(name), str(old.device))
    except BackboneError as error:
        raise ConfigError(f"{error}. Name the pre-trained backbone with --backbone") from None
    learner.grow(list(old.labels))
    learner.memory.load_state_dict(old.memory.state_dict())
    learner.images = len({item.id for item in learner.memory.items})
    counts = learner.memory.counts(len(learner.labels)).tolist()
    learner.label_counts = Counter(dict(zip(learner.labels, counts, strict=True)))
    return learner
