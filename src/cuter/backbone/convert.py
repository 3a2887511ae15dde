"""Original checkpoints become backbones: their architecture is read off their names and shapes."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from cuter.backbone import resnet_names, vit_names
from cuter.backbone.backbone import Backbone
from cuter.backbone.checkpoint import find_prefix, read_checkpoint
from cuter.backbone.families import FAMILIES, build, make_config
from cuter.backbone.preprocessing import ASSUMED_IMAGENET, Preprocessing
from cuter.backbone.report import LoadReport, require_all, some
from cuter.errors import BackboneError

OriginalName = Callable[[str], tuple[str, int | None]]

NAMINGS = (
    "vision transformers of timm, DINO, DeiT, MAE and MoCo v3 (patch_embed.proj, blocks.0.attn.qkv, …)",
    "DINOv2 (the same with blocks.0.ls1.gamma)",
    "ResNets of torchvision, DINO and MoCo (conv1, bn1, layer1.0.conv1, …)",
)

# DINOv2's last epochs used 518, but its own evaluation and its Hugging Face checkpoints use 224.
_EVALUATED_AT = {518: 224}


def load_checkpoint(path: Path, name: str, features: str | None) -> Backbone:
    """Load an original checkpoint file."""
    tensors = read_checkpoint(path)
    source = str(path)
    config, weights, original, notes = _recognise(tensors, source)
    encoder = build(make_config(config, source))
    missing, used = _fill(encoder, weights, original, source)
    report = LoadReport(
        source=source,
        architecture=FAMILIES[config["model_type"]].model,
        missing=missing,
        left_over=tuple(sorted(set(weights) - used)),
        notes=(*notes, ASSUMED_IMAGENET),
    )
    trained_at = config.get("image_size", 224)  # a ResNet has no positions that would tell
    image_size = _EVALUATED_AT.get(trained_at, trained_at)
    pooling = FAMILIES[config["model_type"]].pooling
    return Backbone(encoder, Preprocessing(image_size), name=name, features=features, pooling=pooling, report=report)


def _recognise(
    tensors: Mapping[str, Tensor], source: str
) -> tuple[dict[str, Any], dict[str, Tensor], OriginalName, list[str]]:
    """Return the config, the encoder's weights without their prefix, the naming, and notes."""
    prefix = find_prefix(tensors, vit_names.LANDMARK, source)
    if prefix is not None:
        weights = _without(prefix, tensors)
        config, notes = vit_names.infer_config(weights, prefix, source)
        return config, weights, vit_names.original, notes
    prefix = find_prefix(tensors, resnet_names.LANDMARK, source)
    if prefix is not None:
        weights = _without(prefix, tensors)
        return resnet_names.infer_config(weights), weights, resnet_names.original, []
    if any("embeddings.patch_embeddings" in name or "embedder.embedder" in name for name in tensors):
        raise BackboneError(f"{source} is named as Hugging Face does: give the folder that also holds its config.json")
    raise BackboneError(
        f"{source}: no encoder was recognised by the names of its weights ({some(list(tensors))}). "
        f"Supported are: {'; '.join(NAMINGS)}."
    )


def _without(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return all weights, the encoder's without their prefix; the others keep their names for the report."""
    others = {name: tensor for name, tensor in tensors.items() if not name.startswith(prefix)}
    encoder = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
    return others | encoder


def _fill(
    encoder: nn.Module, weights: Mapping[str, Tensor], original: OriginalName, source: str
) -> tuple[tuple[str, ...], set[str]]:
    """Copy the weights into the encoder. Return the names that were missing but not needed, and those used."""
    missing, used = [], set()
    with torch.no_grad():
        for name, target in encoder.state_dict().items():
            their_name, third = original(name)
            if their_name not in weights:
                missing.append(their_name)
                continue
            used.add(their_name)
            tensor = weights[their_name]
            tensor = tensor if third is None else tensor.chunk(3)[third]
            if tensor.shape != target.shape:
                raise BackboneError(
                    f"{source}: {their_name} has shape {tuple(tensor.shape)}, expected is {tuple(target.shape)}"
                )
            target.copy_(tensor)
    return require_all(source, missing), used
