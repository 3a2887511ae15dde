"""Colours and patterns of things, drawn the same way for all classes: neither gives a class away."""

from typing import TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from cuter.toybox.pools import LEVELS
from cuter.toybox.sketch import MAIN, SECOND, Material

Colour: TypeAlias = tuple[float, float, float]  # red, green, blue from 0 to 1

WHITE: Colour = (1.0, 1.0, 1.0)
BLACK: Colour = (0.0, 0.0, 0.0)

PALETTE = [
    *("e4572e", "f08a4b", "f3a712", "f6d55c", "8a9a5b", "4c956c", "2a9d8f", "a8dcc4", "6ec5e9", "3d7ea6"),
    *("2f4b8f", "7b5ea7", "b8a1d9", "e88fb4", "c9405b", "8d5b3f", "d9b48f", "9aa0a6", "4f545e", "f4f1ea"),
]

TONES = 4  # lit, in the shade, shining; four, so that a tone is two bits of its own
STEPS = np.linspace(0, 1, LEVELS)[:, None, None]
SHADE = 255 * np.array([[1, 1, 1], [0.72, 0.72, 0.8], [0.55, 0.55, 0.55], [1, 1, 1]])  # shade is a little blue
SHINE = 255 * np.array([0, 0, 0.45, 0])[:, None]


def _variants() -> list[Colour]:
    """Return many colours around each of the palette: drawing one of them is quick."""
    base = np.array([[int(code[at : at + 2], 16) for at in (0, 2, 4)] for code in PALETTE]) / 255
    rng = np.random.default_rng(0)
    light, drift = rng.uniform(0.86, 1.1, (32, 1, 1)), rng.uniform(-0.05, 0.05, (32, 1, 3))
    return [(r, g, b) for r, g, b in np.clip(base * light + drift, 0, 1).reshape(-1, 3).tolist()]


COLOURS = _variants()


def draw_colour(rng: Generator) -> Colour:
    """Draw a colour of the palette, a little off."""
    return COLOURS[int(rng.random() * len(COLOURS))]


def mix(one: Colour, other: Colour, share: float) -> Colour:
    """Return a colour between two."""
    (r1, g1, b1), (r2, g2, b2) = one, other
    return r1 + share * (r2 - r1), g1 + share * (g2 - g1), b1 + share * (b2 - b1)


def _unlike(rng: Generator, *others: Colour) -> Colour:
    """Draw a colour that is told apart from the others."""
    for _ in range(5):
        colour = draw_colour(rng)
        red, green, blue = colour
        if all(abs(red - r) + abs(green - g) + abs(blue - b) > 0.6 for r, g, b in others):
            break
    return colour


def colour_table(rng: Generator, kind: str, sticker: bool) -> NDArray[np.uint8]:
    """Return the colour of each index: material, level of the pattern, tone."""
    main = draw_colour(rng)
    second = _unlike(rng, main)
    third = _unlike(rng, main, second)
    tint = draw_colour(rng)
    line = WHITE if sticker else mix(BLACK, main if tint[0] < 0.5 else tint, 0.25)
    base = [BLACK, main, second, third, mix(BLACK, tint, 0.22), mix(WHITE, tint, 0.12), mix(BLACK, main, 0.72), line]
    other = base.copy()
    if kind != "plain":
        strong, related, both = rng.random(3).tolist()
        toward = BLACK if sum(main) > 1.5 else WHITE
        mate = mix(main, toward, 0.6) if related < 0.4 else _unlike(rng, main)
        contrast = 1.0 if kind == "gradient" else 0.8 + 0.2 * strong
        other[MAIN] = mix(main, mate, contrast)
        if both < 0.7:
            other[SECOND] = mix(second, BLACK if sum(second) > 1.5 else WHITE, 0.5 * contrast)
    first, last = np.array(base)[:, None, None], np.array(other)[:, None, None]
    table = np.full((len(Material), LEVELS, TONES, 4), 255, dtype=np.uint8)
    table[..., :3] = (first + STEPS * (last - first)) * SHADE + SHINE
    table[0] = 0
    return table
