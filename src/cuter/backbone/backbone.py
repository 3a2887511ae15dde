"""Pixels become features."""

from __future__ import annotations

import json
from typing import Any, Literal

import torch
from torch import Tensor, nn

from cuter.backbone.families import CLASS_TOKEN, FAMILIES, PATCH_MEAN, build, make_config, tokens_before_patches
from cuter.backbone.features import Features
from cuter.backbone.preprocessing import Preprocessing
from cuter.backbone.report import LoadReport
from cuter.backbone.subset import group_by_length, only, padding_mask, scattered
from cuter.errors import BackboneError, BatchError

Precision = Literal["float32", "bfloat16"]

_PROJECTIONS = {"keys": "k_proj", "values": "v_proj", "queries": "q_proj"}
_NO_WEIGHTS = "made without weights: random until load_state_dict"
_LABELS = ("id2label", "label2id")  # names of ImageNet's classes, a thousand lines that no encoder reads


class Backbone(nn.Module):
    """A pre-trained encoder. One forward gives an embedding of each image and one vector for each of its patches.

    `features` says what the patch vectors are: keys, values or queries of an attention block with all heads side by
    side (`keys` of the last block, `values@6` of the sixth), or the output tokens. A CNN has tokens only: the positions
    of its last maps.
    Like any torch module it is meant for one thread at a time. `load_backbone` makes one by name.

    Args:
        encoder: A model of transformers.
        preprocessing: Size of the images, and how their pixels are normalised.
        name: Its name in messages.
        features: What the patch vectors are; by default keys, for a CNN tokens.
        pooling: What the embedding is: the class token, or the mean over patches; by default what suits the encoder.
        report: What became of the weights when they were loaded.

    Examples:
        >>> import torch
        >>> from cuter import load_backbone
        >>> backbone = load_backbone("toybox")
        >>> size = backbone.image_size
        >>> features = backbone(torch.zeros(2, 3, size, size, dtype=torch.uint8))
        >>> features.embedding.shape == (2, backbone.embedding_dim)
        True
        >>> features.patches.shape == (2, (size // backbone.patch_size) ** 2, backbone.patch_dim)
        True
    """

    mean: Tensor
    std: Tensor

    def __init__(
        self,
        encoder: nn.Module,
        preprocessing: Preprocessing,
        *,
        name: str,
        features: str | None = None,
        pooling: str | None = None,
        report: LoadReport | None = None,
    ):
        super().__init__()
        config: Any = encoder.config
        self.encoder = encoder
        self.name = name
        self.image_size = preprocessing.image_size
        self.is_cnn: bool = config.model_type == "resnet"  # takes images of any size, and has no attention
        self.pooling = pooling or FAMILIES[config.model_type].pooling
        self.blocks: int = 0 if self.is_cnn else config.num_hidden_layers
        self.features = _patch_kind(features, self.blocks, name)
        self.precision: Precision = "float32"
        self.report = report or LoadReport(source=name, architecture=config.model_type, notes=(_NO_WEIGHTS,))
        self.patch_size: int = _cnn_stride(config) if self.is_cnn else config.patch_size
        self.embedding_dim: int = config.hidden_sizes[-1] if self.is_cnn else config.hidden_size
        self.patch_dim = self.embedding_dim  # all heads side by side are as wide as a token
        self._preprocessing = preprocessing
        # Not part of state_dict: describe() carries them, and one truth is enough.
        self.register_buffer("mean", torch.tensor(preprocessing.mean).view(1, 3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(preprocessing.std).view(1, 3, 1, 1), persistent=False)
        for parameter_name, parameter in encoder.named_parameters():
            if parameter_name.endswith("mask_token"):
                parameter.requires_grad_(False)  # no forward reads it, and distributed training rejects idle parameters

    def set_features(self, features: str | None) -> None:
        """Choose other patch features, named as in `load_backbone`."""
        self.features = _patch_kind(features, self.blocks, self.name)

    def forward(self, images: Tensor, visible: Tensor | None = None) -> Features:
        """Encode images: (B, 3, H, W), uint8 or float in 0..1.

        visible: which patches there are, bool (B, rows, columns). The others do not go through the encoder at all, so
        that their pixels mean nothing, and fewer patches cost less time. A CNN has no patches to leave out.

        Where `precision` is bfloat16, matrix products of the encoder are computed with that; weights, gradients of
        weights and what is returned are float32 all the same.
        """
        if self.precision == "float32":
            return self._features(images, visible)
        with torch.autocast(images.device.type, torch.bfloat16):
            features = self._features(images, visible)
        return features.to(self.mean.dtype)

    def _features(self, images: Tensor, visible: Tensor | None) -> Features:
        self._check(images)
        if visible is not None:
            self._check_visible(images, visible)
        pixels = images.to(self.mean.dtype) / 255 if images.dtype == torch.uint8 else images.to(self.mean.dtype)
        pixels = (pixels - self.mean) / self.std
        if self.is_cnn:
            maps = self.encoder(pixels).last_hidden_state
            patches = maps.flatten(2).transpose(1, 2)
            return Features(patches.mean(dim=1), patches, (maps.shape[2], maps.shape[3]), patches)

        grid = images.shape[2] // self.patch_size, images.shape[3] // self.patch_size
        if visible is not None and not visible.all():
            return self._encode_some(pixels, visible, grid)
        tokens, captured = self._encode(pixels)
        before = tokens_before_patches(self.encoder.config)
        embedding = tokens[:, 0] if self.pooling == CLASS_TOKEN else tokens[:, before:].mean(dim=1)
        return Features(embedding, captured[:, before:], grid, tokens[:, before:])

    def _encode_some(self, pixels: Tensor, visible: Tensor, grid: tuple[int, int]) -> Features:
        """Encode the visible patches, images with a similar number of them together."""
        before = tokens_before_patches(self.encoder.config)
        # A stem of convolutions looks beyond the borders of a patch: what is not there must not be seen there either.
        pixels = pixels * visible.repeat_interleave(self.patch_size, 1).repeat_interleave(self.patch_size, 2)[:, None]
        visible = visible.flatten(1)
        groups = group_by_length(visible)
        first, outputs, features = [], [], []
        for group in groups:
            with only(self.encoder, group, before):
                tokens, captured = self._encode(
                    pixels[group.images], attention_mask=padding_mask(group, before, pixels.dtype)
                )
            first.append(tokens[:, 0])
            outputs.append(tokens[:, before:])
            features.append(captured[:, before:])
        tokens = scattered(outputs, groups, visible.shape)
        patches = tokens if self.features == "tokens" else scattered(features, groups, visible.shape)
        if self.pooling == CLASS_TOKEN:
            embedding = torch.cat(first)[torch.cat([group.images for group in groups]).argsort()]
        else:
            embedding = tokens.sum(dim=1) / visible.sum(dim=1, keepdim=True)
        return Features(embedding, patches, grid, tokens, visible)

    def _encode(self, pixels: Tensor, attention_mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the output tokens, and the chosen features of all tokens, from one forward."""
        options = dict(FAMILIES[self.encoder.config.model_type].call)  # type: ignore[union-attr, index]
        if attention_mask is not None:
            options["attention_mask"] = attention_mask
        if self.features == "tokens":
            tokens = self.encoder(pixels, **options).last_hidden_state
            return tokens, tokens
        kind, _, block = self.features.partition("@")
        projection = _PROJECTIONS[kind]
        attentions = [module for module in self.encoder.modules() if hasattr(module, projection)]
        attention = attentions[int(block or self.blocks) - 1]
        captured: list[Tensor] = []
        # The hook lives for this call only, so that copies, saved modules and other callers never see it.
        hook = getattr(attention, projection).register_forward_hook(lambda _, __, out: captured.append(out))
        try:
            tokens = self.encoder(pixels, **options).last_hidden_state
        finally:
            hook.remove()
        return tokens, captured[0]

    def _check(self, images: Tensor) -> None:
        if images.ndim != 4 or images.shape[1] != 3 or not (images.dtype == torch.uint8 or images.is_floating_point()):
            raise BatchError(
                f"images must be uint8 or float in 0..1, of shape (B, 3, H, W), not {images.dtype} "
                f"{tuple(images.shape)}"
            )
        height, width = images.shape[2:]
        if not self.is_cnn and (height % self.patch_size or width % self.patch_size or not height * width):
            raise BackboneError(
                f"{self.name} cuts images into patches of {self.patch_size}×{self.patch_size}, so height and width "
                f"must be multiples of {self.patch_size}, not {height}×{width}; it was made for {self.image_size}×"
                f"{self.image_size}"
            )

    def _check_visible(self, images: Tensor, visible: Tensor) -> None:
        if self.is_cnn:
            raise BackboneError(f"{self.name} is a CNN: it has no patches that could be left out")
        wanted = (len(images), images.shape[2] // self.patch_size, images.shape[3] // self.patch_size)
        if visible.dtype != torch.bool or tuple(visible.shape) != wanted:
            raise BatchError(f"visible must be bool {wanted}, not {visible.dtype} {tuple(visible.shape)}")
        if empty := (~visible.flatten(1).any(dim=1)).nonzero().flatten().tolist():
            raise BatchError(f"no patch of image {empty[0]} is visible ({len(empty)} of {len(images)} images)")

    def describe(self) -> dict[str, Any]:
        """Return all but the weights, ready for JSON: `from_description` makes the same module again."""
        config = json.loads(self.encoder.config.to_json_string(use_diff=False))  # type: ignore[union-attr, operator]
        return {
            "name": self.name,
            "features": self.features,
            "pooling": self.pooling,
            "image_size": self.image_size,
            "mean": list(self._preprocessing.mean),
            "std": list(self._preprocessing.std),
            "config": {field: value for field, value in config.items() if field not in _LABELS},
        }

    @classmethod
    def from_description(cls, description: dict[str, Any]) -> Backbone:
        """Make the described backbone with random weights, to be filled by `load_state_dict`."""
        fields = ("name", "features", "pooling", "image_size", "mean", "std", "config")
        if missing := [field for field in fields if field not in description]:
            raise BackboneError(f"the description of a backbone lacks {', '.join(missing)}")
        name, features, pooling, image_size, mean, std, config = (description[field] for field in fields)
        if pooling not in (CLASS_TOKEN, PATCH_MEAN):
            raise BackboneError(f"the pooling of {name} is {pooling!r}. Accepted: {CLASS_TOKEN}, {PATCH_MEAN}.")
        return cls(
            build(make_config(config, f"the description of {name}")),
            Preprocessing(image_size, tuple(mean), tuple(std)),
            name=name,
            features=features,
            pooling=pooling,
        )


def _patch_kind(features: str | None, blocks: int, name: str) -> str:
    """Return the checked name of the patch features; the last block goes without its number."""
    possible = [*_PROJECTIONS, "tokens"] if blocks else ["tokens"]
    if features is None:
        return possible[0]
    kind, at, block = features.partition("@")
    if kind in possible and not at:
        return kind
    if kind in possible and kind in _PROJECTIONS and block.isdecimal() and 1 <= int(block) <= blocks:
        return kind if int(block) == blocks else f"{kind}@{int(block)}"
    accepted = ", ".join(possible)
    if blocks:
        accepted += f", and keys, values or queries of a block from 1 to {blocks}, as in values@{(blocks + 1) // 2}"
    raise BackboneError(f"{name} cannot give {features!r} as patch features. Accepted: {accepted}.")


def _cnn_stride(config: Any) -> int:
    """Return how many pixels lie between two positions of the last maps: the stem divides by 4, each stage by 2."""
    halvings = len(config.depths) - 1 + bool(config.downsample_in_first_stage)
    return int(4 * 2**halvings)
