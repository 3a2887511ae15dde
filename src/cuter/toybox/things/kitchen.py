"""From the kitchen: bottle, candle, cup, spoon."""

import numpy as np
from numpy.random import Generator

from cuter.toybox.sketch import DEEP, INK, MAIN, PALE, SECOND, THIRD, Sketch, arc, curve, mirrored


def bottle(sketch: Sketch, rng: Generator) -> None:
    """Draw a bottle with neck, cap and label."""
    u = rng.uniform
    wide, neck, shoulder, top = u(0.28, 0.48), u(0.09, 0.15), u(-0.35, 0.1), u(0.85, 1.15)
    if rng.random() < 0.3:  # a flask
        side = [(neck, -top), (neck, shoulder - 0.2), (1.3 * wide, 0.35), (1.25 * wide, 0.8), (0.9 * wide, 1.0)]
        outline = curve(side)
    else:
        edge = [(neck, shoulder - 0.38), (0.55 * wide + 0.4 * neck, shoulder - 0.22), (wide, shoulder)]
        outline = np.concatenate([[neck - 1j * top], curve(edge), [wide + 0.92j, wide - 0.08 + 1j]])
    cap = u(0.1, 0.22)
    sketch.polygon(mirrored(outline), MAIN)
    sketch.box(-neck - 0.04, -top - 0.04, neck + 0.04, -top + 0.06, SECOND, 0.03)
    sketch.box(-0.8 * neck, -top - cap, 0.8 * neck, -top - 0.02, THIRD, 0.03)
    if rng.random() < 0.7:
        low, high = u(0.55, 0.8), u(0.1, 0.3)
        bulge = wide * (0.98 if len(outline) > 12 else 1.1)
        sketch.box(-bulge, high, bulge, low, SECOND)
        if rng.random() < 0.6:
            middle = (low + high) / 2
            sketch.ellipse(0, middle, 0.4 * wide, 0.3 * (low - high), THIRD)
    if rng.random() < 0.6:
        sketch.line([(-0.62 * wide, shoulder + 0.15), (-0.62 * wide, shoulder + 0.4)], 0.08, PALE)


def candle(sketch: Sketch, rng: Generator) -> None:
    """Draw a burning candle, in a dish, on a stick, or alone."""
    u = rng.uniform
    wide, foot, top = u(0.14, 0.34), u(0.55, 0.75), u(0.1, 0.55)
    holder = rng.integers(3)
    if holder == 0:
        sketch.line(arc(0.62, foot - 0.1, 0.22, 0.2, 0, 360, 20), 0.1, SECOND)
        sketch.smooth(
            [(-0.75, foot - 0.16), (0, foot - 0.1), (0.75, foot - 0.16), (0.45, foot + 0.2), (-0.45, foot + 0.2)],
            SECOND,
        )
    elif holder == 1:
        wide = min(wide, 0.2)
        stick = [
            (0.3, foot - 0.1),
            (0.26, foot),
            (0.07, foot + 0.06),
            (0.11, foot + 0.3),
            (0.08, foot + 0.4),
            (0.42, foot + 0.6),
        ]
        sketch.polygon(mirrored(stick), SECOND)
    sketch.box(-wide, -top, wide, foot, MAIN, 0.05)
    sketch.ellipse(0, -top, wide, 0.22 * wide, DEEP)
    if rng.random() < 0.6:
        x = -wide + 0.06
        while x < wide:
            thick = u(0.08, 0.13)
            sketch.line([(x, -top + 0.05), (x, -top + u(0.08, 0.5))], thick, MAIN)
            sketch.dot(x, -top + 0.04, thick, MAIN)
            x += u(0.12, 0.3)
    if rng.random() < 0.35:
        for y in np.linspace(-top + 0.25, foot - 0.1, 3).tolist():
            sketch.line([(-wide, y + 0.08), (wide, y - 0.08)], 0.09, THIRD)
    sketch.line([(0, -top), (0.02, -top - 0.16)], 0.06, INK)
    _flame(sketch, rng, -top - 0.1)


def _flame(sketch: Sketch, rng: Generator, foot: float) -> None:
    tall, wide, lean = rng.uniform(0.42, 0.62), rng.uniform(0.15, 0.22), rng.uniform(-0.1, 0.1)
    for scale, material in ((1.0, THIRD), (0.55, PALE)):
        w, h = wide * scale, tall * scale
        corners = [(0, foot), (w, foot - 0.3 * h), (0.45 * w + 0.5 * lean, foot - 0.7 * h), (lean, foot - h)]
        sketch.smooth([*corners, (-0.45 * w + 0.5 * lean, foot - 0.7 * h), (-w, foot - 0.3 * h)], material)


def cup(sketch: Sketch, rng: Generator) -> None:
    """Draw a mug or a tea cup with its handle, sometimes with steam or a saucer."""
    u = rng.uniform
    wide, foot, high = u(0.5, 0.72), u(0.6, 1.0), u(0.45, 0.75)
    narrow = wide * foot
    tea = rng.random() < 0.45
    if tea:
        narrow = wide * u(0.35, 0.55)
    if tea and rng.random() < 0.7:
        sketch.ellipse(0, high, 1.35 * wide, 0.15, SECOND)
        sketch.ellipse(0, high - 0.04, 0.85 * wide, 0.08, DEEP)
    if rng.random() < 0.4:
        for x in (-0.25, 0.05, 0.35):
            drift = u(0.08, 0.14)
            steam = [(x, -high - 0.2), (x - drift, -high - 0.38), (x + drift, -high - 0.55), (x, -high - 0.75)]
            sketch.line(curve(steam), 0.07, PALE)
    grip, reach = u(0.2, 0.32), u(0.3, 0.45)
    middle = wide - (0.12 if tea else 0.04)
    sketch.line(arc(middle, -0.08, reach, grip * 1.15, -95, 95), u(0.11, 0.16), MAIN)
    side = [(wide, -high), (wide, -0.2), (0.85 * wide, 0.55 * high), (narrow, high)]
    outline = curve(side) if tea else curve([(wide, -high), (narrow, high)])
    base = arc(0, high, narrow, 0.09, 0, 180, 10)
    sketch.polygon(np.concatenate([outline, base, -outline[::-1].conj()]), MAIN)
    decoration = rng.integers(4)
    if decoration == 0:
        y = u(-0.2, 0.1)
        at = wide * 0.98 if tea else wide + (narrow - wide) * (y + high) / (2 * high)
        sketch.line(arc(0, y, at - 0.08, 0.08, 0, 180), 0.16, THIRD)
    elif decoration == 1:
        for angle in range(0, 360, 60):
            petal = 0.17 * np.exp(1j * np.radians(angle))
            sketch.dot(petal.real, petal.imag + 0.1, 0.11, THIRD)
        sketch.dot(0, 0.1, 0.09, PALE)
    elif decoration == 2:
        sketch.polygon([(0, 0.32), (-0.25, 0.02), (-0.13, -0.14), (0, -0.04), (0.13, -0.14), (0.25, 0.02)], THIRD)
    sketch.ellipse(0, -high, wide, 0.15, SECOND)
    sketch.ellipse(0, -high + 0.02, wide - 0.08, 0.1, DEEP)


def spoon(sketch: Sketch, rng: Generator) -> None:
    """Draw a spoon: a bowl, and a long handle that often ends wider."""
    u = rng.uniform
    wide, long, thin, end = u(0.24, 0.36), u(0.34, 0.46), u(0.08, 0.12), u(0.12, 0.24)
    x = 1.0 - long
    bend = u(-0.12, 0.12)
    handle = curve([(x - 0.2, 0), (0, 0.5 * bend), (-0.6, bend), (-1.05, 0.6 * bend)])
    sketch.line(handle, thin, MAIN, end if rng.random() < 0.6 else thin)
    ending = rng.integers(4)
    if ending == 0:
        sketch.dot(-1.05, 0.6 * bend, 0.17, SECOND)
    elif ending == 1:
        sketch.line(handle[len(handle) // 2 :], 1.6 * end, SECOND, 1.4 * end)
    sketch.smooth(
        [
            (1.0, 0),
            (x + 0.3 * long, -wide),
            (x - 0.5 * long, -0.8 * wide),
            (x - 1.1 * long, 0),
            (x - 0.5 * long, 0.8 * wide),
            (x + 0.3 * long, wide),
        ],
        MAIN,
    )
    sketch.ellipse(x, 0, 0.76 * long, 0.7 * wide, DEEP)
    if rng.random() < 0.7:
        sketch.ellipse(x + 0.15, -0.3 * wide, 0.3 * long, 0.16 * wide, PALE)
