"""Pixels as the bytes of a compressed image file and back, so that the same budget holds more images."""

import io
from typing import Any

import numpy as np
import torch
from PIL import Image, features
from torch import Tensor

from cuter.errors import ConfigError
from cuter.registry import did_you_mean
from cuter.stream.images import read_image

# Replay must look like the stream: at 90 photographs come back with a mean error of two grey levels, from an eighth
# (JPEG) or an eleventh (WebP) of the bytes; benchmarks/memory.py measures it.
QUALITY = 90

# JPEG keeps colour at full resolution, since things in small crops are a few pixels wide. Its `optimize` would save a
# few percent, but Pillow then fails on noisy images. WebP's method 2 takes half the time of its default for 1 % more.
ENCODERS: dict[str, dict[str, Any]] = {
    "jpeg": {"format": "JPEG", "quality": QUALITY, "subsampling": 0},
    "webp": {"format": "WEBP", "quality": QUALITY, "method": 2},
}
FEATURES = {"jpeg": "jpg", "webp": "webp"}  # what Pillow calls them
CODECS = ("raw", *ENCODERS)


def require_codec(codec: str) -> None:
    """Raise `ConfigError` unless the codec exists and this Pillow has it."""
    if codec not in CODECS:
        raise ConfigError(f"unknown codec {codec!r}.{did_you_mean(codec, list(CODECS))}")
    if codec in FEATURES and not features.check(FEATURES[codec]):
        raise ConfigError(f"this build of Pillow has no {codec}: install one that has it, or take the codec 'raw'")


def encode(image: Tensor, codec: str) -> Tensor:
    """Return an image (3, h, w) as the bytes of a file (n,); the image itself if it is raw or would not shrink."""
    if codec == "raw":
        return image
    file = io.BytesIO()
    Image.fromarray(image.permute(1, 2, 0).numpy()).save(file, **ENCODERS[codec])
    encoded = torch.frombuffer(bytearray(file.getvalue()), dtype=torch.uint8)
    return encoded if encoded.numel() < image.numel() else image  # the headers of a tiny crop outweigh its pixels


def decode(stored: Tensor) -> Tensor:
    """Return what `encode` returned as pixels (3, h, w)."""
    if stored.ndim == 3:
        return stored
    pixels = np.array(read_image(stored.numpy().tobytes()))
    return torch.from_numpy(pixels).permute(2, 0, 1).contiguous()
