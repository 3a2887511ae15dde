"""What a learner can be told. Every field is also a command-line option and a field of a run's configuration."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

Augmentation = Literal["flip", "paper", "none"]
PATCH_FEATURES = r"^(tokens|(keys|values|queries)(@[1-9]\d*)?)$"


class LearnerSettings(BaseModel):
    """Settings of a learner, all with defaults."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    method: str = Field("rs", description="Method, a recipe of parts.")
    memory: str | None = Field(None, description="Memory policy instead of the method's own.")
    memory_images: int = Field(
        1000, ge=0, description="Memory budget, counted in pixels: as many as this number of whole images has."
    )
    replay_size: int = Field(6, ge=0, description="Items replayed in each step.")
    replay_unknown: Literal["absent", "ignored"] = Field(
        "absent", description="What a replayed item says of classes that nobody looked for in it: absent or ignored."
    )
    lr: float = Field(2e-5, gt=0, description="Learning rate of AdamW for the backbone.")
    head_lr: float = Field(1e-3, gt=0, description="Learning rate for the head, whose rows start from nothing.")
    weight_decay: float = Field(1e-4, ge=0, description="Weight decay of AdamW.")
    augment: Augmentation = Field("flip", description="Augmentation: flip, paper (RandAugment and cut-out) or none.")
    features: str | None = Field(
        None,
        pattern=PATCH_FEATURES,
        description="Patch features: keys, values or queries of the last attention block (of another: values@6), or "
        "tokens, the output.",
    )
    seed: int = Field(0, ge=0, description="Seed of everything that is drawn at random.")

    @field_validator("method")
    @classmethod
    def _known_method(cls, name: str) -> str:
        from cuter.learn.recipe import METHODS  # here, because torch comes with it and --help must not wait for it

        METHODS[name]
        return name

    @field_validator("memory")
    @classmethod
    def _known_memory(cls, name: str | None) -> str | None:
        if name is not None:
            from cuter.memory import MEMORIES

            MEMORIES[name]
        return name
