"""A model and its versions: a folder in which model.json says what counts.

Each version is a folder of its own that `Learner.load` reads. What changes the model writes new folders first, then
model.json, in one atomic step, and deletes what it no longer names last: killed at any moment, the model is the one
before or the one after.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cuter.errors import CheckpointError, ConfigError, NotThereError
from cuter.learn.learner import Learner
from cuter.learn.saved import MODEL_INDEX
from cuter.lock import locked
from cuter.storage import State, save_states, write_text

LEARNER, HELD_BACK = "learner", "held_back"  # the states of a version
VERSIONS = "versions"


class Version(BaseModel):
    """One version of a model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: int = Field(ge=1, description="From 1 on; never used again.")
    folder: str = Field(description="Where it is, within the model's folder.")
    created: datetime = Field(description="When it came to be.")
    origin: str = Field(description="How it came to be, in a few words.")
    parent: int | None = Field(None, description="The version that it was taught from; None for the first.")
    classes: int = Field(description="Number of classes.")
    images: int = Field(description="Images learned so far, in all versions before as well.")
    lesson: str = Field("", description="Checksum of what it was taught: the same is not learned twice by mistake.")
    figures: dict[str, float | None] = Field({}, description="What was measured, in percent, by name.")
    held_back: int = Field(0, description="Images that were held back from learning, and that figures are of.")


class Index(BaseModel):
    """What model.json holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    current: int
    versions: tuple[Version, ...]


class ModelFolder:
    """A model's folder.

    Args:
        path: The folder. It needs not exist yet: the first version makes it.

    Examples:
        >>> import tempfile
        >>> from cuter import Learner
        >>> from cuter.models.versions import ModelFolder
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model = ModelFolder(folder)
        ...     for origin in ("an empty learner", "the same again"):
        ...         with model.locked():
        ...             version = model.add(Learner.create(backbone="toybox", device="cpu"), origin)
        ...     back = model.rollback(1)
        ...     model.current.number, [version.number for version in model.versions]
        (1, [1, 2])
    """

    def __init__(self, path: str | Path):
        self.path = Path(path).expanduser()

    @classmethod
    def open(cls, path: str | Path) -> ModelFolder:
        """Open a model that has versions.

        Raises:
            NotThereError: There is no folder, or no model in it.
            CheckpointError: model.json is damaged.
        """
        model = cls(path)
        if not model.exists():
            what = "holds no versions of a model" if model.path.is_dir() else "is no folder"
            raise NotThereError(f"{model.path} {what}: 'cuter teach' makes one")
        model.index  # noqa: B018 - it must be readable
        return model

    def exists(self) -> bool:
        """Whether there is a version."""
        return (self.path / MODEL_INDEX).is_file()

    @property
    def index(self) -> Index:
        """What model.json holds now."""
        file = self.path / MODEL_INDEX
        try:
            index = Index.model_validate_json(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, ValidationError) as error:
            raise CheckpointError(f"{file} is damaged: {error}") from None
        if index.current not in {version.number for version in index.versions}:
            raise CheckpointError(f"{file} is damaged: the current version {index.current} is none of its versions")
        return index

    @property
    def versions(self) -> Sequence[Version]:
        """All versions that are kept, the oldest first."""
        return self.index.versions

    @property
    def current(self) -> Version:
        """The version that predicts, and that is taught next."""
        index = self.index
        return self._find(index, index.current)

    def folder_of(self, version: Version) -> Path:
        """Return the folder of a version."""
        return self.path / version.folder

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the model for this process alone, and clear away what a killed one has left.

        Raises:
            ConfigError: Another process holds it, or it cannot be written.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be written: {error}") from None
        try:
            with locked(self.path):
                self._clear()
                yield
        finally:
            if {entry.name for entry in self.path.iterdir()} == {".lock"}:  # nothing came of a new model
                shutil.rmtree(self.path, ignore_errors=True)

    def add(
        self,
        learner: Learner,
        origin: str,
        figures: Mapping[str, float | None] | None = None,
        states: Mapping[str, State] | None = None,
        *,
        lesson: str = "",
        held_back: int = 0,
    ) -> Version:
        """Save a learner as a new version, which becomes the current one. The model must be locked.

        Args:
            learner: What is saved.
            origin: How it came to be.
            figures: What was measured, in percent, by name.
            states: More that belongs to the version.
            lesson: Checksum of what it was taught.
            held_back: How many images the figures are of.

        Returns:
            The new version.
        """
        before = self.index if self.exists() else None
        number = max((version.number for version in before.versions), default=0) + 1 if before else 1
        version = Version(
            number=number,
            folder=self.write(number, {LEARNER: learner.state_dict(), **(states or {})}),
            created=datetime.now(UTC).replace(microsecond=0),
            origin=origin,
            parent=before.current if before else None,
            classes=len(learner.labels),
            images=learner.images,
            lesson=lesson,
            figures=dict(figures or {}),
            held_back=held_back,
        )
        self.commit(number, [*(before.versions if before else ()), version])
        return version

    def rollback(self, number: int) -> Version:
        """Make an earlier version, or a later one, the current one. The others stay.

        Raises:
            ConfigError: There is no such version.
        """
        with self.locked():
            version = self._find(self.index, number)
            self.commit(number, self.versions)
        return version

    def keep(self, count: int) -> list[Version]:
        """Delete all versions but the current one and the newest, so that `count` are left; return those deleted."""
        if count < 1:
            raise ConfigError(f"at least 1 version is kept, not {count}")
        with self.locked():
            index = self.index
            newest_first = sorted(index.versions, key=lambda one: (one.number != index.current, -one.number))
            kept = {version.number for version in newest_first[:count]}
            self.commit(index.current, [version for version in index.versions if version.number in kept])
        return [version for version in index.versions if version.number not in kept]

    def write(self, number: int, states: Mapping[str, State]) -> str:
        """Write the states of a version into a folder that no version has; return its name within the model."""
        name = f"{VERSIONS}/{number:04d}-{secrets.token_hex(3)}"
        try:
            save_states(self.path / name, states)
        except OSError as error:
            raise CheckpointError(
                f"version {number} of {self.path} cannot be written: {error}. The model is as before; make room, then "
                "try again"
            ) from error
        return name

    def commit(self, current: int, versions: Sequence[Version]) -> None:
        """Make these the versions of the model, in one step, and delete the folders of others."""
        index = Index(current=current, versions=tuple(versions))
        write_text(self.path / MODEL_INDEX, index.model_dump_json(indent=2) + "\n")
        self._clear()

    def _clear(self) -> None:
        """Delete folders that model.json does not name."""
        named = {version.folder for version in self.versions} if self.exists() else set()
        for folder in (self.path / VERSIONS).glob("*"):
            if f"{VERSIONS}/{folder.name}" not in named:
                shutil.rmtree(folder)
        for part in self.path.glob(f".{MODEL_INDEX}.*.part"):
            part.unlink()

    def _find(self, index: Index, number: int) -> Version:
        for version in index.versions:
            if version.number == number:
                return version
        there = ", ".join(str(version.number) for version in index.versions)
        raise ConfigError(f"{self.path} has no version {number}. Versions: {there}")
