"""The configuration of a run: a YAML file, command-line options over it, clear errors."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic.fields import FieldInfo

from cuter.backbone import SHORT_NAMES
from cuter.errors import ConfigError, UnknownNameError
from cuter.learn import legacy
from cuter.learn.recipe import METHODS
from cuter.learn.renamed import RENAMED
from cuter.learn.settings import LearnerSettings
from cuter.settings import (
    Choices,
    Model,
    Role,
    Settings,
    TableOption,
    all_fields,
    expanded,
    flattened,
    has_role,
    import_modules,
    leaves,
    mapped,
    merged,
    validated,
    without,
)
from cuter.stream.datasets import DATASETS

NOWHERE = {"dataset": "toybox", "backbone": "", "tasks": ""}  # stand for required fields that a configuration lacks


class RunConfig(Settings):
    """All that decides the result of a run, and how it is carried out. Fields of the learner need no prefix."""

    model_config = ConfigDict(coerce_numbers_to_str=True)  # YAML reads 'tasks: 8' and 'year: 2012' as numbers

    renamed: ClassVar[Mapping[str, str]] = RENAMED

    dataset: Annotated[str, Choices(DATASETS), Role.COMMON, Role.DATA, Role.STREAM, Role.TESTED] = Field(
        description="Data set; folder reads your own CSV or JSON lines."
    )
    data_root: Annotated[
        Path | None,
        *(Role.COMMON, Role.PLACE, Role.DATA, Role.STREAM, Role.TESTED, Role.RESUMABLE, Role.REPEATED),
        TableOption(
            "--data-root",
            "all rows learn the same data; a --grid of dataset_options takes other parts of it",
        ),
    ] = Field(None, description="Folder that holds the data set; toybox alone, which is rendered, needs none.")
    dataset_options: Annotated[dict[str, str], Role.DATA, Role.STREAM, Role.TESTED] = Field(
        {},
        description="Option of the data set's reader, NAME=VALUE; may be repeated: train=train and test=val for VOC.",
    )
    backbone: Annotated[str, Role.COMMON, Role.PLACE, TableOption("--backbone")] = Field(
        description="Short name, hub id, local folder or original checkpoint file."
    )
    tasks: Annotated[str | list[list[str]], Role.COMMON, Role.STREAM, Role.TESTED] = Field(
        description="5x4, 11+7x10, or class names: 'cat,dog;car,bus' (in YAML also lists of lists)."
    )
    class_order: Annotated[str | int, Role.PLACE, Role.STREAM, Role.TESTED] = Field(
        "name", description="Order of the classes: name, a seed, or a file of names."
    )
    task_scope: Annotated[Literal["own-task", "all-tasks"], Role.STREAM] = Field(
        "own-task",
        description="What a task shows: the images and labels of its own-task, or those of all-tasks up to it, the "
        "bound of joint learning.",
    )
    passes: Annotated[int, Role.STREAM] = Field(
        1, ge=1, le=10_000, description="How often a task shows its images, each time in another order."
    )
    blurry: Annotated[float, Role.STREAM] = Field(
        0.0, ge=0, lt=1, description="Share of each task that arrives during its neighbours."
    )
    batch_size: Annotated[int, Role.COMMON, Role.STREAM] = Field(
        12, ge=1, le=10_000, description="Images of the stream in each step."
    )
    limit_train: Annotated[int | None, Role.COMMON, Role.STREAM] = Field(
        None, ge=1, le=1_000_000_000, description="Use only this many training images, a fixed draw."
    )
    limit_test: Annotated[int | None, Role.COMMON, Role.STREAM, Role.TESTED] = Field(
        None, ge=1, le=1_000_000_000, description="Use only this many test images, a fixed draw."
    )
    learner: LearnerSettings = Field(default_factory=LearnerSettings, description="Settings of the learner.")
    probe_images: int = Field(
        64, ge=0, le=10_000, description="Test images on which localisation is measured after each task (0: none)."
    )
    test_batch_size: Annotated[int, Role.REPEATED] = Field(64, ge=1, le=10_000, description="Images tested at once.")
    workers: Annotated[int, Role.COMMON, Role.EXECUTION, Role.RESUMABLE, Role.REPEATED] = Field(
        1, ge=0, le=256, description="Processes that decode images ahead (0: decode in this one)."
    )
    strict: Annotated[bool, Role.REPEATED] = Field(
        False, description="Make an unreadable image an error instead of skipping it."
    )
    max_unreadable: Annotated[float, Role.EXECUTION, Role.RESUMABLE, Role.REPEATED] = Field(
        0.1, ge=0, le=1, description="A run stops when a larger share of its training or test images is unreadable."
    )
    device: Annotated[str, Role.COMMON, Role.EXECUTION, Role.RESUMABLE, Role.REPEATED, TableOption("--device")] = Field(
        "auto", description="cpu, cuda, mps, or auto."
    )
    checkpoint_steps: Annotated[int | None, Role.EXECUTION, Role.REPEATED] = Field(
        None, ge=1, le=1_000_000_000, description="Checkpoint after this many steps."
    )
    checkpoint_minutes: Annotated[float, Role.EXECUTION, Role.REPEATED] = Field(
        5.0, gt=0, le=100_000, description="Checkpoint after this many minutes."
    )
    track: Annotated[list[Literal["tensorboard", "wandb", "mlflow"]], Role.COMMON, Role.EXECUTION, Role.REPEATED] = (
        Field(
            ["tensorboard"],
            description="Where curves go: tensorboard, wandb (Weights & Biases), mlflow; may be repeated. The last two "
            "are clients to install, and set up by WANDB_... and MLFLOW_... environment variables.",
        )
    )

    @classmethod
    def completed(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Add what the method says of the stream."""
        learner = values.get("learner", {})
        if not isinstance(learner, dict):
            return values
        import_parts(values)
        name = learner.get("method", LearnerSettings.model_fields["method"].default)
        return {**METHODS[name].stream, **values} if isinstance(name, str) else values

    @classmethod
    def prepared(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Bring values into the form in which the fields of the learner are under 'learner'."""
        return expanded(cls, with_learner(values))

    @model_validator(mode="after")
    def _borders_are_blurred_between_tasks(self) -> Self:
        if self.task_scope == "all-tasks" and self.blurry:
            raise ValueError(f"blurry {self.blurry} would have no effect: it acts only with task_scope own-task")
        return self

    @field_validator("dataset")
    @classmethod
    def _known_dataset(cls, name: str) -> str:
        DATASETS[name]
        return name

    @field_validator("class_order")
    @classmethod
    def _seed_is_a_number(cls, order: str | int) -> str | int:
        return int(order) if isinstance(order, str) and order.isdigit() else order

    @property
    def method(self) -> str:
        """The name of the learner's method."""
        return self.learner.method

    @property
    def seed(self) -> int:
        """The seed of everything that is drawn at random."""
        return self.learner.seed

    def dump(self, *, deciding: bool = False) -> dict[str, Any]:
        """Return all fields for JSON or YAML; `deciding`: only those that decide the result."""
        values = self.model_dump(mode="json")
        return _without_role(self, values, Role.EXECUTION) if deciding else values

    def of_role(self, role: Role) -> dict[str, Any]:
        """Return the fields of a role with their values, by their dotted names."""
        return {name: value for name, field, value in leaves(self) if has_role(field, role)}


def with_learner(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of a run in which the fields of its learner are under 'learner'."""
    values = {str(name).replace("-", "_"): value for name, value in values.items()}
    own = {name: value for name, value in values.items() if name.partition(".")[0] in LearnerSettings.model_fields}
    rest = {name: value for name, value in values.items() if name not in own}
    learner = rest.get("learner", {})
    learner = dict(learner) if isinstance(learner, LearnerSettings) else learner
    return rest | {"learner": merged(LearnerSettings, learner, own)} if own else rest


def import_parts(*layers: Mapping[str, Any]) -> None:
    """Import the modules that values of a run name under 'learner', so that the parts in them have their names."""
    for values in layers:
        learner = values.get("learner", {})
        import_modules(learner.get("imports", []) if isinstance(learner, Mapping) else [])


def field_names(role: Role | None = None) -> list[str]:
    """Return the names of all settings of a run, those of every part with a dot; or those of a role."""
    return [name for name, field in all_fields(RunConfig) if role is None or has_role(field, role)]


def load_config(file: Path | None, overrides: dict[str, Any]) -> RunConfig:
    """Read a YAML file, if any, and let `overrides` win."""
    return validated_fields(RunConfig, file, fields_of(file, overrides), overrides)


def load_saved_config(file: Path) -> RunConfig:
    """Read the configuration that a run has saved, perhaps with a version that had other settings."""
    try:
        return restored_config(read_fields(file))
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from None


def restored_config(values: dict[str, Any]) -> RunConfig:
    """Build the configuration that was saved as these values, perhaps by a version that had other settings."""
    values = with_learner(legacy.nested(values) if legacy.is_flat(values) else values)
    import_parts(values)
    return validated(RunConfig, values, saved=True)


def flat_settings(values: Mapping[str, Any], *, complete: bool = True) -> dict[str, Any]:
    """Return a saved configuration by dotted names; fields that this version does not know are among them.

    Args:
        values: The configuration as it was saved, perhaps by another version.
        complete: Whether to add settings that it lacks, as the method chooses them today.
    """
    whole = with_learner(legacy.nested(values) if legacy.is_flat(values) else values)
    flat = flattened(whole)
    if not complete:
        return flat
    learner = whole.get("learner", {})
    known = {name: value for name, value in whole.items() if name in RunConfig.model_fields}
    known["learner"] = {name: value for name, value in learner.items() if name in LearnerSettings.model_fields}
    lacking = {name: value for name, value in NOWHERE.items() if name not in known}
    found: dict[str, Any] = {}
    for saved in (False, True):  # the latter, where the method is not known here, or a file is gone
        with suppress(ConfigError, UnknownNameError):
            found = found or flattened(validated(RunConfig, known | lacking, saved=saved).dump())
    if not found:
        return flat
    unknown = {name: value for name, value in (whole | learner).items() if name not in {*known, *known["learner"]}}
    return {name: value for name, value in found.items() if name not in lacking} | unknown


def fields_of(file: Path | None, overrides: dict[str, Any]) -> dict[str, Any]:
    """Return what a YAML file, if any, and `overrides` over it say, not looked at yet."""
    return overridden(read_fields(file), overrides)


def overridden(values: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a configuration with `overrides` over them; another method brings its own choices."""
    below, above = with_learner(values), with_learner(overrides)
    import_parts(below, above)
    return merged(RunConfig, _without_choices_of_another_method(below, above), above)


def read_fields(file: Path | None) -> dict[str, Any]:
    """Return the fields of a YAML file, spelled as in Python; no file has none."""
    if file is None:
        return {}
    try:
        values = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"cannot read the configuration {file}: {error}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"{file} must hold fields and values, e.g. 'seed: 0'")
    values = {str(name).replace("-", "_"): value for name, value in values.items()}  # as options are spelled
    return legacy.nested(values) if legacy.is_flat(values) else values


def validated_fields(model: type[Model], file: Path | None, values: dict[str, Any], overrides: dict[str, Any]) -> Model:
    """Build a configuration of the fields of a file and of what was typed; a mistake names the file if it is there."""
    try:
        return validated(model, values)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}" if file and not overrides else str(error)) from None


def _without_choices_of_another_method(values: dict[str, Any], overrides: dict[str, Any]) -> dict[str, Any]:
    """Drop what a file has only because its method is what it is, where the command line asks for another method.

    The configuration that a run saves holds every field; a new method would otherwise change nothing but its name.
    """
    old = values.get("learner", {}).get("method")
    new = overrides.get("learner", {}).get("method")
    if not isinstance(old, str) or new in (None, old):
        return values
    usual = LearnerSettings(method=old)
    chosen = {
        name: METHODS[old].stream.get(name, RunConfig.model_fields[name].default)
        for name in {*METHODS[old].stream, *METHODS[new].stream}
    }
    own = {name: value for name, value in values.items() if name not in chosen or value != chosen[name]}
    return own | {"learner": without(values["learner"], usual)}


def with_absolute_path(name: str) -> str:
    """Return the place of a file or folder from the root; what is no path, as 'dino-vits16', stays as it is."""
    path = Path(name).expanduser()
    return str(path.resolve()) if path.exists() and name not in SHORT_NAMES else name


def with_absolute_paths(config: RunConfig) -> RunConfig:
    """Return the same configuration, valid from any working folder."""

    def absolute(field: FieldInfo, value: Any) -> Any:
        if not has_role(field, Role.PLACE) or not isinstance(value, str | Path):
            return value
        return value.expanduser().resolve() if isinstance(value, Path) else with_absolute_path(value)

    return mapped(config, absolute)


def dump_config(config: BaseModel) -> str:
    """Return the configuration as YAML that `read_fields` reads back."""
    return yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True)


def _without_role(settings: Settings, values: dict[str, Any], role: Role) -> dict[str, Any]:
    """Return dumped values without the fields of a role, also inside of parts."""
    left = {}
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if isinstance(value, Settings):
            left[name] = _without_role(value, values[name], role)
        elif not has_role(field, role):
            left[name] = values[name]
    return left
