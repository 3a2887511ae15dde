"""Furniture: chair, lamp, table."""

import numpy as np
from numpy.random import Generator

from cuter.toybox.sketch import DEEP, MAIN, PALE, SECOND, THIRD, Sketch, arc, curve, mirrored


def chair(sketch: Sketch, rng: Generator) -> None:
    """Draw a chair in three-quarter view, or from the side."""
    u = rng.uniform
    seat, leg, thick = u(0.0, 0.2), u(0.85, 1.05), u(0.08, 0.14)
    if rng.random() < 0.35:
        back, lean = u(0.9, 1.2), u(0.05, 0.25)
        sketch.line([(-0.42, seat), (-0.42 - lean, -back)], 1.3 * thick, MAIN)
        for x, drift in ((-0.4, -u(0, 0.15)), (0.42, u(0, 0.12))):
            sketch.line([(x, seat), (x + drift, leg)], thick, MAIN, 0.8 * thick)
        if rng.random() < 0.5:
            sketch.line([(-0.42, 0.5 * (seat + leg)), (0.44, 0.5 * (seat + leg))], 0.6 * thick, MAIN)
        sketch.box(-0.55, seat - 0.1, 0.58, seat + 0.08, SECOND, 0.08)
        if rng.random() < 0.5:
            sketch.line([(-0.4 - 0.3 * lean, -0.3 * back), (-0.4 - 0.9 * lean, -0.92 * back)], 2.4 * thick, SECOND)
        return
    back, deep, skew = u(0.85, 1.2), u(0.3, 0.4), u(0.15, 0.3)
    left, right = -0.55, 0.38
    for x, low in ((left + skew, leg - deep + 0.06), (right + skew, leg - deep + 0.06)):
        sketch.line([(x, seat - 0.1), (x, low)], thick, DEEP)
    _chair_back(sketch, rng, left + skew, right + skew, seat - deep, back)
    for x in (left, right):
        sketch.line([(x + 0.02, seat + 0.05), (x, leg)], thick, MAIN)
    top = [
        (left - 0.06, seat),
        (right + 0.06, seat),
        (right + skew + 0.06, seat - deep),
        (left + skew - 0.04, seat - deep),
    ]
    sketch.polygon(top, SECOND)
    sketch.polygon([top[0], top[1], (right + 0.06, seat + 0.13), (left - 0.06, seat + 0.13)], MAIN)
    sketch.polygon([top[1], top[2], (top[2][0], top[2][1] + 0.13), (right + 0.06, seat + 0.13)], DEEP)


def _chair_back(sketch: Sketch, rng: Generator, left: float, right: float, seat: float, back: float) -> None:
    style = rng.integers(4)
    middle, half = (left + right) / 2, (right - left) / 2
    if style == 0:
        sketch.box(left - 0.03, -back, right + 0.03, -back + 0.62 * (back + seat), SECOND, 0.12)
    elif style == 1:
        sketch.line(arc(middle, -back + half, half, half, 180, 360), 0.12, MAIN)
        for x in np.linspace(left + 0.2, right - 0.2, 3).tolist():
            sketch.line([(x, -back + 0.12), (x, seat)], 0.07, MAIN)
    else:
        bars = np.linspace(-back, seat - 0.2, int(rng.integers(2, 4))).tolist()
        for y in bars:
            sketch.box(left, y - 0.02, right, y + 0.15, SECOND if style == 2 else MAIN, 0.06)
    for x in (left, right):
        top = -back + (half if style == 1 else -0.06)
        sketch.line([(x, top), (x, seat + 0.05)], 0.11, MAIN)


def lamp(sketch: Sketch, rng: Generator) -> None:
    """Draw a lamp with a shade on a foot, or one for the desk with a bent arm."""
    u = rng.uniform
    if rng.random() < 0.3:
        _desk_lamp(sketch, rng)
        return
    tall = u(0.9, 1.9) if rng.random() < 0.35 else u(0.7, 1.0)
    top, low, high = u(0.25, 0.5), u(0.62, 0.85), u(0.55, 0.85)
    foot = u(0.32, 0.52)
    stand = rng.integers(3)
    if stand == 0 or tall > 1.05:
        sketch.line([(0, -0.2), (0, tall)], u(0.09, 0.14), SECOND)
    elif stand == 1:
        belly = u(0.26, 0.42)
        sketch.smooth(
            [(0.08, -0.1), (belly, 0.45 * tall), (0.14, tall), (-0.14, tall), (-belly, 0.45 * tall), (-0.08, -0.1)],
            SECOND,
        )
    else:
        for y in np.arange(0.08, tall, 0.24).tolist():
            sketch.dot(0, y, 0.16, SECOND)
    sketch.polygon(
        np.concatenate(
            [arc(0, tall + 0.04, foot, 0.18, 180, 360), [foot + 1j * (tall + 0.1), -foot + 1j * (tall + 0.1)]]
        ),
        SECOND,
    )
    if rng.random() < 0.4:
        sketch.line([(0.3 * low, -0.1), (0.3 * low, 0.22)], 0.04, THIRD)
        sketch.dot(0.3 * low, 0.25, 0.07, THIRD)
    sketch.ellipse(0, 0, 0.96 * low, 0.12, PALE)
    sides = (
        [(top, -high), (low, 0)] if rng.random() < 0.6 else [(top, -high), (0.45 * (top + low), -0.4 * high), (low, 0)]
    )
    edge = curve(sides)
    sketch.polygon(np.concatenate([edge, arc(0, 0, low, 0.08, 0, 180), -edge[::-1].conj()]), MAIN)
    if rng.random() < 0.6:
        sketch.line(arc(0, -0.06, low - 0.06, 0.08, 0, 180), 0.09, THIRD)
        sketch.line([(-top, -high + 0.04), (top, -high + 0.04)], 0.08, THIRD)


def _desk_lamp(sketch: Sketch, rng: Generator) -> None:
    u = rng.uniform
    elbow, head = complex(-u(0.3, 0.6), u(-0.1, 0.2)), complex(u(0.2, 0.45), -u(0.6, 0.85))
    sketch.box(-0.45, 0.95, 0.45, 1.1, SECOND, 0.07)
    sketch.line(np.array([0.05 + 1j, elbow]), 0.11, SECOND)
    sketch.line(np.array([elbow, head]), 0.11, SECOND)
    sketch.dot(elbow.real, elbow.imag, 0.12, THIRD)
    turn = np.exp(1j * np.radians(u(-40, -15)))
    bulb = (arc(0, 0.42, 0.2, 0.2, 0, 360)) * turn + head
    shade = mirrored([(0.12, -0.2), (0.22, -0.05), (0.58, 0.45)]) * turn + head
    sketch.polygon(bulb, PALE)
    sketch.polygon(shade, MAIN)
    sketch.line(np.array([0.55 + 0.44j, -0.55 + 0.44j]) * turn + head, 0.1, THIRD)


def table(sketch: Sketch, rng: Generator) -> None:
    """Draw a table: with four legs, from the side, or round on one foot."""
    u = rng.uniform
    kind, wide, leg, thick = rng.integers(3), u(0.85, 1.1), u(0.55, 0.85), u(0.1, 0.16)
    if kind == 0:
        _round_table(sketch, rng, wide, leg)
        return
    if kind == 1:
        splay = u(-0.02, 0.16)
        for side in (-1, 1):
            sketch.line([(side * 0.82 * wide, -0.2), (side * (0.82 * wide + splay), leg)], thick, MAIN, 0.7 * thick)
        if rng.random() < 0.4:
            sketch.line([(-0.85 * wide, 0.5 * leg), (0.85 * wide, 0.5 * leg)], 0.6 * thick, MAIN)
        if rng.random() < 0.6:
            sketch.box(-0.8 * wide, -0.25, 0.8 * wide, 0.0, SECOND)
            sketch.dot(0, -0.1, 0.07, THIRD)
        sketch.box(-wide - 0.08, -0.36, wide + 0.08, -0.2, MAIN, 0.05)
        return
    deep, skew = u(0.32, 0.5), u(-0.1, 0.35)
    y = -0.1
    for x in (-wide + 0.14 + skew, wide - 0.14 + skew):
        sketch.line([(x, y - deep + 0.1), (x, leg - deep)], 0.85 * thick, DEEP)
    for x in (-wide + 0.1, wide - 0.1):
        sketch.line([(x, y), (x, leg)], thick, MAIN)
    corners = [(-wide, y), (wide, y), (wide + skew, y - deep), (-wide + skew, y - deep)]
    sketch.polygon([(-wide, y), (wide, y), (wide, y + 0.16), (-wide, y + 0.16)], MAIN)
    if skew > 0.02:
        sketch.polygon([corners[1], corners[2], (wide + skew, y - deep + 0.16), (wide, y + 0.16)], DEEP)
    sketch.polygon(corners, SECOND)


def _round_table(sketch: Sketch, rng: Generator, wide: float, leg: float) -> None:
    u = rng.uniform
    stem, foot = u(0.08, 0.16), u(0.35, 0.6)
    sketch.polygon(mirrored(curve([(stem, -0.2), (stem, 0.5 * leg), (1.2 * stem, 0.75 * leg), (foot, leg)])), MAIN)
    sketch.ellipse(0, leg, foot, 0.09, MAIN)
    if rng.random() < 0.35:  # a cloth with a wavy edge
        x = np.linspace(wide, -wide, 15)
        edge = x + 1j * (
            0.12 + 0.2 * np.sqrt(np.clip(1 - (x / wide) ** 2, 0, 1)) + 0.05 * np.cos(np.arange(15) * np.pi)
        )
        sketch.polygon(np.concatenate([arc(0, -0.3, wide, 0.2, 180, 360), edge]), THIRD)
    else:
        sketch.ellipse(0, -0.22, wide, u(0.16, 0.24), MAIN)
    sketch.ellipse(0, -0.3, wide, u(0.16, 0.24), SECOND)
