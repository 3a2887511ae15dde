"""Vision transformers under their original names: timm, DINO, DeiT, MAE, MoCo v3, and DINOv2 with its layer scale."""

import math
import re
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from cuter.errors import BackboneError

LANDMARK = "patch_embed.proj.weight"

_RENAMED = (
    (r"^embeddings\.position_embeddings", "pos_embed"),
    (r"^embeddings\.distillation_token", "dist_token"),
    (r"^embeddings\.patch_embeddings\.projection", "patch_embed.proj"),
    (r"^embeddings\.", ""),  # cls_token, mask_token, register_tokens
    (r"^(encoder\.layer|layers)\.", "blocks."),
    (r"\.attention\.[qkv]_proj\.", ".attn.qkv."),
    (r"\.attention\.o_proj\.", ".attn.proj."),
    (r"\.layernorm_before\.", ".norm1."),
    (r"\.layernorm_after\.", ".norm2."),
    (r"\.layer_scale([12])\.lambda1", r".ls\1.gamma"),
    (r"^layernorm\.", "norm."),
)


def original(name: str) -> tuple[str, int | None]:
    """Return a transformers weight's original name, and which third of the original if q, k and v are one there."""
    third = re.search(r"\.attention\.([qkv])_proj\.", name)
    for pattern, replacement in _RENAMED:
        name = re.sub(pattern, replacement, name)
    return name, "qkv".index(third[1]) if third else None


def infer_config(weights: Mapping[str, Tensor], prefix: str, source: str) -> tuple[dict[str, Any], list[str]]:
    """Read the architecture off the shapes: fields of a transformers config, and notes on what was guessed."""
    needed = ("cls_token", "pos_embed", "blocks.0.attn.qkv.weight", "blocks.0.mlp.fc1.weight")
    if missing := [name for name in needed if name not in weights]:
        raise BackboneError(
            f"{source} looks like a vision transformer but lacks {', '.join(missing)}; supported are transformers with "
            "a class token, learned or fixed position embeddings, joint qkv and a plain two-layer MLP"
        )
    dim, _, patch_size, _ = weights[LANDMARK].shape
    positions = weights["pos_embed"].shape[1] - 1 - ("dist_token" in weights)
    side = math.isqrt(max(positions, 0))
    if side * side != positions or not side:
        raise BackboneError(f"{source}: pos_embed has {positions} patch positions, which is no square grid")
    recipe = _recipe(weights, prefix, side)
    notes = []
    if recipe == "MAE":
        notes.append("taken for MAE by its decoder or fixed positions: the mean of the patches stands for the image")
    mlp = weights["blocks.0.mlp.fc1.weight"].shape[0]
    config = {
        "model_type": _model_type(weights, recipe),
        "hidden_size": dim,
        "num_hidden_layers": 1 + max(int(name.split(".")[1]) for name in weights if re.match(r"blocks\.\d+\.", name)),
        "num_attention_heads": _heads(dim, recipe, source),
        "image_size": side * patch_size,
        "patch_size": patch_size,
        "qkv_bias": "blocks.0.attn.qkv.bias" in weights,
        "layer_norm_eps": 1e-6,
    }
    if "blocks.0.ls1.gamma" in weights:
        if mlp % dim:
            raise BackboneError(f"{source}: the MLP is {mlp} wide, which is no multiple of the embedding's {dim}")
        config |= {"mlp_ratio": mlp // dim, "use_mask_token": "mask_token" in weights}
    else:
        config |= {"intermediate_size": mlp}
    if "register_tokens" in weights:
        config |= {"num_register_tokens": weights["register_tokens"].shape[1]}
    return config, notes


def _model_type(weights: Mapping[str, Tensor], recipe: str | None) -> str:
    if "blocks.0.ls1.gamma" in weights:
        return "dinov2_with_registers" if "register_tokens" in weights else "dinov2"
    if "dist_token" in weights:
        return "deit"
    return "vit_mae" if recipe == "MAE" else "vit"


def _recipe(weights: Mapping[str, Tensor], prefix: str, side: int) -> str | None:
    """Tell the two recipes that shapes alone do not betray: MAE, and MoCo v3 with its twelve heads.

    Both use fixed sine and cosine positions with zeros for the class token. In MAE the first half of the numbers
    changes along a row of patches; in MoCo v3 along a column.
    """
    if "base_encoder" in prefix or "momentum_encoder" in prefix:
        return "MoCo v3"
    if any(name.startswith("decoder_") for name in weights):
        return "MAE"
    class_position, positions = weights["pos_embed"][0, 0], weights["pos_embed"][0, -side * side :]
    if class_position.any():
        return None
    first_half = positions[:, : positions.shape[1] // 2].reshape(side, side, -1)
    return "MoCo v3" if first_half[0].eq(first_half[0, 0]).all() else "MAE"


def _heads(dim: int, recipe: str | None, source: str) -> int:
    if recipe == "MoCo v3" and dim == 384:
        return 12  # MoCo v3's ViT-S differs from everyone else's
    if dim % 64:
        raise BackboneError(
            f"{source}: the number of heads is taken as dim / 64, but its embedding has {dim} dimensions; "
            "convert it to Hugging Face layout, where the config says"
        )
    return dim // 64
