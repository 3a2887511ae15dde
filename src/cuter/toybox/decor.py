"""What makes a place: clouds and far hills, a picture on the wall, lines on a road, waves."""

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator
from PIL import Image

from cuter.toybox.colour import BLACK, WHITE, Colour, draw_colour, mix
from cuter.toybox.paint import FINE
from cuter.toybox.sketch import MAIN, Sketch, arc, closed_curve, curve, fill


def decorate(image: Image.Image, rng: Generator, place: str, horizon: int | None, colours: Sequence[Colour]) -> None:
    """Draw on an empty scene, in shares of its side; `colours` are two of what is above the horizon, two of below."""
    ground = 1.0 if horizon is None else horizon / image.height
    sketch = Sketch()
    if place in ("meadow", "road", "water"):
        if rng.random() < 0.5:
            _hills(sketch, rng, ground, houses=place == "road")
            _fill(image, sketch, mix(colours[0], colours[2], 0.35 + 0.4 * rng.random()), above=ground)
        _clouds(sketch, rng, ground)
        _fill(image, sketch, mix(WHITE, colours[0], 0.2), strength=150 + int(100 * rng.random()))
    elif place in ("table", "room"):
        _board(image, rng, ground, colours)
        if rng.random() < 0.6:
            _picture(image, rng, ground, colours)
    elif rng.random() < 0.6:
        for _ in range(int(rng.integers(1, 4))):
            middle, size = complex(*rng.random(2)), rng.uniform(0.15, 0.45)
            corners = np.exp(2j * np.pi * np.arange(7) / 7) * rng.uniform(0.6, 1.2, 7)
            sketch.polygon(closed_curve(middle + size * corners), MAIN)
        _fill(image, sketch, mix(colours[1], draw_colour(rng), 0.3), strength=160)
    if place == "water":
        _waves(sketch, rng, ground)
        _fill(image, sketch, mix(colours[3], WHITE, 0.45), strength=170)
    elif place == "road":
        y = ground + rng.uniform(0.35, 0.6) * (1 - ground)
        for x in np.arange(rng.uniform(-0.3, 0), 1, 0.32).tolist():
            sketch.polygon([(x, y), (x + 0.18, y), (x + 0.16, y + 0.035), (x - 0.02, y + 0.035)], MAIN)
        _fill(image, sketch, mix(colours[3], WHITE, 0.6))


def _fill(image: Image.Image, sketch: Sketch, colour: Colour, strength: int = 255, above: float = 1.0) -> None:
    """Paint all that is on the sketch in one colour, and clear the sketch."""
    if not sketch.outlines:
        return
    z, lengths = np.concatenate(sketch.outlines), sketch.lengths
    sketch.outlines.clear()
    sketch.materials.clear()
    # only as large as it must be
    x, y = (int(max(start, 0.0) * image.width) for start in (z.real.min(), z.imag.min()))
    width = int(min(z.real.max(), 1.0) * image.width) + 1 - x
    height = int(min(z.imag.max(), above) * image.height) + 1 - y
    if width > 0 and height > 0:
        z = FINE * (z * image.width - complex(x, y))
        canvas = fill(z, lengths, [strength] * len(lengths), FINE * width, FINE * height)
        red, green, blue = (int(255 * channel) for channel in colour)
        image.paste((red, green, blue), (x, y), canvas.reduce(FINE))


def _clouds(sketch: Sketch, rng: Generator, ground: float) -> None:
    for _ in range(int(rng.integers(0, 4))):
        x, y, size = rng.random(), rng.uniform(0.02, 0.7) * ground, rng.uniform(0.05, 0.11)
        for number in range(4):
            sketch.ellipse(x + size * (number - 1.5), y - size * rng.uniform(0, 0.5), size, 0.7 * size, MAIN)
        sketch.box(x - 2.3 * size, y, x + 2.3 * size, y + 0.62 * size, MAIN, 0.31 * size)


def _hills(sketch: Sketch, rng: Generator, ground: float, houses: bool) -> None:
    """Draw what is far away; beside a road it may be a row of flat roofs."""
    if houses and rng.random() < 0.6:
        left = -0.05
        while left < 1:
            wide = rng.uniform(0.08, 0.2)
            sketch.box(left, ground - rng.uniform(0.06, 0.28), left + wide, ground + 0.05, MAIN)
            left += wide
        return
    across = np.linspace(-0.1, 1.1, int(rng.integers(5, 9))).tolist()
    tops = curve([(x, ground - rng.uniform(0.02, 0.24)) for x in across])
    sketch.polygon(np.concatenate([tops, [1.1 + 1j * (ground + 0.05), -0.1 + 1j * (ground + 0.05)]]), MAIN)


def _board(image: Image.Image, rng: Generator, ground: float, colours: Sequence[Colour]) -> None:
    """Draw a board where the wall meets the floor, or the shade of the far edge of a table."""
    sketch = Sketch()
    high = rng.uniform(0.01, 0.05)
    sketch.box(-0.1, ground - high, 1.1, ground + 0.012, MAIN)
    _fill(image, sketch, mix(colours[2], BLACK if rng.random() < 0.5 else WHITE, 0.35), strength=170)


def _picture(image: Image.Image, rng: Generator, ground: float, colours: Sequence[Colour]) -> None:
    """Hang a frame on the wall, or let a window into it."""
    sketch = Sketch()
    wide, high, rim = rng.uniform(0.16, 0.4), rng.uniform(0.5, 0.9) * ground, rng.uniform(0.012, 0.03)
    x, y = rng.uniform(-0.05, 1.05 - wide), rng.uniform(-0.1, 0.7) * (ground - high)
    sketch.box(x, y, x + wide, y + high, MAIN)
    _fill(image, sketch, mix(colours[0], draw_colour(rng), 0.5))
    sketch.box(x + rim, y + rim, x + wide - rim, y + high - rim, MAIN)
    _fill(image, sketch, mix(colours[1], WHITE, 0.5))
    if rng.random() < 0.5:
        sketch.polygon(arc(x + wide / 2, y + high - rim, 0.5 * wide - rim, 0.4 * high, 180, 360), MAIN)
        _fill(image, sketch, mix(colours[1], draw_colour(rng), 0.4))
    else:
        sketch.line([(x + wide / 2, y + rim), (x + wide / 2, y + high - rim)], rim, MAIN)
        sketch.line([(x + rim, y + high / 2), (x + wide - rim, y + high / 2)], rim, MAIN)
        _fill(image, sketch, mix(colours[0], draw_colour(rng), 0.5))


def _waves(sketch: Sketch, rng: Generator, ground: float) -> None:
    for _ in range(int(rng.integers(3, 9))):
        depth = rng.random()
        x, y, long = rng.random(), ground + 0.03 + depth * (0.95 - ground), 0.05 + 0.12 * depth
        crest = [(x - long, y), (x - long / 2, y - 0.015), (x, y), (x + long / 2, y - 0.015), (x + long, y)]
        sketch.line(curve(crest), 0.006 + 0.012 * depth, MAIN)
