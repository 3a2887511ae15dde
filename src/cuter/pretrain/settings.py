"""Settings of pre-training. Every field is also a command-line option and a field of a YAML file."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator


class PretrainSettings(BaseModel):
    """All that decides the weights, and how they are made. The defaults suit a small transformer and a CPU."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, validate_default=True, coerce_numbers_to_str=True, allow_inf_nan=False
    )

    images: Path | None = Field(None, description="Folder of images, with its sub-folders. No labels are needed.")
    dataset: str | None = Field(
        None,
        description="In place of --images a data set: toybox, voc, coco, nuswide or folder. Its training images are "
        "learned from; its labels and boxes only show how good the features are.",
    )
    data_root: Path | None = Field(
        None, description="Folder that holds the data set; toybox alone, which is rendered, needs none."
    )
    dataset_options: dict[str, str] = Field({}, description="Option of the data set's reader, NAME=VALUE.")
    image_size: int = Field(128, ge=8, le=4096, description="Side that images are squashed to, in pixels.")
    patch_size: int = Field(8, ge=1, le=4096, description="Side of a patch.")
    dim: int = Field(128, ge=8, le=16_384, description="Width of the transformer.")
    depth: int = Field(6, ge=1, le=1000, description="Its blocks.")
    heads: int = Field(4, ge=1, le=1000, description="Its attention heads.")
    conv_stem: bool = Field(
        True, description="Come from pixels to patches by small convolutions: learns earlier, from fewer images."
    )
    epochs: int = Field(100, ge=1, le=1_000_000, description="Passes over the images.")
    steps: int | None = Field(None, ge=1, le=1_000_000_000, description="Steps, in place of epochs.")
    batch_size: int = Field(64, ge=2, le=10_000, description="Images in each step.")
    global_size: int | None = Field(
        None, ge=1, le=4096, description="Side of the two large crops; by default three quarters of image_size."
    )
    local_size: int | None = Field(
        None, ge=1, le=4096, description="Side of the small crops; by default three eighths of image_size."
    )
    local_crops: int = Field(4, ge=0, le=100, description="Small crops of each image.")
    crop_split: float = Field(
        0.4, gt=0.05, lt=1, description="Share of the image's area that large crops have at least, small ones at most."
    )
    part: float = Field(
        1.0,
        gt=0.02,
        le=1,
        description="Crops of an image come from one part of it, drawn anew in each step, of at most this share of its "
        "area. Less than 1 suits scenes of several things: a part shows one thing, or none.",
    )
    colour: float = Field(1.0, ge=0, le=2, description="Strength of changes of colour; 0 leaves colours as they are.")
    prototypes: int = Field(1024, ge=2, le=1_000_000, description="Outputs of the projection head.")
    lr: float = Field(1e-3, gt=0, description="Highest learning rate of AdamW; it falls to almost 0.")
    warmup: float = Field(0.1, ge=0, lt=1, description="Share of the steps in which the learning rate rises.")
    weight_decay: float = Field(0.04, ge=0, description="Weight decay of AdamW.")
    momentum: float = Field(
        0.99, ge=0, le=1, description="Share that the teacher keeps of itself in a step; it rises to 1."
    )
    distil: float = Field(1.0, ge=0, description="Weight of DINO's term: views should be what the teacher says.")
    contrast: float = Field(
        0.0,
        ge=0,
        description="Weight of a term by which a view has to find its own image among those of the batch. A small "
        "training learns more in less time from it; with --distil 0 it is the only one.",
    )
    spread: float = Field(
        0.1,
        ge=0,
        description="Weight of a term that keeps embeddings of different images apart; strong colour needs it.",
    )
    teacher_temperature: float = Field(0.04, gt=0, description="The lower, the more certain the teacher.")
    scores: int = Field(
        10, ge=1, le=1_000_000, description="How many times the teacher is scored and exported on the way."
    )
    probe_images: int = Field(64, ge=1, le=10_000, description="Images on which the cut is measured at each score.")
    knn_images: int = Field(
        500, ge=0, le=1_000_000, description="Images of each split of a data set for the k-NN score (0: none is taken)."
    )
    seed: int = Field(0, ge=0, le=2**64 - 1, description="Seed of everything that is drawn at random.")
    device: str = Field("auto", description="cpu, cuda, mps, or auto.")
    workers: int = Field(1, ge=0, le=256, description="Processes that decode images ahead (0: decode in this one).")
    cache_gigabytes: float = Field(
        4.0, ge=0, description="Images are held decoded if they take no more than this, else decoded in each epoch."
    )
    checkpoint_minutes: float = Field(5.0, gt=0, le=100_000, description="Checkpoint after this many minutes.")

    @field_validator("dataset")
    @classmethod
    def _known_dataset(cls, name: str | None) -> str | None:
        from cuter.stream.datasets import DATASETS

        if name is not None:
            DATASETS[name]
        return name

    @model_validator(mode="after")
    def _whole_patches_and_heads(self) -> "PretrainSettings":
        for name in ("image_size", "global_size", "local_size"):
            size = getattr(self, name)
            if size is not None and size % self.patch_size:
                raise ValueError(f"{name} must be a multiple of patch_size {self.patch_size}, not {size}")
        if self.conv_stem and (self.patch_size < 2 or self.patch_size & (self.patch_size - 1)):
            raise ValueError(
                f"patch_size must be a power of 2 for a stem of convolutions, not {self.patch_size}; "
                "--no-conv-stem takes any"
            )
        if not self.distil + self.contrast:
            raise ValueError("distil and contrast are both 0: there would be nothing to learn")
        if self.dim % self.heads:
            raise ValueError(f"dim must be a multiple of heads {self.heads}, not {self.dim}")
        return self

    @property
    def crop_sizes(self) -> tuple[int, int]:
        """Sides of large and small crops, in whole patches."""
        patches = self.image_size / self.patch_size
        return (
            self.global_size or max(1, round(patches * 3 / 4)) * self.patch_size,
            self.local_size or max(1, round(patches * 3 / 8)) * self.patch_size,
        )
