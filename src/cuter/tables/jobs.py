"""Which runs a table needs, and where each of them is: a run is found by what decides its result, not by its table."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic.fields import FieldInfo

from cuter.errors import CheckpointError, ConfigError, CuterError
from cuter.runs.config import RunConfig, import_parts, load_saved_config, with_absolute_paths, with_learner
from cuter.runs.directory import RunDirectory
from cuter.runs.record import Line, RunRecord, read_record
from cuter.settings import Role, TableOption, all_fields, has_role, mapped, mark_of, merged, validated
from cuter.tables.suite import Row, Suite


@dataclass(frozen=True)
class Request:
    """What the user asks of a suite, beside its name."""

    data_root: Path | None = None
    backbones: Mapping[str, str] = field(default_factory=dict)  # by name; one without a name is under ''
    scale: str = "full"
    seeds: int = 3
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    device: str = "auto"


class KeptRun(BaseModel):
    """A finished run without its folder: all that a table and its figures need of it, with no path of a machine."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1]
    config: dict[str, Any]
    environment: dict[str, Any] | None
    launches: list[str]  # when, and by which version of the code
    summary: dict[str, Any]
    tests: list[Line] = Field(min_length=1)  # of metrics.jsonl

    @field_validator("summary")
    @classmethod
    def _is_one(cls, summary: dict[str, Any]) -> dict[str, Any]:
        for name in ("average", "last", "mean_forgetting", "memory_items", "steps", "train_images_per_second"):
            if name not in summary:
                raise ValueError(f"{name} is missing")
        return summary

    @field_validator("tests")
    @classmethod
    def _are_tests(cls, tests: list[Line]) -> list[Line]:
        for name in ("test", "localisation", "classes"):
            if any(name not in line for line in tests):
                raise ValueError(f"{name} is missing")
        return tests

    def record(self, folder: Path) -> RunRecord:
        """Return what is kept as the record of a run; `folder` is where the run would be."""
        environment = self.environment or {}
        return RunRecord(folder, self.config, environment, self.summary, self.tests, progress=self.summary)


@dataclass(frozen=True)
class Job:
    """One run of a table: a row with a seed."""

    row: Row
    seed: int
    config: RunConfig
    folder: Path
    kept: KeptRun | None = None  # what a results folder has of it; the folder of the run then need not be there

    @property
    def name(self) -> str:
        """How a person calls it."""
        return f"{self.row.name}, seed {self.seed}"

    @property
    def summary(self) -> dict[str, Any] | None:
        """The result, if the run is finished, wherever that was."""
        return self.kept.summary if self.kept else self.summary_here

    @property
    def summary_here(self) -> dict[str, Any] | None:
        """The result in its folder; a damaged one counts as none, and the run itself says what to do."""
        try:
            return RunDirectory(self.folder).finished
        except CheckpointError:
            return None

    @property
    def record(self) -> RunRecord:
        """What is known of the run, from its folder or from its file in a results folder: of its lines, the tests."""
        if self.kept is not None:
            return self.kept.record(self.folder)
        record = read_record(self.folder)
        return replace(record, lines=record.tests)  # a table has many runs, and steps are many lines

    @property
    def begun(self) -> bool:
        """Whether there is something to go on with."""
        return (self.folder / "config.yaml").is_file()

    @property
    def launches(self) -> list[str]:
        """When and by which version of the code it was started, and let go on."""
        if self.kept:
            return self.kept.launches
        file = self.file("launches")
        return file.read_text(encoding="utf-8").splitlines() if file.is_file() else []

    def file(self, ending: str) -> Path:
        """Return a file that belongs to the run but is not its own: jobs/NAME.log beside runs/NAME."""
        return self.folder.parents[1] / "jobs" / f"{self.folder.name}.{ending}"


def digest(config: RunConfig) -> str:
    """Return a checksum of all that decides the result of a run.

    A device changes the last digits, as other hardware and other versions do, and is not part of it: a table that moves
    to another machine must not begin anew, and environment.json in the folder of each run says where it was made.
    """
    return _checksum(with_absolute_paths(config).dump(deciding=True))


def portable(config: RunConfig) -> dict[str, Any]:
    """Return all that decides the result of a run, data and backbone by their last names: the same on any machine."""

    def last_name(field: FieldInfo, value: Any) -> Any:
        is_place = has_role(field, Role.PLACE) and isinstance(value, str | Path)
        return type(value)(Path(value).name) if is_place else value  # as VOCdevkit; a name of a hub is one as well

    return mapped(with_absolute_paths(config), last_name).dump(deciding=True)


def portable_digest(config: RunConfig) -> str:
    """Return a checksum that a run has on any machine."""
    return _checksum(portable(config))


def _checksum(values: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def plan_jobs(suite: Suite, request: Request, out: Path) -> list[Job]:
    """Return the runs of a table in the order in which they are carried out: all rows of a seed before the next."""
    _refuse_own_options(request.settings)
    rows = suite.chosen(list(request.only), list(request.skip))
    known = _runs_by_digest(out / "runs")
    jobs = []
    for seed in range(request.seeds):
        for row in rows:
            config = with_absolute_paths(_configure(suite, row, request, seed))
            checksum = digest(config)
            folder = known.get(checksum, out / "runs" / f"{row.method}-{checksum[:12]}")
            jobs.append(Job(row, seed, config, folder))
    return jobs


def parse_settings(pairs: Sequence[str]) -> dict[str, Any]:
    """Read FIELD=VALUE as YAML would: numbers, lists and names."""
    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ConfigError(f"--set {pair!r} must be FIELD=VALUE, as in --set lr=1e-4")
        try:
            settings[name.strip().replace("-", "_")] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise ConfigError(f"--set {pair!r}: {error}") from None
    return settings


def parse_backbones(names: Sequence[str], suite: Suite) -> dict[str, str]:
    """Read NAME=BACKBONE where the suite compares several, or one backbone for all rows.

    A suite may bring its own, for those who name none.
    """
    wanted = list(dict.fromkeys(row.backbone for row in suite.rows if row.backbone))
    if not wanted:
        if not names and "backbone" in suite.common:
            return {"": suite.common["backbone"]}
        if len(names) != 1:
            raise ConfigError(f"{suite.name} needs one --backbone for all rows, not {len(names)}")
        return {"": names[0]}
    if not names:
        raise ConfigError(f"{suite.name} needs --backbone NAME=BACKBONE; the paper has {', '.join(wanted)}")
    found: dict[str, str] = {}
    for name, _, backbone in (text.partition("=") for text in names):
        if name in found:
            raise ConfigError(f"two backbones are named {name!r}: give one of them another name, NAME=BACKBONE")
        found[name] = backbone or name  # a short name is its own name
    return found


def _configure(suite: Suite, row: Row, request: Request, seed: int) -> RunConfig:
    """Put together what a row runs with; what makes it this row goes before what is set for all."""
    given = {
        "data_root": request.data_root,
        "backbone": request.backbones[row.backbone or ""],
        "device": request.device,
        "method": row.method,
        "seed": seed,
    }
    layers = (suite.common, suite.scale(request.scale), request.settings, row.options, given)
    try:
        nested = [with_learner(layer) for layer in layers]
        import_parts(*nested)
        fields = reduce(lambda below, above: merged(RunConfig, below, above), nested)
        return validated(RunConfig, fields)
    except CuterError as error:
        raise ConfigError(f"row {row.name} of {suite.name}: {error}") from None


def _refuse_own_options(settings: Mapping[str, Any]) -> None:
    for name, info in all_fields(RunConfig):
        if name in settings and (option := mark_of(info, TableOption)):
            raise ConfigError(f"--set {name}: use {option.name}")


def _runs_by_digest(folder: Path) -> dict[str, Path]:
    """Find runs by what they were started with, as this version reads it.

    So a finished run stays finished when a later version has new settings, whose defaults are what it did before. Of
    several copies of a run a finished one counts, else the one with the name that it was given.
    """
    found: dict[str, Path] = {}
    for file in sorted(folder.glob("[!.]*/config.yaml")):  # what is hidden is not whole
        try:
            checksum = digest(load_saved_config(file))
        except CuterError:  # of a version with other settings: nobody asks for it any more
            continue
        found[checksum] = max(found.get(checksum, file.parent), file.parent, key=lambda run: _worth(run, checksum))
    return found


def _worth(folder: Path, checksum: str) -> tuple[bool, bool]:
    return (folder / "summary.json").is_file(), folder.name.endswith(checksum[:12])
