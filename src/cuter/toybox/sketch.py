"""Shapes before they have pixels: a drawing is a list of filled outlines, each of one material.

Points are complex numbers, x + iy, with y growing downwards as in images; a drawing is about two units wide. Only when
its size and pose are known is it turned into pixels (`paint.py`), so that a small thing is drawn, not shrunk.
"""

from collections.abc import Sequence
from enum import IntEnum
from functools import cache
from math import radians
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

Points: TypeAlias = NDArray[np.complex128]
Corners: TypeAlias = Sequence[tuple[float, float]] | Points


class Material(IntEnum):
    """What a shape is made of. Which colour that is, is drawn anew for each thing, the same way for all classes."""

    NOTHING = 0  # cuts a hole into what was drawn before
    MAIN = 1
    SECOND = 2
    THIRD = 3
    INK = 4  # small dark details: eyes, clock hands
    PALE = 5  # small light details
    DEEP = 6  # the main colour in the shade: an inside, a far leg
    OUTLINE = 7  # drawn by `paint.py` alone


NOTHING, MAIN, SECOND, THIRD, INK, PALE, DEEP, OUTLINE = Material

CIRCLE = np.exp(2j * np.pi * np.arange(28) / 28)
RIGHT, BOTTOM = CIRCLE.real > 0, CIRCLE.imag > 0
CAP = np.exp(1j * np.pi * (np.arange(7) / 6 - 0.5))  # half a circle: the round end of a line
STEPS = 6  # points between two corners of a smooth curve
_t = np.arange(STEPS)[:, None] / STEPS
# Catmull-Rom: a curve that goes through its corners, from the four corners around each piece
SPLINE = 0.5 * np.hstack(
    [-_t + 2 * _t**2 - _t**3, 2 - 5 * _t**2 + 3 * _t**3, _t + 4 * _t**2 - 3 * _t**3, _t**3 - _t**2]
)


def points(corners: Corners) -> Points:
    """Return (x, y) pairs as complex numbers."""
    if isinstance(corners, np.ndarray):
        return corners
    return np.array(corners, dtype=np.float64).view(np.complex128)[:, 0]


def curve(corners: Corners) -> Points:
    """Return a smooth open curve through the corners."""
    z = points(corners)
    pieces = (SPLINE @ z[_neighbours(len(z), closed=False)]).T.ravel()
    return np.append(pieces, z[-1])


def closed_curve(corners: Corners) -> Points:
    """Return a smooth closed curve through the corners."""
    z = points(corners)
    return (SPLINE @ z[_neighbours(len(z), closed=True)]).T.ravel()


@cache
def _neighbours(count: int, closed: bool) -> NDArray[np.intp]:
    """Return the four corners that decide each piece of a curve."""
    around = np.arange(count if closed else count - 1) + np.arange(-1, 3)[:, None]
    return around % count if closed else around.clip(0, count - 1)


@cache
def ramp(count: int) -> NDArray[np.float64]:
    """Return so many numbers from 0 to 1; not to be changed."""
    return np.linspace(0, 1, count)


def arc(x: float, y: float, rx: float, ry: float, start: float, stop: float, steps: int = 14) -> Points:
    """Return points of an ellipse between two angles in degrees: 0 is right, 90 is down, 180 left, 270 up."""
    circle: Points = np.exp(1j * (radians(start) + radians(stop - start) * ramp(steps)))
    return np.asarray(rx * circle.real + 1j * (ry * circle.imag) + complex(x, y), dtype=np.complex128)


def mirrored(corners: Corners) -> Points:
    """Return a closed outline from its right half, given from top to bottom: bottles, lamps, everything turned."""
    z = points(corners)
    return np.concatenate([z, -z[::-1].conj()])


def fill(z: Points, lengths: Sequence[int], values: Sequence[int], width: int, height: int) -> Image.Image:
    """Return an image of grey values with outlines filled one over the other; `z` holds them in a row, in pixels."""
    canvas = Image.new("L", (width, height))
    drawing = ImageDraw.Draw(canvas)
    flat = z.view(np.float64).tolist()
    start = 0
    for length, value in zip(lengths, values, strict=True):
        drawing.polygon(flat[start : start + 2 * length], fill=value)
        start += 2 * length
    return canvas


class Sketch:
    """A drawing under way; what is drawn later lies over what was drawn before."""

    def __init__(self) -> None:
        self.outlines: list[Points] = []
        self.materials: list[int] = []

    @property
    def lengths(self) -> list[int]:
        """The number of points of each outline."""
        return [len(outline) for outline in self.outlines]

    def polygon(self, corners: Corners, material: Material) -> None:
        """Fill the outline through these corners."""
        self.outlines.append(points(corners))
        self.materials.append(int(material))

    def smooth(self, corners: Corners, material: Material) -> None:
        """Fill a smooth outline through these corners."""
        self.polygon(closed_curve(corners), material)

    def ellipse(self, x: float, y: float, rx: float, ry: float, material: Material, turn: float = 0.0) -> None:
        """Fill an ellipse, turned by so many degrees."""
        outline = rx * CIRCLE.real + 1j * ry * CIRCLE.imag
        if turn:
            outline = outline * np.exp(1j * np.radians(turn))
        self.polygon(outline + complex(x, y), material)

    def dot(self, x: float, y: float, radius: float, material: Material) -> None:
        """Fill a circle."""
        self.polygon(radius * CIRCLE + complex(x, y), material)

    def box(self, x1: float, y1: float, x2: float, y2: float, material: Material, rounding: float = 0.0) -> None:
        """Fill a rectangle, with round corners of this radius."""
        r = min(rounding, abs(x2 - x1) / 2, abs(y2 - y1) / 2)
        if r <= 0:
            self.polygon([(x1, y1), (x2, y1), (x2, y2), (x1, y2)], material)
            return
        middles = np.where(RIGHT, x2 - r, x1 + r) + 1j * np.where(BOTTOM, y2 - r, y1 + r)
        self.polygon(middles + r * CIRCLE, material)

    def line(self, corners: Corners, width: float, material: Material, end_width: float | None = None) -> None:
        """Draw a stroke with round ends along these points, which may get thinner on its way."""
        z = points(corners)
        start, stop = width / 2, (width if end_width is None else end_width) / 2
        first, second, last, before = z[0], z[1], z[-1], z[-2]
        away, on = (second - first) / abs(second - first), (last - before) / abs(last - before)
        ends = last + stop * on * CAP, first - start * away * CAP
        if len(z) == 2:  # most are: the sides are drawn by the ends
            self.polygon(np.concatenate(ends), material)
            return
        inner = z[1:-1]
        side = z[2:] - z[:-2]
        side *= 1j * (start + (stop - start) * ramp(len(z))[1:-1]) / np.abs(side)
        self.polygon(np.concatenate([inner - side, ends[0], (inner + side)[::-1], ends[1]]), material)
