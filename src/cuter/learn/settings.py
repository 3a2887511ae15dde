"""What a learner can be told. Every field is also a command-line option and a field of a run's configuration."""

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

from cuter.errors import UnknownNameError
from cuter.registry import did_you_mean

Augmentation = Literal["flip", "paper", "none"]
LEARNER, PRETRAINED = "learner", "pretrained"  # names of localisers that are no backbones
CHOSEN_BY_METHOD: dict[str, JsonValue] = {"chosen_by_method": True}  # so that --help does not name a default
PATCH_FEATURES = r"^(tokens|(keys|values|queries)(@[1-9]\d*)?)$"


class LearnerSettings(BaseModel):
    """Settings of a learner, all with defaults. What is not given is what the method chooses, else the default."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, allow_inf_nan=False)

    method: str = Field(
        "rs",
        description="Method, a named choice of the settings below; 'cuter methods' tells what each chooses: finetune, "
        "joint, rs, gss, icarl, nsce, krt, apple, prs, ocdm, agcn, agcn++, cuter, cuter-paper, cuter-frozen, cutrep, "
        "cutrep-prs, cutrep-ocdm, cuter-krt, cuter-agcn, or cuter+REGULARISER. What you give yourself goes before it.",
    )
    keeper: Literal["whole-images", "cut-outs"] = Field(
        "whole-images",
        description="What of a batch may be kept: whole-images or cut-outs.",
        json_schema_extra=CHOSEN_BY_METHOD,
    )
    memory: str = Field(
        "reservoir",
        description="Memory policy, what stays within the budget: reservoir, balanced, class-balanced, prs, ocdm, "
        "gradient, herding or cluster.",
        json_schema_extra=CHOSEN_BY_METHOD,
    )
    memory_power: float | None = Field(
        None,
        description="prs, ocdm: a class that came n times gets a share of memory in proportion to n to this power: 0, "
        "all the same; 1, as in the stream. By default 0.1 for prs and 0 for ocdm.",
        json_schema_extra=CHOSEN_BY_METHOD,
    )
    memory_images: int = Field(
        1000,
        ge=0,
        le=10_000_000,
        description="Memory budget, counted in pixels: as many as this number of whole images has.",
    )
    memory_codec: Literal["raw", "jpeg", "webp"] = Field(
        "raw", description="How memory stores pixels: raw; jpeg or webp hold several times more in as many bytes."
    )
    head: str = Field(
        "linear",
        description="How features become scores: linear, prototypes, class-attention or label-graph.",
        json_schema_extra=CHOSEN_BY_METHOD,
    )
    attention_tokens: Literal["by-task", "by-class"] = Field(
        "by-task",
        description="Head 'class-attention': tokens by-task, as in KRT, or by-class.",
        json_schema_extra=CHOSEN_BY_METHOD,
    )
    attention_sees: Literal["patches", "image"] = Field(
        "image",
        description="Head 'class-attention': what is scored: what tokens find in the patches, or with the embedding of "
        "the whole image added to it.",
    )
    prototype_scores: Literal["means", "rows"] = Field(
        "means",
        description="Head 'prototypes': what predicts: cosines to class means, as in iCaRL, or the rows that are "
        "trained, as in NsCE.",
        json_schema_extra=CHOSEN_BY_METHOD,
    )
    graph_nodes: Literal["labels", "images"] = Field(
        "labels",
        description="Head 'label-graph': nodes of labels, as in AGCN, or of labels as they show in images (AGCN++).",
        json_schema_extra=CHOSEN_BY_METHOD,
    )
    word_vectors: Path | None = Field(
        None,
        description="Head 'label-graph': file of word vectors for class names, GloVe's text format; without one label "
        "embeddings are learned.",
    )
    word_dim: int = Field(
        300, ge=1, le=10_000, description="Head 'label-graph': numbers in a label embedding or word vector."
    )
    teacher: str = Field(
        "none",
        description="What the model of the task before says of labels that nobody looked for: none, distil (its "
        "scores), pseudo (labels), or soft-graph (scores and label nodes).",
        json_schema_extra=CHOSEN_BY_METHOD,
    )
    distil_weight: float = Field(1.0, ge=0, description="Teachers 'distil', 'soft-graph': weight of the distillation.")
    pseudo_threshold: Literal["running", "by-class"] = Field(
        "running",
        description="Teacher 'pseudo': one running threshold for all classes, as in KRT, or one by-class.",
        json_schema_extra=CHOSEN_BY_METHOD,
    )
    pseudo_rate: float = Field(
        1.4 / 20,
        gt=0,
        lt=1,
        description="Teacher 'pseudo': pseudo-labels wanted, for each image and old class; KRT has 1.4/20 on VOC and "
        "2.9/80 on COCO.",
    )
    token_weight: float = Field(
        0.0,
        ge=0,
        description="Teacher 'pseudo', head 'class-attention': weight of KRT's token loss; there 80 on VOC, 100 on "
        "COCO.",
        json_schema_extra=CHOSEN_BY_METHOD,
    )
    node_weight: float = Field(
        1000.0, ge=0, description="Teacher 'soft-graph': weight of old label nodes staying in place."
    )
    relation_weight: float = Field(
        0.0,
        ge=0,
        description="Teacher 'soft-graph': weight of old label nodes keeping their cosines to each other.",
        json_schema_extra=CHOSEN_BY_METHOD,
    )
    cutout_shape: Literal["boxes", "patches", "auto"] = Field(
        "boxes",
        description="Cut-outs: boxes around regions, resized to what the model sees, or the patches of regions where "
        "they are, without the rest of the image. auto: patches with a transformer, boxes with a CNN.",
        json_schema_extra=CHOSEN_BY_METHOD,
    )
    cutout_rim: int = Field(
        0,
        ge=0,
        le=100,
        description="Cut-outs of patches: patches added around a region.",
        json_schema_extra=CHOSEN_BY_METHOD,
    )
    rounds: int = Field(2, ge=1, le=100, description="Cut-outs: regions looked for in each image.")
    localiser: str = Field(
        LEARNER,
        description="Cut-outs: who finds the regions: learner, pretrained (the backbone as it was before learning), or "
        "the name of another backbone, which stays as it is.",
        json_schema_extra=CHOSEN_BY_METHOD,
    )
    selection: Literal["paper", "relative", "published"] = Field(
        "paper",
        description="Cut-outs: which are certain enough: paper (scores above tau1 or tau2, second score below 0.5), "
        "relative (about as certain as the whole image), or published (as in the code behind the paper's tables).",
        json_schema_extra=CHOSEN_BY_METHOD,
    )
    tau1: float = Field(0.55, ge=0, le=1, description="Selection 'paper': least score for classes that memory lacks.")
    tau2: float = Field(0.8, ge=0, le=1, description="Selection 'paper': least score for the other classes.")
    fallback: Literal["none", "whole-image"] = Field(
        "none",
        description="Cut-outs: what is kept of an image without a certain one if memory lacks its class: none, or the "
        "whole-image.",
        json_schema_extra=CHOSEN_BY_METHOD,
    )
    stream_unknown: Literal["ignored", "absent-if-sure"] = Field(
        "ignored",
        description="What a stream image says of classes that nobody looked for in it: ignored, or absent-if-sure: "
        "where the model itself gives them a low score.",
        json_schema_extra=CHOSEN_BY_METHOD,
    )
    absent_below: float = Field(
        0.5,
        gt=0,
        le=1,
        description="absent-if-sure: the score below which a class is absent.",
        json_schema_extra=CHOSEN_BY_METHOD,
    )
    guesses_train: Literal["model", "head"] = Field(
        "model",
        description="absent-if-sure: what learns from classes that are only guessed to be absent: the whole model, or "
        "the head alone, so that wrong guesses do not spoil the features.",
        json_schema_extra=CHOSEN_BY_METHOD,
    )
    replay_size: int = Field(6, ge=0, le=10_000, description="Items replayed in each step.")
    replay_weight: float = Field(1.0, ge=0, description="Weight of the loss of replayed items; the stream has 1.")
    replay_draw: Literal["uniform", "by-class", "confused"] = Field(
        "uniform",
        description="How replayed items are drawn: uniform; by-class, from each class by turns; or confused, of "
        "classes that are taken for each other, as in NsCE.",
        json_schema_extra=CHOSEN_BY_METHOD,
    )
    confusion_steps: int = Field(
        50,
        ge=1,
        le=1_000_000_000,
        description="Replay of 'confused': steps after which memory is looked through for confused classes.",
    )
    replay_unknown: Literal["absent", "ignored"] = Field(
        "absent",
        description="What a replayed whole image says of classes that nobody looked for in it: absent or ignored.",
    )
    regulariser: str = Field(
        "none",
        description="What else patch features should obey: none; nuclear, sparse or smooth, as printed; or "
        "nuclear-features, log-det, zero-diagonal, fiedler, cut-energy.",
        json_schema_extra=CHOSEN_BY_METHOD,
    )
    alpha: float | None = Field(
        None, ge=0, description="Weight of the regulariser; by default its gradient is about a tenth of the loss's."
    )
    separation: float = Field(
        0.0,
        ge=0,
        description="Head 'prototypes': weight of NsCE's terms, which keep classes apart and the classifier from being "
        "sparse; there 0.1 or 0.01.",
        json_schema_extra=CHOSEN_BY_METHOD,
    )
    class_reduction: Literal["mean", "sum"] = Field(
        "mean",
        description="Loss over the known classes of an image: their mean or their sum. With the mean a label weighs "
        "less where more classes are known, as in replayed images.",
    )
    lr: float = Field(2e-5, gt=0, description="Learning rate of AdamW for the backbone.")
    head_lr: float = Field(
        1e-3,
        gt=0,
        description="Learning rate for what new classes bring to the head.",
        json_schema_extra=CHOSEN_BY_METHOD,
    )
    shared_lr: float = Field(
        1e-4,
        gt=0,
        description="Heads 'class-attention', 'label-graph': learning rate for what all classes share in the head.",
        json_schema_extra=CHOSEN_BY_METHOD,
    )
    weight_decay: float = Field(1e-4, ge=0, description="Weight decay of AdamW.")
    precision: Literal["float32", "bfloat16"] = Field(
        "float32",
        description="Numbers that the backbone multiplies: float32, or bfloat16, twice as fast where hardware has "
        "it. Weights, scores and losses are float32 in any case.",
    )
    augment: Augmentation = Field("flip", description="Augmentation: flip, paper (RandAugment and cut-out) or none.")
    features: str | None = Field(
        None,
        pattern=PATCH_FEATURES,
        description="Patch features: keys, values or queries of the last attention block (of another: values@6), or "
        "tokens, the output.",
    )
    predictor: Literal["whole", "regions"] = Field(
        "whole",
        description="What is looked at to predict: the whole image, or the image and then its regions, each larger. A "
        "run with regions is tested in both ways.",
        json_schema_extra=CHOSEN_BY_METHOD,
    )
    seed: int = Field(0, ge=0, le=2**64 - 1, description="Seed of everything that is drawn at random.")

    @model_validator(mode="before")
    @classmethod
    def _as_the_method_chooses(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        from cuter.learn.recipe import METHODS  # here, because torch comes with it and --help must not wait for it

        name = values.get("method", cls.model_fields["method"].default)
        return {**METHODS[name].choices_for(cls), **values} if isinstance(name, str) else values

    @model_validator(mode="after")
    def _scarce_classes_are_not_asked_for_more(self) -> "LearnerSettings":
        if self.tau1 > self.tau2:
            raise ValueError(
                f"tau1, for classes that memory lacks, is {self.tau1} and must not exceed tau2, {self.tau2}"
            )
        return self

    @model_validator(mode="after")
    def _a_power_has_shares_to_shape(self) -> "LearnerSettings":
        from cuter.memory import MEMORIES

        MEMORIES[self.memory].require_power(self.memory_power)
        return self

    @model_validator(mode="after")
    def _parts_go_together(self) -> "LearnerSettings":
        from cuter.learn.combinations import check_combination

        check_combination(self)
        return self

    @field_validator("memory")
    @classmethod
    def _known_memory(cls, name: str) -> str:
        from cuter.memory import MEMORIES

        MEMORIES[name]
        return name

    @field_validator("head")
    @classmethod
    def _known_head(cls, name: str) -> str:
        from cuter.learn.heads import HEADS

        HEADS[name]
        return name

    @field_validator("teacher")
    @classmethod
    def _known_teacher(cls, name: str) -> str:
        from cuter.learn.teachers import TEACHERS

        TEACHERS[name]
        return name

    @field_validator("regulariser")
    @classmethod
    def _known_regulariser(cls, name: str) -> str:
        from cuter.learn.regularisers import REGULARISERS

        if name not in ("none", *REGULARISERS):
            raise UnknownNameError(f"unknown regulariser {name!r}.{did_you_mean(name, ['none', *REGULARISERS])}")
        return name
