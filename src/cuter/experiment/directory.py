"""The run directory: configuration, metrics, checkpoints, summary. What is in it survives a kill."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cuter.errors import CheckpointError, ConfigError
from cuter.experiment.config import RunConfig, dump_config, load_config
from cuter.storage import State, load_state, save_states, verify, write_json, write_text

logger = logging.getLogger("cuter.run")

KEPT_CHECKPOINTS = 2


class RunDirectory:
    """One run on disk."""

    def __init__(self, path: Path):
        self.path = path
        self.metrics = path / "metrics.jsonl"
        self.summary = path / "summary.json"
        self.checkpoints = path / "checkpoints"

    @classmethod
    def create(cls, path: Path, config: RunConfig) -> RunDirectory:
        """Start a new run; a folder that holds something already is left alone."""
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise ConfigError(
                f"{path} is not empty. Continue it with 'cuter run --resume {path}', or choose another --out"
            )
        path.mkdir(parents=True, exist_ok=True)
        write_text(path / "config.yaml", dump_config(config))
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """Open a run that was started before."""
        if not (path / "config.yaml").is_file():
            raise ConfigError(f"{path} holds no run: config.yaml is missing")
        return cls(path)

    @property
    def config(self) -> RunConfig:
        """The configuration that the run was started with."""
        return load_config(self.path / "config.yaml", {})

    @property
    def finished(self) -> dict[str, Any] | None:
        """The summary, if the run came to its end."""
        return json.loads(self.summary.read_text(encoding="utf-8")) if self.summary.is_file() else None

    def write_environment(self, environment: dict[str, Any]) -> None:
        """Write what the result depends on beside the configuration."""
        write_json(self.path / "environment.json", environment)

    def write_summary(self, summary: dict[str, Any]) -> None:
        """Write the result; from then on the run counts as finished."""
        write_json(self.summary, summary)

    def append_metrics(self, line: dict[str, Any]) -> None:
        """Append a line to metrics.jsonl. Lines hold no times, so that equal runs have equal files."""
        with self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def metrics_length(self) -> int:
        """Return the present length of metrics.jsonl, to cut it back to when the run goes on from here."""
        return self.metrics.stat().st_size if self.metrics.exists() else 0

    def cut_metrics(self, length: int) -> None:
        """Drop what was written after a checkpoint: the resumed run writes it again."""
        self.metrics.touch()
        with self.metrics.open("r+b") as file:
            file.truncate(length)

    def save_checkpoint(self, step: int, states: Mapping[str, State]) -> bool:
        """Write a checkpoint and drop all but the last two. A full disk costs the checkpoint, not the run."""
        folder = self.checkpoints / f"step-{step:08d}"
        try:
            save_states(folder, states)
        except OSError as error:
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
        for leftover in self.checkpoints.glob(".*"):
            shutil.rmtree(leftover)
        for folder in reversed(self._folders()):
            try:
                verify(folder)
                return folder
            except CheckpointError as error:
                logger.warning("%s; falling back to the one before it", error)
                shutil.rmtree(folder)
        return None

    def load_checkpoint(self, folder: Path, name: str) -> dict[str, Any]:
        """Read a part of a checkpoint."""
        return load_state(folder, name)

    def _folders(self) -> list[Path]:
        return sorted(self.checkpoints.glob("step-*"))

    @contextmanager
    def logged(self) -> Iterator[None]:
        """Keep what the package logs in run.log, warnings and milestones with their time."""
        handler = logging.FileHandler(self.path / "run.log", encoding="utf-8")
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
            handler.close()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the run for this process alone; the system lets go of it even after a kill."""
        try:
            import fcntl
        except ImportError:  # no such locks on Windows
            yield
            return
        with (self.path / ".lock").open("w") as lock:
            try:
                # Not flock: worker processes would inherit it and hold it for a while after this one was killed.
                fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ConfigError(f"{self.path} is in use by another process") from None
            yield
