"""A vision transformer that sees patches through small convolutions.

One large step from pixels to a patch, as in the original, has to learn from data that near pixels belong together. Some
small steps know it: such a transformer learns earlier and from fewer images (Xiao et al. 2021, "Early convolutions help
transformers see better"), which is what a small training on a CPU needs (docs/how-to/pretrain.md).
"""

import math
from typing import Any

from torch import Tensor, nn
from transformers import ViTConfig, ViTModel

from cuter.errors import BackboneError


class ConvStem(nn.Sequential):
    """Steps of stride 2 down to one position for each patch, each twice as wide as the one before."""

    def __init__(self, channels: int, dim: int, patch_size: int):
        halvings = int(math.log2(patch_size))
        widths = [max(8, dim // 2 ** (halvings - step)) for step in range(1, halvings + 1)]
        layers: list[nn.Module] = []
        for before, width in zip([channels, *widths[:-1]], widths, strict=True):
            layers += [nn.Conv2d(before, width, 3, stride=2, padding=1), nn.GroupNorm(1, width), nn.ReLU()]
        super().__init__(*layers, nn.Conv2d(widths[-1], dim, 1))

    @property
    def weight(self) -> Tensor:
        """What transformers asks for the precision of its first layer."""
        first = self[0].weight
        assert isinstance(first, Tensor)
        return first


class ConvStemViTConfig(ViTConfig):  # type: ignore[misc]
    """That of a ViT, under a name of its own."""

    model_type = "vit_conv_stem"


class ConvStemViTModel(ViTModel):  # type: ignore[misc]
    """A ViT with another way from pixels to patches; all else is as it was."""

    config_class = ConvStemViTConfig

    def __init__(self, config: ConvStemViTConfig, **options: Any):
        super().__init__(config, **options)
        size = config.patch_size
        if not isinstance(size, int) or size < 2 or size & (size - 1):
            raise BackboneError(f"patch_size must be a power of 2 for a stem of convolutions, not {size}")
        stem = ConvStem(config.num_channels, config.hidden_size, size)
        self.embeddings.patch_embeddings.projection = stem
