"""Where a scene takes place: a wall and a floor, a table, a meadow, a road, water, a cloth, or nothing but haze."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from PIL import Image

from cuter.toybox.colour import WHITE, Colour, draw_colour, mix
from cuter.toybox.decor import decorate
from cuter.toybox.pools import ANGLES, LEVELS, NOISE_LEVELS, crop, noise, pattern
from cuter.toybox.sketch import ramp

HALF = NOISE_LEVELS // 2
SHADES = np.linspace(0, 1, NOISE_LEVELS)[:, None]


@dataclass(frozen=True)
class Place:
    """What a place is made of: a surface above its horizon and one below, if it has one; colours by `HINTS`."""

    above: str
    above_colour: str
    below: str | None = None
    below_colour: str = ""
    horizon: tuple[float, float] = (0.4, 0.75)  # between these shares of the height


PLACES = {
    "table": Place("wall", "any", "wood", "wood", (0.3, 0.65)),
    "room": Place("wall", "any", "wood", "wood"),
    "meadow": Place("sky", "sky", "earth", "grass"),
    "road": Place("sky", "sky", "earth", "stone"),
    "water": Place("sky", "sky", "water", "water"),
    "cloth": Place("cloth", "any"),
    "haze": Place("sky", "any"),
}

# What is likely behind the things of a theme; one scene in four takes any place.
LIKELY = {
    "kitchen": ("table", "table", "room"),
    "study": ("table", "room", "room"),
    "hall": ("room", "room", "cloth"),
    "garden": ("meadow", "meadow", "haze"),
    "street": ("road", "road", "meadow"),
    "sea": ("water", "water", "haze"),
}

HINTS: dict[str, tuple[Colour, Colour]] = {
    "sky": ((0.45, 0.7, 0.95), (0.98, 0.94, 0.86)),
    "water": ((0.1, 0.4, 0.6), (0.4, 0.78, 0.82)),
    "grass": ((0.34, 0.5, 0.22), (0.74, 0.78, 0.38)),
    "stone": ((0.42, 0.42, 0.46), (0.74, 0.7, 0.66)),
    "wood": ((0.48, 0.32, 0.2), (0.85, 0.66, 0.45)),
}

NOISES = {
    "wall": ("grain", "clouds"),
    "sky": ("clouds", "clouds"),
    "wood": ("wood", "grain"),
    "water": ("wood", "wood"),
    "earth": ("grain", "clouds"),
    "cloth": ("cloth", "grain"),
}


@dataclass(frozen=True)
class Backdrop:
    """An empty scene, and the row where its ground begins, if it has one."""

    image: Image.Image
    horizon: int | None


def draw_backdrop(rng: Generator, theme: str, size: int) -> Backdrop:
    """Draw an empty scene that suits the theme."""
    likely, which, height = rng.random(3).tolist()
    names = LIKELY[theme] if likely < 0.75 else tuple(PLACES)
    name = names[int(which * len(names))]
    place = PLACES[name]
    colours = [*_colours(rng, place.above_colour), *_colours(rng, place.below_colour)]
    index, horizon = _surface(rng, place.above, size), None
    if place.below is not None:
        low, high = place.horizon
        horizon = int(size * (low + (high - low) * height))
        below = np.arange(size)[:, None] >= _edge(rng, name, horizon, size)
        index = np.where(below, _surface(rng, place.below, size) + np.uint8(NOISE_LEVELS), index)
    flat = Image.frombuffer("P", (size, size), index, "raw", "P", 0, 1)
    flat.putpalette(np.concatenate([_ramp(*colours[:2]), _ramp(*colours[2:])]).tobytes())
    image = flat.convert("RGB")
    decorate(image, rng, name, horizon, colours)
    return Backdrop(image, horizon)


def _surface(rng: Generator, kind: str, size: int) -> NDArray[np.uint8]:
    """Return a surface as levels from 0 to 127: half of them from noise, half from a slope or a pattern."""
    which, x, y, slope = rng.random(4).tolist()
    texture = noise(NOISES[kind][which > 0.6], int(4 * x))
    if kind in ("water", "wood"):
        texture = texture.T  # ripples and planks lie flat
    piece = crop(texture, size, size, (y, slope)) // np.uint8(2)
    if kind == "cloth" or (kind == "wall" and which < 0.35):
        design = ("stripes", "checks", "dots", "waves")[int(4 * x)]
        period, angle = (14, 20, 28)[int(3 * y)], ANGLES[int(slope * len(ANGLES))]
        piece += crop(pattern(design, period, angle), size, size, (x, y)) * np.uint8(HALF // LEVELS)
    else:
        down = (ramp(size) * (HALF - 1)).astype(np.uint8)[:, None]
        piece += down if slope < 0.7 else down[::-1]
    return piece


def _colours(rng: Generator, kind: str) -> tuple[Colour, Colour]:
    """Draw two colours for a surface; softer than those of things, and mostly of a likely hue."""
    one, other = draw_colour(rng), draw_colour(rng)
    strength, free, near = rng.random(3).tolist()
    if kind in HINTS and free < 0.8:
        one, other = mix(HINTS[kind][0], one, 0.22), mix(HINTS[kind][1], other, 0.22)
    elif near < 0.7:
        other = mix(one, other, 0.3)
    grey = mix((0.55, 0.55, 0.55), WHITE, strength)
    return mix(one, grey, 0.22), mix(other, grey, 0.22)


def _ramp(one: Colour, other: Colour) -> NDArray[np.uint8]:
    start, stop = np.array(one), np.array(other)
    colours: NDArray[np.float64] = 255 * (start + SHADES * (stop - start))
    return colours.astype(np.uint8)


def _edge(rng: Generator, place: str, horizon: int, size: int) -> NDArray[np.float64]:
    """Return the height of the ground in each column."""
    tilt, phase, swell = rng.uniform(-1, 1, 3).tolist()
    x = np.arange(size) / size
    edge = np.full(size, float(horizon))
    if place == "meadow":
        edge += 7 * swell * np.sin(2 * np.pi * (x * (1 + tilt / 2) + phase)) + 3 * tilt * np.sin(9 * x + phase)
    elif place in ("table", "room"):
        edge += 5 * tilt * (x - 0.5)
    return edge
