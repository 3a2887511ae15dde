"""The settings of a learner: a method, and the settings of its parts. What is not given is what the method chooses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, SerializeAsAny, field_validator, model_validator

from cuter.learn.draws import DRAWS, ReplaySettings
from cuter.learn.heads import HEADS, HeadSettings
from cuter.learn.keepers import KEEPERS
from cuter.learn.localise import LOCALISERS, LocaliserSettings
from cuter.learn.predictors import PREDICTORS
from cuter.learn.recipe import METHODS
from cuter.learn.regularisers import REGULARISERS
from cuter.learn.renamed import RENAMED
from cuter.learn.targets import TARGETS
from cuter.learn.teachers import TEACHERS
from cuter.memory import MEMORIES, MemorySettings
from cuter.settings import Part, PartSettings, Role, Settings, TableOption, import_modules, kind, merged
from cuter.stream.augment import AUGMENTATIONS

PATCH_FEATURES = ("tokens", "keys", "values", "queries")


class LearnerSettings(Settings):
    """Settings of a learner, all with defaults."""

    renamed: ClassVar[Mapping[str, str]] = RENAMED

    imports: Annotated[list[str], Role.EXECUTION] = Field(
        [], description="Python module that adds parts of your own; may be repeated."
    )
    method: Annotated[str, Role.COMMON, TableOption("--only")] = Field(
        "rs",
        description="A named choice of the parts below; 'cuter methods' lists them. What you give goes before it.",
    )
    keeper: Annotated[SerializeAsAny[PartSettings], Part(KEEPERS), Role.COMMON] = kind(
        "whole-images", "What of a batch may be kept."
    )
    memory: Annotated[SerializeAsAny[MemorySettings], Part(MEMORIES), Role.COMMON] = kind(
        "reservoir", "Memory policy: what stays within the budget."
    )
    replay: Annotated[SerializeAsAny[ReplaySettings], Part(DRAWS), Role.COMMON] = kind(
        "uniform", "How items of memory are drawn for replay."
    )
    targets: Annotated[SerializeAsAny[PartSettings], Part(TARGETS)] = kind(
        "ignored", "What a stream image says of classes that nobody looked for in it."
    )
    teacher: Annotated[SerializeAsAny[PartSettings], Part(TEACHERS), Role.COMMON] = kind(
        "none", "What the model of the task before says of labels that nobody looked for."
    )
    head: Annotated[SerializeAsAny[HeadSettings], Part(HEADS), Role.COMMON] = kind(
        "linear", "How features become scores."
    )
    predictor: Annotated[SerializeAsAny[PartSettings], Part(PREDICTORS), Role.COMMON] = kind(
        "whole",
        "What is looked at to predict: the whole image, or also its regions. A run with regions is tested both ways.",
    )
    regulariser: Annotated[SerializeAsAny[PartSettings], Part(REGULARISERS)] = kind(
        "none", "What else patch features should obey."
    )
    localiser: Annotated[SerializeAsAny[LocaliserSettings], Part(LOCALISERS)] = kind(
        "learner", "Who finds the regions, where a part needs them."
    )
    augment: Annotated[SerializeAsAny[PartSettings], Part(AUGMENTATIONS)] = kind("flip", "Augmentation.")
    features: str | None = Field(
        None,
        description="Patch features: keys, values or queries of the last attention block (of another: values@6), or "
        "tokens, the output. By default what suits the backbone.",
    )
    class_reduction: Literal["mean", "sum"] = Field(
        "mean",
        description="Loss over the known classes of an image: their mean or their sum. With the mean a label weighs "
        "less where more classes are known, as in replayed images.",
    )
    lr: Annotated[float, Role.COMMON] = Field(2e-5, gt=0, description="Learning rate of AdamW for the backbone.")
    weight_decay: float = Field(1e-4, ge=0, description="Weight decay of AdamW.")
    precision: Annotated[Literal["float32", "bfloat16"], Role.COMMON] = Field(
        "float32",
        description="Numbers that the backbone multiplies: float32, or bfloat16, twice as fast where hardware has "
        "it. Weights, scores and losses are float32 in any case.",
    )
    seed: Annotated[
        int, Role.COMMON, Role.REPEATED, TableOption("--seeds", "--seeds N runs every row with seeds 0 to N-1")
    ] = Field(0, ge=0, le=2**64 - 1, description="Seed of everything that is drawn at random.")

    @classmethod
    def completed(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Add what the method chooses."""
        import_modules(values.get("imports", []))
        name = values.get("method", cls.model_fields["method"].default)
        return merged(cls, METHODS[name].choices, values) if isinstance(name, str) else values

    @field_validator("features")
    @classmethod
    def _known_features(cls, features: str | None) -> str | None:
        if features is not None:
            name, at, layer = features.partition("@")
            if name not in PATCH_FEATURES or (at and (name == "tokens" or not layer.isdigit() or int(layer) < 1)):
                raise ValueError(
                    "patch features are keys, values or queries, perhaps of a block from 1 on (values@6), or tokens"
                )
        return features

    @property
    def parts(self) -> Iterator[PartSettings]:
        """The settings of all parts."""
        return (value for _, value in self if isinstance(value, PartSettings))

    @property
    def needs_regions(self) -> bool:
        """Whether any part wants the batch to be cut."""
        return self.keeper.kind == "cut-outs" or self.regulariser_needs_regions

    @property
    def uses_localiser(self) -> bool:
        """Whether regions are found by a localiser that stays as it is."""
        return self.needs_regions and self.localiser.kind != "learner"

    @property
    def regulariser_needs_regions(self) -> bool:
        """Whether the regulariser wants the batch to be cut, on the learner's own patches."""
        return REGULARISERS[self.regulariser.kind].needs_regions

    @model_validator(mode="after")
    def _parts_go_together(self) -> Self:
        for one in self.parts:
            one.check(self)
        return self
