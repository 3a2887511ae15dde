"""The encoders we know, by the `model_type` of their Hugging Face config."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from cuter.errors import BackboneError
from cuter.registry import did_you_mean

CLASS_TOKEN, PATCH_MEAN = "class token", "patch mean"


@dataclass(frozen=True, slots=True)
class Family:
    """Names of the transformers classes, what to build them with, and what stands for the whole image."""

    config: str
    model: str
    pooling: str = CLASS_TOKEN
    build: dict[str, Any] = field(default_factory=dict)
    call: dict[str, Any] = field(default_factory=dict)


# Without the pooling layer: that dense tanh layer is no part of the pre-training and often randomly initialised.
_VIT: dict[str, Any] = {"build": {"add_pooling_layer": False}, "call": {"interpolate_pos_encoding": True}}

FAMILIES = {
    "vit": Family("ViTConfig", "ViTModel", **_VIT),
    # Hugging Face's MAE encoder shuffles the patches even when it hides none, so its weights go into a plain ViT.
    # No loss ever read MAE's class token, so the mean of the patches stands for the image.
    "vit_mae": Family("ViTConfig", "ViTModel", pooling=PATCH_MEAN, **_VIT),
    "deit": Family("DeiTConfig", "DeiTModel", **_VIT),
    "dinov2": Family("Dinov2Config", "Dinov2Model"),
    "dinov2_with_registers": Family("Dinov2WithRegistersConfig", "Dinov2WithRegistersModel"),
    "dinov3_vit": Family("DINOv3ViTConfig", "DINOv3ViTModel"),
    "vit_conv_stem": Family("ConvStemViTConfig", "ConvStemViTModel", **_VIT),  # our own
    "resnet": Family("ResNetConfig", "ResNetModel", pooling=PATCH_MEAN),
}


def tokens_before_patches(config: Any) -> int:
    """Return how many tokens come before those of the patches: class, distillation and register tokens."""
    has_distillation_token: bool = config.model_type == "deit"
    return 1 + has_distillation_token + int(getattr(config, "num_register_tokens", 0))


# Settings of pre-training that would make a forward in training mode random.
_SETTLED = {"dinov3_vit": ("pos_embed_shift", "pos_embed_jitter", "pos_embed_rescale")}


def family_of(model_type: Any, source: str) -> Family:
    """Return the family of a model type, or say which are supported."""
    if model_type not in FAMILIES:
        raise BackboneError(
            f"{source}: model type {model_type!r} is not supported.{did_you_mean(str(model_type), list(FAMILIES))}"
        )
    return FAMILIES[model_type]


def class_named(name: str) -> Any:
    """Return a class of transformers, or of our own; importing them takes seconds, so it is done late."""
    import transformers

    from cuter.backbone import conv_stem

    return getattr(conv_stem, name, None) or getattr(transformers, name)


def make_config(fields: dict[str, Any], source: str) -> Any:
    """Return the transformers config that these fields describe."""
    model_type = fields.get("model_type")
    family = family_of(model_type, source)
    config_class = class_named(family.config)
    if model_type == "vit_mae":
        shared = config_class().to_dict().keys() - {"model_type", "architectures", "transformers_version"}
        fields = {name: value for name, value in fields.items() if name in shared}
    try:
        config = config_class.from_dict(fields)
    except Exception as error:  # transformers' validation raises classes of its own
        raise BackboneError(f"{source}: its config does not fit {family.config}: {error}") from error
    for name in _SETTLED.get(config.model_type, ()):
        setattr(config, name, None)
    return config


def build(config: Any) -> nn.Module:
    """Return the encoder of a config with random weights, leaving the global random state as it was."""
    family = FAMILIES[config.model_type]
    with torch.random.fork_rng(devices=[]):
        encoder: nn.Module = class_named(family.model)(config, **family.build)
    return encoder
