"""To play with, or to sail: ball, boat, kite."""

import numpy as np
from numpy.random import Generator

from cuter.toybox.sketch import DEEP, INK, MAIN, PALE, SECOND, THIRD, Points, Sketch, arc, curve, ramp


def ball(sketch: Sketch, rng: Generator) -> None:
    """Draw a ball: for the beach, for football, basketball or tennis, or with a band and a star."""
    u = rng.uniform
    kind = rng.integers(5)
    sketch.dot(0, 0, 1, MAIN)
    if kind == 0:
        pole = u(0.15, 0.45) + 0j
        sectors = 2 * int(rng.integers(3, 5))
        for number in range(0, sectors, 2):
            material = SECOND if number % 4 == 0 or sectors % 4 else THIRD
            rim = arc(0, 0, 1, 1, 360 * number / sectors, 360 * (number + 1) / sectors, 8)
            sketch.polygon(np.concatenate([[pole], rim]), material)
        sketch.dot(pole.real, 0, 0.14, PALE)
    elif kind == 1:
        _football(sketch, rng)
    elif kind == 2:
        width, seam = u(0.06, 0.1), INK if rng.random() < 0.4 else THIRD
        for line in ([(-0.97, 0), (0, u(-0.1, 0.1)), (0.97, 0)], [(0, -0.97), (u(-0.1, 0.1), 0), (0, 0.97)]):
            sketch.line(curve(line), width, seam)
        for side in (-1, 1):
            sketch.line(curve([(side * 0.68, -0.7), (side * 0.32, 0), (side * 0.68, 0.7)]), width, seam)
    elif kind == 3:
        for side in (-1, 1):
            sketch.line(curve([(side * 0.75, -0.62), (side * 0.25, 0), (side * 0.75, 0.62)]), u(0.12, 0.2), SECOND)
    else:
        half = u(14, 28)
        sketch.polygon(np.concatenate([arc(0, 0, 1, 1, -half, half), arc(0, 0, 1, 1, 180 - half, 180 + half)]), SECOND)
        star = arc(0, 0, 0.54, 0.54, -90, 234, 10)
        star[1::2] *= 0.48
        sketch.polygon(star, THIRD)


def _football(sketch: Sketch, rng: Generator) -> None:
    size = rng.uniform(0.32, 0.4)
    for number in range(5):
        angle = 72 * number - 90
        out = np.exp(1j * np.radians(angle))
        sketch.line(np.array([size * out, 0.75 * out]), 0.06, SECOND)
        rim = arc(0, 0, 0.99, 0.99, angle - 20, angle + 20, 6)
        sketch.polygon(np.concatenate([rim, 0.72 * np.exp(1j * np.radians([angle + 11, angle - 11]))]), SECOND)
    sketch.polygon(arc(0, 0, size, size, -90, 198, 5), SECOND)


def boat(sketch: Sketch, rng: Generator) -> None:
    """Draw a boat: with sails, with a funnel, or to row."""
    u = rng.uniform
    kind = rng.integers(3)
    if kind == 0:
        _sails(sketch, rng)
    elif kind == 1:
        _cabin(sketch, rng)
    bow, stern, deep = u(0.95, 1.2), u(0.8, 1.0), u(0.35, 0.55)
    deck, rise = 0.25, u(0.05, 0.25)
    keel = curve(
        [
            (bow, deck - rise),
            (0.7, deck + 0.75 * deep),
            (0.4, deck + deep),
            (-0.5, deck + deep),
            (-0.75, deck + 0.8 * deep),
            (-stern, deck - 0.3 * rise),
        ]
    )
    top = curve([(-stern, deck - 0.3 * rise), (0, deck + 0.04), (bow, deck - rise)])
    sketch.polygon(np.concatenate([keel, top]), MAIN)
    if rng.random() < 0.6:
        sketch.line(top + 0.05j, 0.11, SECOND)
    if kind == 1 or rng.random() < 0.3:
        for x in (-0.45, -0.05, 0.35):
            sketch.dot(x, deck + 0.45 * deep, 0.09, PALE)
    if kind == 2:
        _benches(sketch, top)


def _benches(sketch: Sketch, rail: Points) -> None:
    """Show the inside of a rowing boat above its rail, with benches, and an oar over its side."""
    far = rail.real + 1j * (rail.imag - 0.2 * np.sin(np.pi * ramp(len(rail))))
    sketch.polygon(np.concatenate([rail, far[::-1]]), DEEP)
    for x in (-0.45, 0.05, 0.5):
        sketch.box(x - 0.09, 0.12, x + 0.09, 0.29, THIRD)
    sketch.line([(-0.35, -0.35), (0.45, 0.8)], 0.08, SECOND)
    sketch.ellipse(0.55, 0.95, 0.24, 0.11, SECOND, turn=55)


def _sails(sketch: Sketch, rng: Generator) -> None:
    u = rng.uniform
    mast, x = u(1.1, 1.6), u(-0.15, 0.15)
    sketch.line([(x, 0.3), (x, -mast)], 0.08, SECOND)
    wide = u(0.5, 0.8)
    sail = [(x + 0.07, -mast + 0.08), (x + 0.07 + 0.75 * wide, -0.35 * mast), (x + 0.07 + wide, 0.05), (x + 0.07, 0.05)]
    sketch.polygon(np.concatenate([curve(sail[:3]), [complex(*sail[3])]]), THIRD)
    if rng.random() < 0.7:
        sketch.polygon(
            [(x - 0.07, -0.85 * mast), (x - 0.07, 0.05), (x - u(0.45, 0.7), 0.05)],
            PALE if rng.random() < 0.4 else SECOND,
        )
    if rng.random() < 0.5:
        sketch.polygon([(x, -mast - 0.02), (x - 0.32, -mast + 0.09), (x, -mast + 0.2)], MAIN)


def _cabin(sketch: Sketch, rng: Generator) -> None:
    u = rng.uniform
    high = u(0.3, 0.5)
    funnel = u(-0.3, 0.05)
    sketch.polygon([(funnel, 0), (funnel + 0.04, -high - 0.5), (funnel + 0.3, -high - 0.5), (funnel + 0.34, 0)], SECOND)
    sketch.box(funnel + 0.02, -high - 0.5, funnel + 0.32, -high - 0.36, THIRD)
    if rng.random() < 0.5:
        for number in range(3):
            sketch.dot(funnel + 0.1 - 0.2 * number, -high - 0.66 - 0.08 * number, 0.11 + 0.03 * number, PALE)
    sketch.box(-0.6, -high, 0.55, 0.35, THIRD, 0.06)
    for x in (-0.32, 0.0, 0.32):
        sketch.box(x - 0.1, -high + 0.12, x + 0.1, -high + 0.34, PALE, 0.03)


def kite(sketch: Sketch, rng: Generator) -> None:
    """Draw a kite with its spars and a tail with bows."""
    u = rng.uniform
    wide, top, low = u(0.5, 0.75), u(0.55, 0.85), u(0.7, 1.05)
    sway, long = u(-0.35, 0.35), u(0.7, 1.2)
    tail = curve([(0, low), (sway, low + 0.33 * long), (-sway, low + 0.66 * long), (0.6 * sway, low + long)])
    sketch.line(tail, 0.07, SECOND)
    bows = int(rng.integers(2, 5))
    for number in range(1, bows + 1):
        knot = tail[number * (len(tail) - 1) // bows]
        for side in (-1, 1):
            wing = np.array([0, side * 0.24 - 0.13j, side * 0.24 + 0.13j]) * np.exp(1j * u(-0.3, 0.3))
            sketch.polygon(knot + wing, THIRD)
    corners = [(0.0, -top), (wide, 0.0), (0.0, low), (-wide, 0.0)]
    kind = rng.integers(3)
    sketch.polygon(corners, MAIN)
    if kind == 0:
        sketch.polygon([corners[0], corners[1], (0, 0)], SECOND)
        sketch.polygon([corners[2], corners[3], (0, 0)], SECOND)
    elif kind == 1:
        sketch.polygon([corners[0], corners[1], corners[2]], SECOND)
    else:
        sketch.dot(0, 0, 0.4 * wide, THIRD)
    spar = (INK, PALE, THIRD)[int(rng.integers(3))]
    sketch.line([corners[0], corners[2]], 0.06, spar)
    sketch.line([corners[1], corners[3]], 0.06, spar)
