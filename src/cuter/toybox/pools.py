"""Textures that are made once and cut from at random: patterns for things, noise for backgrounds.

They depend on nothing but this file, so that a scene depends on its own number alone.
"""

from functools import cache
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Texture: TypeAlias = NDArray[np.uint8]
Scalar = TypeVar("Scalar", bound=np.generic)

LEVELS = 8  # steps from a colour to the second colour of its pattern
PATTERNS = ("stripes", "dots", "checks", "waves", "bricks", "scales", "grid", "zigzag")
PERIODS = (7, 10, 14, 20, 28)  # in pixels of the canvas on which things are painted
ANGLES = range(0, 180, 30)
SIDE = 320  # more than the canvas of the largest thing

NOISE_LEVELS = 128
NOISE_SIDE = 256


def crop(texture: NDArray[Scalar], height: int, width: int, at: tuple[float, float]) -> NDArray[Scalar]:
    """Cut a piece out of a texture; `at` are two numbers from 0 to 1 that say where."""
    top = int(at[0] * (texture.shape[0] - height))
    left = int(at[1] * (texture.shape[1] - width))
    return texture[top : top + height, left : left + width]


@cache
def pattern(kind: str, period: int, angle: int) -> Texture:
    """Return one of `PATTERNS` as levels from 0 to 7, with soft edges."""
    turn = np.radians(angle)
    y, x = np.mgrid[:SIDE, :SIDE].astype(np.float32) * np.float32(2 * np.pi / period)
    along, across = np.cos(turn) * x + np.sin(turn) * y, np.cos(turn) * y - np.sin(turn) * x
    if kind == "stripes":
        wave = np.sin(along)
    elif kind == "dots":
        wave = np.sin(along / 1.4) * np.sin(across / 1.4) - 0.35
    elif kind == "checks":
        wave = np.sin(along / 1.4) * np.sin(across / 1.4)
    elif kind == "waves":
        wave = np.sin(along + 1.2 * np.sin(across / 1.5))
    elif kind == "zigzag":
        wave = np.sin(along + 2.2 * np.arcsin(np.sin(across / 2)))
    elif kind == "grid":
        wave = np.maximum(np.sin(along), np.sin(across)) - 0.75
    elif kind == "bricks":  # every other row is moved by half a brick
        odd = np.floor(across / np.pi) % 2
        wave = np.maximum(np.cos(2 * across), np.cos(along + np.pi * odd)) - 0.7
    elif kind == "scales":  # rows of half circles, each lying over the one before
        row = np.floor(across / np.pi)
        u, v = (along / np.pi + row) % 2 - 1, across / np.pi - row
        wave = 0.8 - np.abs(np.hypot(u, v) - 0.9) * 4
    else:
        raise ValueError(f"unknown pattern {kind!r}")
    share: NDArray[np.float32] = np.clip(0.5 + period / 2.5 * wave, 0, 1)  # sharper, where it is wide
    return (share * (LEVELS - 1)).round().astype(np.uint8)


@cache
def noise(kind: str, number: int) -> Texture:
    """Return noise as levels from 0 to 127: clouds, grain, wood or cloth. It has no seam."""
    rng = np.random.default_rng([sum(kind.encode()), number])
    white = np.fft.rfft2(rng.standard_normal((NOISE_SIDE, NOISE_SIDE)))
    fy = np.fft.fftfreq(NOISE_SIDE)[:, None] * NOISE_SIDE
    fx = np.fft.rfftfreq(NOISE_SIDE)[None] * NOISE_SIDE
    shapes = {
        "clouds": (fx**2 + fy**2 + 4) ** -0.95,
        "grain": (fx**2 + fy**2 + 60) ** -0.45,
        "wood": ((fx * 5) ** 2 + fy**2 + 30) ** -0.7,
        "cloth": np.exp(-((np.minimum(fx, np.abs(fy)) / 8) ** 2)) * (fx**2 + fy**2 + 100) ** -0.25,
    }
    field = np.fft.irfft2(white * shapes[kind], s=(NOISE_SIDE, NOISE_SIDE))
    field /= field.std()
    return (np.clip(0.5 + field / 5, 0, 1) * (NOISE_LEVELS - 1)).astype(np.uint8)


@cache
def speckle(strength: int) -> NDArray[np.int16]:
    """Return the noise of a camera of so many grey levels."""
    return np.random.default_rng(strength).normal(0, strength, (192, 192, 3)).round().astype(np.int16)
