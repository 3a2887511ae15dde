"""Animals: bird, cat, fish."""

import numpy as np
from numpy.random import Generator

from cuter.toybox.sketch import DEEP, INK, MAIN, PALE, SECOND, THIRD, Sketch, arc, curve


def _eye(sketch: Sketch, x: float, y: float, radius: float) -> None:
    sketch.dot(x, y, radius, PALE)
    sketch.dot(x + 0.25 * radius, y, 0.6 * radius, INK)


def bird(sketch: Sketch, rng: Generator) -> None:
    """Draw a bird from the side: standing, or in flight."""
    u = rng.uniform
    plump, head, beak = u(0.38, 0.54), u(0.26, 0.34), u(0.22, 0.44)
    x, y = u(0.48, 0.6), -u(0.34, 0.58)
    flying = rng.random() < 0.4
    spread, drop = u(0.1, 0.24), u(-0.1, 0.3)
    sketch.polygon([(-0.4, -0.05), (-1.15, drop - spread), (-1.0, drop), (-1.15, drop + spread), (-0.4, 0.3)], SECOND)
    if flying:
        lift = u(0.75, 1.1)
        sketch.smooth([(0.3, -0.1), (0.35, -0.5 * lift), (0.1, -lift), (0.0, -0.5), (-0.15, -0.1)], DEEP)
    elif rng.random() < 0.8:
        length = u(0.2, 0.5)
        for foot in (-0.12, 0.14):
            sketch.line([(foot, plump), (foot + 0.05, plump + length)], 0.07, THIRD)
            sketch.line([(foot - 0.05, plump + length), (foot + 0.2, plump + length)], 0.07, THIRD)
    sketch.polygon([(x + 0.1, y - 0.16), (x + head + beak, y + u(-0.02, 0.14)), (x + 0.1, y + 0.18)], THIRD)
    sketch.ellipse(0, 0.12, 0.68, plump, MAIN, turn=-u(10, 26))
    sketch.polygon([(x - head, y + 0.05), (x + head, y), (0.62, 0.1), (0.2, 0.4), (-0.2, -0.1)], MAIN)  # the neck
    if rng.random() < 0.3:
        for lean in (-0.1, -0.22):
            sketch.line([(x, y - 0.6 * head), (x + lean, y - head - u(0.12, 0.26))], 0.08, THIRD)
    sketch.dot(x, y, head, MAIN)
    if rng.random() < 0.4:
        sketch.smooth([(0.55, -0.05), (0.6, 0.2), (0.3, 0.48), (0.0, 0.5), (0.25, 0.2)], PALE)
    if flying:
        lift = u(0.7, 1.2)
        tip = u(-0.7, -0.2)
        sketch.smooth([(0.3, 0.1), (0.1, -0.5 * lift), (tip, -lift), (tip + 0.05, -0.5 * lift), (-0.35, 0.15)], SECOND)
    else:
        sketch.smooth([(0.3, 0.0), (0.1, 0.3), (-0.3, 0.34), (-0.75, u(0.1, 0.3)), (-0.3, 0.0), (0.1, -0.12)], SECOND)
    _eye(sketch, x + 0.1, y - 0.04, 0.1)


def cat(sketch: Sketch, rng: Generator) -> None:
    """Draw a cat: sitting, walking, or its face alone."""
    pose = rng.integers(3)
    if pose == 0:
        _sitting_cat(sketch, rng)
    elif pose == 1:
        _walking_cat(sketch, rng)
    else:
        _cat_face(sketch, rng, 0, 0, 0.85)
        if rng.random() < 0.5:
            sketch.box(-0.45, 0.72, 0.45, 0.86, THIRD, 0.06)
            sketch.dot(0, 0.86, 0.1, PALE)


def _cat_face(sketch: Sketch, rng: Generator, x: float, y: float, size: float) -> None:
    u = rng.uniform
    wide, high, ear = size, size * u(0.76, 0.92), size * u(0.5, 0.68)
    for side in (-1, 1):
        near, far, top = 0.22 * wide, 0.92 * wide, -0.62 * high - ear
        ear_outline = [(near, -0.75 * high), (0.8 * wide, top), (far, -0.2 * high)]
        sketch.polygon([(x + side * a, y + b) for a, b in ear_outline], MAIN)
        inner = [(0.42 * wide, -0.8 * high), (0.74 * wide, top + 0.3 * ear), (0.8 * wide, -0.5 * high)]
        sketch.polygon([(x + side * a, y + b) for a, b in inner], SECOND)
    sketch.ellipse(x, y, wide, high, MAIN)
    if rng.random() < 0.4:
        for lean in (-0.25, 0, 0.25):
            top = y - 0.92 * high + 0.3 * abs(lean) * size
            sketch.line([(x + lean * size, top), (x + 0.7 * lean * size, top + 0.35 * size)], 0.11 * size, SECOND)
    sketch.ellipse(x, y + 0.42 * high, 0.42 * wide, 0.32 * high, PALE if rng.random() < 0.5 else SECOND)
    slit, open_ = u(0.05, 0.11) * size, u(0.14, 0.22) * size
    for side in (-1, 1):
        sketch.ellipse(x + side * 0.42 * wide, y - 0.08 * high, 0.19 * size, open_, PALE)
        sketch.ellipse(x + side * 0.42 * wide, y - 0.08 * high, slit, 0.95 * open_, INK)
        for lift in (-0.1, 0.14):
            start = complex(x + side * 0.3 * wide, y + 0.45 * high)
            sketch.line(start + np.array([0, size * complex(side * 0.85, lift)]), 0.05 * size, INK)
    nose = y + 0.25 * high
    sketch.polygon([(x - 0.13 * size, nose), (x + 0.13 * size, nose), (x, nose + 0.14 * size)], INK)


def _sitting_cat(sketch: Sketch, rng: Generator) -> None:
    u = rng.uniform
    hip, out = u(0.5, 0.64), u(0.85, 1.1)
    tail = [(0.3, 0.85), (out, 0.75), (out + 0.05, 0.3), (out - u(0, 0.3), u(-0.3, 0.1))]
    sketch.line(curve(tail), 0.2, MAIN, 0.12)
    sketch.smooth([(0.25, -0.2), (hip, 0.5), (hip - 0.05, 0.92), (-hip + 0.05, 0.92), (-hip, 0.5), (-0.25, -0.2)], MAIN)
    if rng.random() < 0.6:
        sketch.ellipse(0, 0.32, 0.24, 0.38, PALE if rng.random() < 0.5 else SECOND)
    for side in (-1, 1):
        sketch.ellipse(side * 0.2, 0.86, 0.17, 0.12, SECOND)
    _cat_face(sketch, rng, u(-0.08, 0.08), -0.5, u(0.44, 0.54))


def _walking_cat(sketch: Sketch, rng: Generator) -> None:
    u = rng.uniform
    tip = u(-0.9, -0.3)
    sketch.line(curve([(-0.6, -0.05), (-0.95, -0.2), (-1.1, tip * 0.7), (-0.95 + u(-0.3, 0.2), tip)]), 0.17, MAIN, 0.11)
    stride, leg = u(-0.15, 0.2), u(0.6, 0.85)
    for hip, step, material in (
        (-0.5, -stride, DEEP),
        (0.42, stride, DEEP),
        (-0.6, stride, MAIN),
        (0.52, -stride, MAIN),
    ):
        sketch.line([(hip, 0.1), (hip + 0.5 * step, 0.45), (hip + step, leg)], 0.24, material, 0.17)
        sketch.ellipse(hip + step + 0.06, leg, 0.14, 0.09, SECOND)
    sketch.smooth([(-0.75, 0), (-0.5, -0.25), (0, -0.2), (0.5, -0.3), (0.75, 0), (0.4, 0.32), (-0.5, 0.34)], MAIN)
    if rng.random() < 0.4:
        for x in (-0.4, -0.1, 0.2):
            sketch.line([(x, -0.18), (x - 0.04, 0.08)], 0.1, SECOND)
    _cat_face(sketch, rng, 0.72, -0.42, u(0.36, 0.44))


def fish(sketch: Sketch, rng: Generator) -> None:
    """Draw a fish from the side: long or round, with fins and stripes of its own."""
    u = rng.uniform
    high, notch, fan = u(0.3, 0.68), u(0.55, 0.95), u(0.3, 0.6)
    tail = [(-0.5, 0), (-1.15, -fan), (-1.15 * notch, 0), (-1.15, fan)]
    draw_tail = sketch.smooth if rng.random() < 0.5 else sketch.polygon
    draw_tail(tail, SECOND)
    top = u(0.15, 0.5)
    sketch.smooth(
        [(0.35, -0.7 * high), (0.05, -high - top), (-0.45, -0.8 * high - 0.6 * top), (-0.4, -0.3 * high)], SECOND
    )
    sketch.polygon([(0.2, 0.7 * high), (-0.05, high + u(0.1, 0.4)), (-0.3, 0.6 * high)], SECOND)
    body = [(0.95, 0.02), (0.6, -0.7 * high), (0.1, -high), (-0.4, -0.6 * high), (-0.75, -0.1)]
    sketch.smooth([*body, (-0.75, 0.1), (-0.4, 0.6 * high), (0.1, high), (0.6, 0.7 * high)], MAIN)
    _fish_marks(sketch, rng, high)
    sketch.smooth([(0.22, 0.05), (-0.05, 0.02), (-0.2, 0.32), (0.1, 0.26)], SECOND)  # the near fin
    _eye(sketch, 0.6, -0.22 * high, 0.12)
    if rng.random() < 0.7:
        sketch.line([(0.9, 0.1 * high + 0.04), (0.74, 0.2 * high + 0.04)], 0.06, INK)


def _fish_marks(sketch: Sketch, rng: Generator, high: float) -> None:
    mark = rng.integers(4)
    if mark == 0:
        for x, reach in ((0.28, 0.86), (-0.05, 0.84), (-0.36, 0.5)):
            sketch.line(curve([(x, -reach * high), (x - 0.08, 0), (x, reach * high)]), rng.uniform(0.1, 0.16), THIRD)
    elif mark == 1:
        for x, y in ((0.15, -0.35), (-0.15, -0.35), (0.0, 0.1), (-0.3, 0.05), (0.15, 0.5), (-0.15, 0.5)):
            sketch.polygon(arc(x, y * high, 0.15, 0.3 * high, 90, 270, 8), THIRD)
    elif mark == 2:
        head = [
            (0.95, 0.02),
            (0.72, -0.55 * high),
            (0.42, -0.83 * high),
            (0.34, 0),
            (0.42, 0.83 * high),
            (0.72, 0.55 * high),
        ]
        sketch.smooth(head, THIRD)
    if mark != 2:
        sketch.line(arc(0.28, 0, 0.12, 0.5 * high, -70, 70, 8), 0.05, INK)  # the gill
