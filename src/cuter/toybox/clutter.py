"""Shapes that are nothing in particular: they wear the same colours and patterns as things, and carry no label."""

from functools import cache

import numpy as np
from numpy.random import Generator

from cuter.toybox.paint import Sprite, any_surface, paint
from cuter.toybox.sketch import MAIN, SECOND, Points, Sketch, arc, curve

PIECES = 400
LARGEST = 46  # pixels


@cache
def clutter(number: int) -> Sprite:
    """Return a piece of clutter, of which there are `PIECES`: they return from scene to scene, to save time."""
    rng = np.random.default_rng([PIECES, number])
    sketch = Sketch()
    _draw(sketch, rng)
    return paint(sketch, rng, 8 + (LARGEST - 8) * rng.random() ** 2, rng.uniform(0, 360), surface=any_surface(rng))


def _draw(sketch: Sketch, rng: Generator) -> None:
    """Draw a blob, a splinter, a squiggle, a plank, a cross, a half-moon or a few crumbs."""
    u = rng.uniform
    kind = int(rng.integers(7))
    if kind == 0:
        sketch.smooth(_around(rng, int(rng.integers(5, 9))), MAIN)
    elif kind == 1:
        sketch.polygon(_around(rng, int(rng.integers(3, 6))), MAIN)
    elif kind == 2:
        x = np.linspace(-1, 1, int(rng.integers(4, 8)))
        sketch.line(curve(x + 1j * u(-0.5, 0.5, len(x))), u(0.08, 0.25), MAIN)
    elif kind == 3:
        half = u(0.1, 0.5)
        sketch.box(-1, -half, 1, half, MAIN, u(0, 0.2))
        if rng.random() < 0.5:
            sketch.box(u(-0.8, 0), -half, u(0.1, 0.8), half, SECOND)
    elif kind == 4:
        width = u(0.15, 0.4)
        sketch.line([(-1, 0), (1, 0)], width, MAIN)
        sketch.line([(u(-0.3, 0.3), -u(0.4, 1)), (u(-0.3, 0.3), u(0.4, 1))], width, SECOND)
    elif kind == 5:
        sketch.polygon(np.concatenate([arc(0, 0, 1, 1, 0, 180), arc(0, 0, 0.9, u(-0.5, 0.6), 180, 0)]), MAIN)
    else:
        for _ in range(int(rng.integers(3, 7))):
            sketch.polygon(complex(u(-1, 1), u(-1, 1)) + u(0.1, 0.25) * _around(rng, 5), MAIN)


def _around(rng: Generator, corners: int) -> Points:
    """Return corners at uneven distances around the middle."""
    angles = 2 * np.pi * (np.arange(corners) + rng.uniform(-0.3, 0.3, corners)) / corners
    around: Points = rng.uniform(0.4, 1.0, corners) * np.exp(1j * angles)
    return around
