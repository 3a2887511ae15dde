"""The folder of a run: configuration, metrics, checkpoints, summary. What is in it survives a kill."""

from __future__ import annotations

import json
import logging
import os
import secrets
import shlex
import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import BaseModel

from cuter.errors import CheckpointError, ConfigError, CuterError
from cuter.lock import locked
from cuter.runs.config import RunConfig, dump_config, load_saved_config
from cuter.storage import State, save_states, verify, write_json, write_text

logger = logging.getLogger("cuter.run")

KEPT_CHECKPOINTS = 2


def require_unused(path: Path, command: str = "run") -> None:
    """Refuse a folder that holds something already."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ConfigError(
            f"{path} is not empty. Continue it with 'cuter {command} --resume {path}', or choose another --out"
        )


class Directory:
    """Work on disk that can be continued, whatever command it is of."""

    command: ClassVar[str]

    def __init__(self, path: Path):
        self.path = path
        self.metrics = path / "metrics.jsonl"
        self.summary = path / "summary.json"
        self.checkpoints = path / "checkpoints"

    @classmethod
    def create(cls, path: Path, config: BaseModel) -> Self:
        """Start a new run."""
        require_unused(path, cls.command)
        try:
            path.mkdir(parents=True, exist_ok=True)
            write_text(path / "config.yaml", dump_config(config))
        except OSError as error:
            raise ConfigError(f"{path} cannot be written: {error}") from None
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a run that was started before."""
        if not (path / "config.yaml").is_file():
            raise ConfigError(f"{path} holds no run: config.yaml is missing")
        return cls(path)

    @property
    def finished(self) -> dict[str, Any] | None:
        """The summary, if the run came to its end."""
        try:
            return json.loads(self.summary.read_text(encoding="utf-8")) if self.summary.is_file() else None
        except ValueError as error:
            raise CheckpointError(f"{self.summary} is damaged ({error}): remove it to finish the run anew") from None

    def write_environment(self, environment: dict[str, Any]) -> None:
        """Write what the result depends on beside the configuration."""
        with self.writing("environment.json"):
            write_json(self.path / "environment.json", environment)

    def compare_environment(self, environment: dict[str, Any]) -> None:
        """Warn where a run goes on in other surroundings: its result may then differ in the last digits."""
        file = self.path / "environment.json"
        before = json.loads(file.read_text(encoding="utf-8")) if file.exists() else environment
        for field, value in environment.items():
            if before.get(field) != value:
                logger.warning("this run was started with %s %s, now it is %s", field, before.get(field), value)

    def write_summary(self, summary: dict[str, Any]) -> None:
        """Write the result; from then on the run counts as finished."""
        with self.writing("summary.json"):
            write_json(self.summary, summary)

    def append_metrics(self, line: dict[str, Any]) -> None:
        """Append a line to metrics.jsonl. Lines hold no times, so that equal runs have equal files."""
        with self.writing("metrics.jsonl"), self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def metrics_length(self) -> int:
        """Return the length of metrics.jsonl on disk, to cut it back to when the run goes on from here."""
        with self.writing("metrics.jsonl"), self.metrics.open("a", encoding="utf-8") as file:
            os.fsync(file.fileno())  # a checkpoint must not know of lines that a power cut takes away
            return file.tell()

    def cut_metrics(self, length: int) -> None:
        """Drop what was written after a checkpoint: the resumed run writes it again."""
        with self.writing("metrics.jsonl"), self.metrics.open("a", encoding="utf-8") as file:
            if file.tell() < length:
                logger.warning("%s has lost lines that were written before the checkpoint", self.metrics)
            else:
                file.truncate(length)

    @contextmanager
    def writing(self, name: str) -> Iterator[None]:
        """Make what the disk refuses an error that says how to go on."""
        try:
            yield
        except OSError as error:
            raise CuterError(
                f"{self.path / name} cannot be written ({error}). When it can, go on with: {self.go_on}"
            ) from error

    @property
    def go_on(self) -> str:
        """The command that continues the run."""
        return f"cuter {shlex.join([self.command, '--resume', str(self.path)])}"

    def save_checkpoint(self, step: int, states: Mapping[str, State], *, required: bool = False) -> bool:
        """Write a checkpoint and drop all but the last two.

        A full disk costs the checkpoint, not the run, unless the checkpoint is `required`: then it is an error.
        """
        folder = self.checkpoints / f"step-{step:08d}"
        try:
            save_states(folder, states)
        except OSError as error:
            if required:
                raise CuterError(
                    f"{self.path} is not finished: its last checkpoint cannot be written ({error}). "
                    f"Make room, then go on with: {self.go_on}"
                ) from error
            logger.warning(
                "checkpoint %s could not be written (%s); the run goes on, the one before it stays", folder, error
            )
            return False
        logger.info("checkpoint at step %d", step)
        for old in self._folders()[:-KEPT_CHECKPOINTS]:
            shutil.rmtree(old)
        return True

    def newest_checkpoint(self) -> Path | None:
        """Return the newest checkpoint that is whole, and say which ones are not."""
        for leftover in self.checkpoints.glob(".step-*"):
            shutil.rmtree(leftover)
        for folder in reversed(self._folders()):
            try:
                verify(folder)
                return folder
            except CheckpointError as error:
                logger.warning("%s; falling back to the one before it", error)
                folder.rename(folder.with_name(f"damaged-{folder.name}-{secrets.token_hex(2)}"))
        return None

    def _folders(self) -> list[Path]:
        return sorted(self.checkpoints.glob("step-*"))

    @contextmanager
    def logged(self) -> Iterator[None]:
        """Keep what the package logs in run.log, warnings and milestones with their time."""
        with self.writing("run.log"):
            handler = _LogFile(self.path / "run.log", encoding="utf-8")
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        package = logging.getLogger("cuter")
        before = package.level
        package.addHandler(handler)
        package.setLevel(logging.INFO)
        try:
            yield
        finally:
            package.removeHandler(handler)
            package.setLevel(before)
            with suppress(OSError):  # it has lines that a full disk did not take
                handler.close()

    def locked(self) -> AbstractContextManager[None]:
        """Hold the run for this process alone; the system lets go of it even after a kill."""
        return locked(self.path)


class _LogFile(logging.FileHandler):
    """A log that a full disk cuts short without a traceback for each line."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Go on: what was logged is on the terminal, too."""


class RunDirectory(Directory):
    """One run of `cuter run`."""

    command = "run"

    @property
    def config(self) -> RunConfig:
        """The configuration that the run was started with."""
        return load_saved_config(self.path / "config.yaml")

    def write_config(self, config: RunConfig) -> None:
        """Note what has changed since the start: where the data are, how many processes decode, the device."""
        with self.writing("config.yaml"):
            write_text(self.path / "config.yaml", dump_config(config))

    def lacks_checkpoint(self, step: int) -> bool:
        """Whether there are checkpoints, but none of this step; one whose checkpoints were all deleted lacks none."""
        folders = self._folders()
        return bool(folders) and folders[-1].name != f"step-{step:08d}"
