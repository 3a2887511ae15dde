"""The configuration of a run: a YAML file, command-line options over it, clear errors."""

from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from cuter.errors import ConfigError
from cuter.learn.settings import CHOSEN_BY_METHOD, LEARNER, PRETRAINED, LearnerSettings
from cuter.settings import Model, restored, validated
from cuter.stream.datasets import DATASETS


class RunConfig(LearnerSettings):
    """All that decides the result of a run, and how it is carried out."""

    model_config = ConfigDict(coerce_numbers_to_str=True)  # YAML reads 'tasks: 8' and 'year: 2012' as numbers

    dataset: str = Field(description="Data set: toybox, voc, coco, nuswide, or folder (your own CSV or JSON lines).")
    data_root: Path | None = Field(
        None, description="Folder that holds the data set; toybox alone, which is rendered, needs none."
    )
    dataset_options: dict[str, str] = Field(
        {},
        description="Option of the data set's reader, NAME=VALUE; may be repeated: train=train and test=val for VOC.",
    )
    backbone: str = Field(description="Short name, hub id, local folder or original checkpoint file.")
    tasks: str | list[list[str]] = Field(
        description="5x4, 11+7x10, or class names: 'cat,dog;car,bus' (in YAML also lists of lists)."
    )
    class_order: str | int = Field("name", description="Order of the classes: name, a seed, or a file of names.")
    shown: Literal["own-task", "all-tasks"] = Field(
        "own-task",
        description="What a task shows: the images and labels of its own-task, or those of all-tasks up to it, the "
        "bound of joint learning.",
        json_schema_extra=CHOSEN_BY_METHOD,
    )
    passes: int = Field(
        1,
        ge=1,
        le=10_000,
        description="How often a task shows its images, each time in another order.",
        json_schema_extra=CHOSEN_BY_METHOD,
    )
    blurry: float = Field(0.0, ge=0, lt=1, description="Share of each task that arrives during its neighbours.")
    batch_size: int = Field(12, ge=1, le=10_000, description="Images of the stream in each step.")
    limit_train: int | None = Field(
        None, ge=1, le=1_000_000_000, description="Use only this many training images, a fixed draw."
    )
    limit_test: int | None = Field(
        None, ge=1, le=1_000_000_000, description="Use only this many test images, a fixed draw."
    )
    probe_images: int = Field(
        64, ge=0, le=10_000, description="Test images on which localisation is measured after each task (0: none)."
    )
    test_batch_size: int = Field(64, ge=1, le=10_000, description="Images tested at once.")
    workers: int = Field(1, ge=0, le=256, description="Processes that decode images ahead (0: decode in this one).")
    strict: bool = Field(False, description="Make an unreadable image an error instead of skipping it.")
    max_unreadable: float = Field(
        0.1, ge=0, le=1, description="A run stops when a larger share of its training or test images is unreadable."
    )
    device: str = Field("auto", description="cpu, cuda, mps, or auto.")
    checkpoint_steps: int | None = Field(None, ge=1, le=1_000_000_000, description="Checkpoint after this many steps.")
    checkpoint_minutes: float = Field(5.0, gt=0, le=100_000, description="Checkpoint after this many minutes.")
    track: list[Literal["tensorboard", "wandb", "mlflow"]] = Field(
        ["tensorboard"],
        description="Where curves go: tensorboard, wandb (Weights & Biases), mlflow; may be repeated. The last two are "
        "clients to install, and set up by WANDB_... and MLFLOW_... environment variables.",
    )

    @model_validator(mode="after")
    def _borders_are_blurred_between_tasks(self) -> "RunConfig":
        if self.shown == "all-tasks" and self.blurry:
            raise ValueError(f"blurry {self.blurry} would have no effect: it acts only with shown own-task")
        return self

    @field_validator("dataset")
    @classmethod
    def _known_dataset(cls, name: str) -> str:
        DATASETS[name]
        return name


def load_config(file: Path | None, overrides: dict[str, Any]) -> RunConfig:
    """Read a YAML file, if any, and let `overrides` win."""
    return validated_fields(RunConfig, file, fields_of(file, overrides), overrides)


def load_saved_config(file: Path) -> RunConfig:
    """Read the configuration that a run has saved, perhaps with a version that had fewer settings."""
    try:
        return restored(RunConfig, read_fields(file))
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from None


def fields_of(file: Path | None, overrides: dict[str, Any]) -> dict[str, Any]:
    """Return what a YAML file, if any, and `overrides` over it say, not looked at yet."""
    return _without_choices_of_another_method(read_fields(file), overrides) | overrides


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
    return {str(name).replace("-", "_"): value for name, value in values.items()}  # as options are spelled


def validated_fields(model: type[Model], file: Path | None, values: dict[str, Any], overrides: dict[str, Any]) -> Model:
    """Build a configuration of the fields of a file and of what was typed; a mistake names the file if it is there."""
    try:
        return validated(model, values | overrides)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}" if file and not overrides else str(error)) from None


def _without_choices_of_another_method(values: dict[str, Any], overrides: dict[str, Any]) -> dict[str, Any]:
    """Drop what a file has only because its method is what it is, where the command line asks for another method.

    The configuration that a run saves holds every field; a new method would otherwise change nothing but its name.
    """
    old, new = values.get("method"), overrides.get("method")
    if not isinstance(old, str) or new in (None, old):
        return values
    from cuter.learn.recipe import METHODS

    fields = {*METHODS[old].choices, *METHODS[new].choices}
    usual = {name: METHODS[old].choices.get(name, RunConfig.model_fields[name].default) for name in fields}
    return {name: value for name, value in values.items() if name not in usual or value != usual[name]}


def with_absolute_path(name: str) -> str:
    """Return the place of a file or folder from the root; what is no path, as 'dino-vits16', stays as it is."""
    from cuter.backbone import SHORT_NAMES  # here, because torch comes with it and --help must not wait for it

    path = Path(name).expanduser()
    is_path = path.exists() and name not in (LEARNER, PRETRAINED, *SHORT_NAMES)
    return str(path.resolve()) if is_path else name


def with_absolute_paths(config: RunConfig) -> RunConfig:
    """Return the same configuration, valid from any working folder."""
    order = config.class_order
    return config.model_copy(
        update={
            "data_root": config.data_root and config.data_root.expanduser().resolve(),
            "backbone": with_absolute_path(config.backbone),
            "localiser": with_absolute_path(config.localiser),
            "word_vectors": config.word_vectors and config.word_vectors.expanduser().resolve(),
            "class_order": with_absolute_path(order) if isinstance(order, str) else order,
        }
    )


def dump_config(config: BaseModel) -> str:
    """Return the configuration as YAML that `read_fields` reads back."""
    return yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
