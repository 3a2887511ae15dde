"""A small encoder with random weights, for tests and demonstrations."""

import torch
from torch import nn

from cuter.backbone.backbone import Backbone
from cuter.backbone.families import build, make_config
from cuter.backbone.preprocessing import Preprocessing

POSITIONS = 0.3  # standard deviation of position embeddings; those of patches have about 1


def untrained_vit(
    image_size: int = 32,
    patch_size: int = 8,
    *,
    dim: int = 64,
    depth: int = 2,
    heads: int = 2,
    conv_stem: bool = False,
    seed: int = 0,
    features: str | None = None,
) -> Backbone:
    """Make a vision transformer whose weights depend on the seed alone; the global random state stays as it was."""
    fields = {
        "model_type": "vit_conv_stem" if conv_stem else "vit",
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
        _initialise(encoder)
    return Backbone(encoder, Preprocessing(image_size), name="untrained-vit", features=features)


def _initialise(encoder: nn.Module) -> None:
    """Draw weights whose outputs are as large as their inputs, and positions that can be told apart.

    The usual standard deviation of 0.02 is made for widths of 768. In a narrow transformer it leaves next to nothing of
    what a block adds, and learning begins late (docs/how-to/pretrain.md).
    """
    for module in encoder.modules():
        if isinstance(module, nn.Linear | nn.Conv2d):
            fan_in = module.weight[0].numel()
            nn.init.trunc_normal_(module.weight, std=fan_in**-0.5)
    for name, parameter in encoder.named_parameters():
        if name.endswith("position_embeddings"):
            nn.init.trunc_normal_(parameter, std=POSITIONS)
