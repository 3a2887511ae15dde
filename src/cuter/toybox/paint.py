"""From a sketch to pixels: pose, surface, light and shade, outline.

Colours are drawn the same way for all classes; a class has a surface that is typical of it. On the canvas a pixel holds
the number of its material; to that are added, as bits, the level of the pattern and the tone. Only then is a table of
colours laid over it (`colour.py`), and the whole reduced to half its size: a sprite costs less than a millisecond.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from PIL import Image, ImageChops

from cuter.toybox.colour import TONES, colour_table
from cuter.toybox.pools import ANGLES, LEVELS, PATTERNS, PERIODS, crop, pattern
from cuter.toybox.sketch import MAIN, OUTLINE, Sketch, fill

FINE = 2  # pixels of the canvas for one of the sprite: edges get smooth when it is reduced
STEEP = 16 * LEVELS - 1  # a slope over all levels, in sixteenths
FINISHES = ("plain", "gradient", *PATTERNS)


@dataclass(frozen=True, eq=False)
class Sprite:
    """A thing in pixels: an image with an alpha channel, and which of its pixels are solid."""

    image: Image.Image
    mask: NDArray[np.bool_]


@dataclass(frozen=True)
class Surface:
    """What covers a thing: a finish, how far it repeats itself, in pixels of the canvas, and its direction."""

    finish: str
    period: int = 10
    angle: int = 0


PLAIN = Surface("plain")


def any_surface(rng: Generator) -> Surface:
    """Draw a surface."""
    finish, period, angle = rng.random(3).tolist()
    return Surface(
        FINISHES[int(finish * len(FINISHES))],
        PERIODS[int(period * len(PERIODS))],
        ANGLES[int(angle * len(ANGLES))],
    )


def paint(
    sketch: Sketch,
    rng: Generator,
    size: float,
    turn: float = 0.0,
    light: float = 225.0,
    surface: Surface = PLAIN,
) -> Sprite:
    """Turn a sketch into a sprite whose longer side has `size` pixels.

    `turn` is in degrees; `light` is where the light comes from, in degrees as in `arc`: 225 is from the upper left.
    """
    canvas = _pose(sketch, rng, size, turn)
    kind = surface.finish
    lines, bold, graded = rng.random(3).tolist()
    index = _shade(canvas, rng, size, light)
    if kind != "plain":
        index |= _levels(rng, surface, canvas.shape) * np.uint8(TONES)
    solid = canvas != 0
    if lines < 0.55:
        width = max(1, round(FINE * size * (0.012 + 0.014 * bold)))
        solid = _outline(canvas, index, width, inside=lines < 0.3)
    table = colour_table(rng, kind, sticker=lines < 0.08)
    flat = Image.frombuffer("P", (index.shape[1], index.shape[0]), index, "raw", "P", 0, 1)
    flat.putpalette(table.tobytes(), "RGBA")
    image = flat.convert("RGBA").reduce(FINE)
    if graded < 0.4:
        image = _graded(image, rng)
    covered = solid[::FINE].view(np.uint8) + solid[1::FINE]
    return Sprite(image, covered[:, ::FINE] + covered[:, 1::FINE] >= 2)


def _pose(sketch: Sketch, rng: Generator, size: float, turn: float) -> NDArray[np.uint8]:
    """Return the canvas with the sketch mirrored or not, a little stretched and skewed, turned, and of its size."""
    z = np.concatenate(sketch.outlines)
    flip, wide, skew = rng.random(3).tolist()
    stretch = 0.86 + 0.28 * wide
    x = z.real * (stretch if flip < 0.5 else -stretch) + (0.16 * skew - 0.08) * z.imag
    z = (x + 1j * z.imag) * np.exp(1j * math.radians(turn))
    left, top = z.real.min(), z.imag.min()
    extent = max(z.real.max() - left, z.imag.max() - top)
    scale = FINE * size / extent
    margin = FINE * (2 + size // 24)  # room for an outline
    z = (z - complex(left, top)) * scale + complex(margin, margin)
    width, height = (FINE * math.ceil((side.max() + margin) / FINE) for side in (z.real, z.imag))
    return np.array(fill(z, sketch.lengths, sketch.materials, width, height))


def _shade(canvas: NDArray[np.uint8], rng: Generator, size: float, light: float) -> NDArray[np.uint8]:
    """Return the index of each pixel's colour, with a crescent of shade away from the light."""
    depth, shine = rng.random(2).tolist()
    index = canvas * np.uint8(LEVELS * TONES)
    toward = np.exp(1j * math.radians(light))
    if depth < 0.75:
        offset = toward * FINE * size * (0.04 + 0.1 * depth)
        index |= ((_shifted(canvas, offset) == 0) & (canvas != 0)).view(np.uint8)
    if shine < 0.4:
        offset = -toward * FINE * size * 0.045
        inner = _shifted(canvas, 0.5 * offset) == 0
        rim = (_shifted(canvas, offset + 0.5) == 0) & ~inner & (canvas == MAIN)
        index |= rim.view(np.uint8) * np.uint8(2) * (index & 1 == 0)
    return index


def _shifted(canvas: NDArray[np.uint8], offset: complex) -> NDArray[np.uint8]:
    """Return the canvas moved by whole pixels; what comes in from outside is empty."""
    dx, dy = round(offset.real), round(offset.imag)
    height, width = canvas.shape
    moved = np.zeros_like(canvas)
    moved[max(dy, 0) : height + min(dy, 0), max(dx, 0) : width + min(dx, 0)] = canvas[
        max(-dy, 0) : height - max(dy, 0), max(-dx, 0) : width - max(dx, 0)
    ]
    return moved


def _levels(rng: Generator, surface: Surface, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Return the pattern as levels from 0 to 7."""
    first, second, third = rng.random(3).tolist()
    if surface.finish == "gradient":  # a slope in small numbers: quicker than one in fractions
        x = np.linspace(0, STEEP * first, shape[1]).astype(np.uint8)
        y = np.linspace(0, STEEP * (1 - first), shape[0]).astype(np.uint8)
        slope: NDArray[np.uint8] = np.add.outer(y if second < 0.5 else y[::-1], x if third < 0.5 else x[::-1])
        return slope // np.uint8(16)
    texture = pattern(surface.finish, surface.period, surface.angle)
    return crop(texture, shape[0], shape[1], (second, third))


def _outline(canvas: NDArray[np.uint8], index: NDArray[np.uint8], width: int, inside: bool) -> NDArray[np.bool_]:
    """Draw a line around the silhouette and, with `inside`, also where two materials meet; return what is solid now."""
    solid = canvas != 0
    grown: NDArray[np.bool_] = solid.copy()
    for step in range(width):
        wider = grown.copy()
        wider[1:] |= grown[:-1]
        wider[:-1] |= grown[1:]
        wider[:, 1:] |= grown[:, :-1]
        wider[:, :-1] |= grown[:, 1:]
        if step % 2:
            wider[1:, 1:] |= grown[:-1, :-1]
            wider[:-1, :-1] |= grown[1:, 1:]
            wider[1:, :-1] |= grown[:-1, 1:]
            wider[:-1, 1:] |= grown[1:, :-1]
        grown = wider
    line = grown & ~solid
    if inside:
        inner = np.zeros_like(solid)
        inner[1:] |= canvas[1:] != canvas[:-1]
        inner[:, 1:] |= canvas[:, 1:] != canvas[:, :-1]
        inner[:-1] |= inner[1:]
        inner[:, :-1] |= inner[:, 1:]
        line |= inner & solid
    index[line] = OUTLINE * LEVELS * TONES
    return grown


def _graded(image: Image.Image, rng: Generator) -> Image.Image:
    """Darken a sprite softly towards some of its corners."""
    corners = np.full((2, 2, 4), 255, dtype=np.uint8)
    corners[..., :3] = (255 * (0.68 + 0.32 * rng.random((2, 2, 1)))).astype(np.uint8)
    shade = Image.fromarray(corners).resize(image.size, Image.Resampling.BILINEAR)
    return ImageChops.multiply(image, shade)
