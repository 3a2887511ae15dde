"""ResNets under their original names: torchvision, DINO, MoCo."""

import re
from collections.abc import Mapping
from typing import Any

from torch import Tensor

LANDMARK = "layer1.0.conv1.weight"


def original(name: str) -> tuple[str, None]:
    """Return a transformers weight's original name (never a part of one, as in transformers' q, k and v)."""
    name = re.sub(r"^embedder\.embedder\.convolution", "conv1", name)
    name = re.sub(r"^embedder\.embedder\.normalization", "bn1", name)
    name = re.sub(r"^encoder\.stages\.(\d+)\.layers\.", lambda stage: f"layer{int(stage[1]) + 1}.", name)
    name = name.replace(".shortcut.convolution", ".downsample.0").replace(".shortcut.normalization", ".downsample.1")
    name = re.sub(r"\.layer\.(\d)\.convolution", lambda layer: f".conv{int(layer[1]) + 1}", name)
    name = re.sub(r"\.layer\.(\d)\.normalization", lambda layer: f".bn{int(layer[1]) + 1}", name)
    return name, None


def infer_config(weights: Mapping[str, Tensor]) -> dict[str, Any]:
    """Read the architecture off the names and shapes, as fields of a transformers config."""
    layer_type, last = ("bottleneck", "conv3") if "layer1.0.conv3.weight" in weights else ("basic", "conv2")
    blocks = [re.match(r"layer(\d+)\.(\d+)\." + last + r"\.weight$", name) for name in weights]
    depths: dict[int, int] = {}
    for stage, block in (map(int, found.groups()) for found in blocks if found):
        depths[stage] = max(depths.get(stage, 0), block + 1)
    return {
        "model_type": "resnet",
        "layer_type": layer_type,
        "embedding_size": weights["layer1.0.conv1.weight"].shape[1],
        "hidden_sizes": [weights[f"layer{stage}.0.{last}.weight"].shape[0] for stage in sorted(depths)],
        "depths": [depths[stage] for stage in sorted(depths)],
    }
