"""A small encoder with random weights, for tests and demonstrations."""

import torch

from cuter.backbone.backbone import Backbone
from cuter.backbone.families import build, make_config
from cuter.backbone.preprocessing import Preprocessing


def untrained_vit(
    image_size: int = 32,
    patch_size: int = 8,
    *,
    dim: int = 64,
    depth: int = 2,
    heads: int = 2,
    seed: int = 0,
    features: str | None = None,
) -> Backbone:
    """Make a vision transformer whose weights depend on the seed alone; the global random state stays as it was."""
    fields = {
        "model_type": "vit",
        "image_size": image_size,
        "patch_size": patch_size,
        "hidden_size": dim,
        "intermediate_size": 4 * dim,
        "num_hidden_layers": depth,
        "num_attention_heads": heads,
        "layer_norm_eps": 1e-6,
    }
    config = make_config(fields, "untrained_vit")
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # torch.manual_seed would also seed the GPUs
        encoder = build(config)
    return Backbone(encoder, Preprocessing(image_size), name="untrained-vit", features=features)
