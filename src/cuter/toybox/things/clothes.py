"""To wear and to carry: hat, shoe, umbrella."""

from itertools import pairwise

import numpy as np
from numpy.random import Generator

from cuter.toybox.sketch import DEEP, MAIN, PALE, SECOND, THIRD, Points, Sketch, arc, curve


def hat(sketch: Sketch, rng: Generator) -> None:
    """Draw a hat: a top hat, a straw hat, a cap, or a woollen one."""
    u = rng.uniform
    kind = rng.integers(4)
    if kind == 0:
        wide, high, flare = u(0.45, 0.6), u(0.8, 1.2), u(-0.05, 0.15)
        sketch.ellipse(0, 0.4, u(0.85, 1.05), u(0.16, 0.24), MAIN)
        sketch.polygon(
            np.concatenate(
                [
                    arc(0, 0.38, wide, 0.12, 0, 180),
                    [-wide - flare - 1j * (high - 0.38), wide + flare - 1j * (high - 0.38)],
                ]
            ),
            MAIN,
        )
        sketch.ellipse(0, 0.38 - high, wide + flare, 0.13, DEEP)
        band = u(0.2, 0.34)
        sketch.polygon(
            np.concatenate([arc(0, 0.37, wide, 0.12, 0, 180), arc(0, 0.37 - band, wide, 0.12, 180, 0)]), SECOND
        )
    elif kind == 1:
        wide, high = u(0.48, 0.62), u(0.5, 0.75)
        sketch.ellipse(0, 0.3, 1.15, u(0.24, 0.34), MAIN)
        dome = curve([(-wide, 0.25), (-0.9 * wide, -0.5 * high), (0, -high), (0.9 * wide, -0.5 * high), (wide, 0.25)])
        sketch.polygon(np.concatenate([dome, arc(0, 0.25, wide, 0.14, 0, 180)]), MAIN)
        sketch.polygon(np.concatenate([arc(0, 0.25, wide, 0.14, 0, 180), arc(0, 0.02, wide, 0.12, 180, 0)]), SECOND)
        if rng.random() < 0.5:
            sketch.dot(0.6 * wide, 0.16, 0.17, THIRD)
    elif kind == 2:
        high = u(0.65, 0.85)
        peak = [(0.3, 0.12), (0.9, 0.06), (1.3, 0.26), (1.15, 0.38), (0.5, 0.3)]
        sketch.smooth(peak, SECOND)
        dome = curve([(-0.75, 0.3), (-0.72, -0.3), (0, -high), (0.62, -0.35), (0.72, 0.25)])
        sketch.polygon(np.concatenate([dome, arc(0, 0.25, 0.72, 0.12, 0, 180)]), MAIN)
        sketch.line(curve([(0, -high), (0.24, -0.3), (0.26, 0.33)]), 0.05, DEEP)
        sketch.line(curve([(0, -high), (-0.38, -0.3), (-0.4, 0.33)]), 0.05, DEEP)
        sketch.dot(0, -high, 0.1, THIRD)
    else:
        high = u(0.8, 1.05)
        dome = curve([(-0.7, 0.3), (-0.66, -0.3), (0, 0.1 - high), (0.66, -0.3), (0.7, 0.3)])
        sketch.polygon(dome, MAIN)
        sketch.box(-0.78, 0.14, 0.78, 0.52, SECOND, 0.14)
        for x in np.linspace(-0.56, 0.56, 5).tolist():
            sketch.line([(x, 0.22), (x, 0.44)], 0.06, DEEP)
        sketch.dot(0, -high, u(0.18, 0.28), THIRD)


def shoe(sketch: Sketch, rng: Generator) -> None:
    """Draw a shoe from the side: a trainer, a boot, or one with a heel."""
    kind = rng.integers(4)
    if kind < 2:
        _trainer(sketch, rng)
    elif kind == 2:
        _boot(sketch, rng)
    else:
        _heel(sketch, rng)


def _trainer(sketch: Sketch, rng: Generator) -> None:
    u = rng.uniform
    ankle, toe = u(0.5, 0.8), u(0.12, 0.28)
    upper = [
        (-0.95, 0.3),
        (-0.98, -ankle + 0.1),
        (-0.85, -ankle),
        (-0.62, -ankle + 0.14),
        (-0.3, -ankle),
        (0.2, -0.2),
        (0.75, 0.2 - toe),
        (1.05, 0.3),
    ]
    sketch.polygon(curve(upper), MAIN)
    sketch.polygon(curve([(0.55, 0.3), (0.62, -0.02), (0.85, 0.02), (1.02, 0.3)]), SECOND)
    sketch.polygon([(-0.95, 0.3), (-0.97, -0.15), (-0.72, -0.1), (-0.62, 0.3)], SECOND)
    sketch.box(-1.0, 0.26, 1.1, u(0.44, 0.52), THIRD, 0.1)
    if rng.random() < 0.6:
        sketch.line(curve([(-0.5, 0.1), (-0.1, 0.1), (0.3, -0.12)]), 0.1, THIRD)
    for share in (0.15, 0.45, 0.75):
        x, y = -0.3 + 0.55 * share, -ankle + (ankle - 0.2) * share + 0.08
        sketch.line([(x - 0.06, y + 0.16), (x + 0.12, y - 0.04)], 0.08, PALE)


def _boot(sketch: Sketch, rng: Generator) -> None:
    u = rng.uniform
    shaft, sole = u(0.7, 1.2), u(0.1, 0.2)
    front = curve([(0.05, -shaft), (0.02, -0.2), (0.35, 0.05), (0.75, 0.2), (0.85, 0.5)])
    sketch.polygon(np.concatenate([front, [-0.65 + 0.5j, -0.6 - 0.1j, -0.68 - 1j * shaft]]), MAIN)
    sketch.box(-0.7, 0.46, 0.9, 0.46 + sole, THIRD, 0.06)
    sketch.box(-0.7, 0.46, -0.28, 0.5 + 1.8 * sole, THIRD, 0.04)
    if rng.random() < 0.6:
        sketch.box(-0.74, -shaft - 0.1, 0.12, -shaft + u(0.1, 0.3), SECOND, 0.08)
    if rng.random() < 0.6:
        sketch.line([(-0.6, -0.02), (0.1, -0.02)], 0.11, SECOND)
        sketch.dot(-0.1, -0.02, 0.11, PALE)


def _heel(sketch: Sketch, rng: Generator) -> None:
    u = rng.uniform
    rise, thin = u(0.3, 0.6), u(0.06, 0.2)
    heel = 0.5 - rise
    sketch.polygon([(-0.98, heel - 0.1), (-0.4, heel + 0.04), (-0.72 + thin, 0.5), (-0.9, 0.5)], SECOND)
    back = [(-0.92, heel), (-1.02, heel - 0.3), (-0.86, heel - 0.56)]
    opening = [(-0.5, heel - 0.24), (0.05, 0.16), (0.3, 0.04), (0.42, 0.0)]
    toe = [(0.75, 0.16), (1.1, 0.4), (1.05, 0.5), (0.45, 0.5), (0.05, 0.46), (-0.4, heel + 0.16)]
    sketch.smooth([*back, *opening, *toe], MAIN)
    sketch.line(curve([(-0.9, heel + 0.04), (-0.45, heel + 0.12), (0.1, 0.47), (0.5, 0.52), (1.02, 0.5)]), 0.08, THIRD)
    if rng.random() < 0.6:
        for side in (-1, 1):
            sketch.polygon([(0.42, 0.08), (0.42 + side * 0.24, -0.06), (0.42 + side * 0.24, 0.2)], THIRD)
        sketch.dot(0.42, 0.08, 0.09, PALE)


def umbrella(sketch: Sketch, rng: Generator) -> None:
    """Draw an open umbrella with a hooked handle, or a parasol on a pole."""
    u = rng.uniform
    high, panels, depth = u(0.55, 0.95), int(rng.integers(3, 7)), u(0.08, 0.15)
    long = u(0.95, 1.15)
    sketch.line([(0, -high - 0.16), (0, long - 0.15)], 0.09, SECOND)
    if rng.random() < 0.8:
        sketch.line(arc(-0.17, long - 0.15, 0.17, 0.2, 0, 180), 0.11, SECOND)
    else:
        sketch.line([(0, 0.6), (0, long)], 0.14, SECOND)
    dome = arc(0, 0, 1.0, high, 180, 360, 24)
    ends = np.linspace(1, -1, panels + 1)
    scallops = np.concatenate(
        [arc((a + b) / 2, 0, (a - b) / 2, depth, 360, 180, 7) for a, b in pairwise(ends.tolist())]
    )
    sketch.polygon(np.concatenate([dome, scallops]), MAIN)
    kind = rng.integers(3)
    for number, (a, b) in enumerate(pairwise(ends.tolist())):
        if kind == 0 and number % 2:
            left, right = _rib(a, high), _rib(b, high)
            sketch.polygon(
                np.concatenate([left, arc((a + b) / 2, 0, (a - b) / 2, depth, 360, 180, 7), right[::-1]]), THIRD
            )
        elif kind == 1 and number:
            sketch.line(_rib(a, high), 0.045, DEEP)


def _rib(x: float, high: float) -> Points:
    """Return the rib of an umbrella from its top to the rim at x."""
    angle = np.linspace(0, np.pi / 2, 8)
    return x * np.sin(angle) - 1j * high * np.cos(angle)
