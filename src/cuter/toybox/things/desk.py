"""From the desk: book, clock, key."""

import numpy as np
from numpy.random import Generator

from cuter.toybox.sketch import DEEP, INK, MAIN, NOTHING, PALE, SECOND, THIRD, Material, Sketch, arc, curve


def book(sketch: Sketch, rng: Generator) -> None:
    """Draw a book: closed, seen from above its corner, or open."""
    if rng.random() < 0.4:
        _open_book(sketch, rng)
        return
    u = rng.uniform
    wide, high, thick = u(0.5, 0.75), u(0.75, 1.0), u(0.14, 0.3)
    drop = u(0.06, 0.2)
    sketch.polygon([(-wide, high), (wide, high), (wide + thick, high - drop), (-wide + thick, high - drop)], MAIN)
    sketch.polygon([(wide, -high), (wide + thick, -high - drop), (wide + thick, high - drop), (wide, high)], MAIN)
    pages = [(wide, -high + 0.06), (wide + 0.85 * thick, -high - drop + 0.1), (wide + 0.85 * thick, high - drop - 0.04)]
    sketch.polygon([*pages, (wide, high - 0.08)], PALE)
    for share in (0.3, 0.6):
        x = wide + share * thick
        sketch.line([(x, -high + 0.1 - share * drop), (x, high - 0.12 - share * drop)], 0.03, INK)
    sketch.polygon([(-wide, -high), (wide, -high), (wide + thick, -high - drop), (-wide + thick, -high - drop)], PALE)
    sketch.box(-wide, -high, wide, high, MAIN, 0.05)
    sketch.box(-wide, -high, -wide + 0.16, high, SECOND, 0.04)
    cover = rng.integers(4)
    if cover < 2:
        sketch.box(-wide + 0.3, -0.65 * high, wide - 0.14, -0.25 * high, SECOND if cover else PALE, 0.04)
        for y in (-0.53, -0.37):
            sketch.line([(-wide + 0.42, y * high), (wide - 0.26, y * high)], 0.07, INK)
    elif cover == 2:
        sketch.dot(0.08, -0.1, 0.6 * wide, THIRD)
    if rng.random() < 0.4:
        x = wide - 0.25
        ribbon = [
            (x - 0.09, high),
            (x + 0.09, high),
            (x + 0.09, high + 0.35),
            (x, high + 0.24),
            (x - 0.09, high + 0.35),
        ]
        sketch.polygon(ribbon, THIRD)


def _open_book(sketch: Sketch, rng: Generator) -> None:
    u = rng.uniform
    high, curl, rise = u(0.5, 0.75), u(0.1, 0.25), u(0.0, 0.15)
    lines = int(rng.integers(3, 6))
    for side in (-1, 1):
        cover = [
            (0, -high + 0.1),
            (side * 1.08, -high - rise + 0.02),
            (side * 1.08, high - rise + 0.1),
            (0, high + 0.16),
        ]
        sketch.polygon(cover, MAIN)
    for side in (-1, 1):
        top = curve([(0, -high + 0.1), (side * 0.35, -high - curl), (side, -high - rise)])
        bottom = curve([(side, high - rise), (side * 0.35, high - curl), (0, high + 0.1)])
        sketch.polygon(np.concatenate([top, bottom]), PALE if side < 0 else SECOND)
        if side > 0 and rng.random() < 0.4:
            sketch.box(0.25, -0.5 * high, 0.8, 0.3 * high, THIRD, 0.05)
            continue
        for y in np.linspace(-0.65 * high, 0.6 * high, lines).tolist():
            sketch.line([(side * 0.2, y - 0.3 * curl), (side * u(0.65, 0.85), y - 0.5 * rise - 0.02)], 0.07, INK)
    sketch.line([(0, -high + 0.08), (0, high + 0.1)], 0.06, DEEP)


def clock(sketch: Sketch, rng: Generator) -> None:
    """Draw a clock: for the wall, round or square, or an alarm clock with bells."""
    u = rng.uniform
    kind, rim = rng.integers(3), u(0.1, 0.2)
    if kind == 0:
        for side in (-1, 1):
            sketch.line([(side * 0.5, 0.75), (side * 0.72, 1.1)], 0.15, SECOND)
            bell = arc(0, 0, 0.36, 0.36, 180, 360)
            sketch.polygon((bell - 0.98j) * np.exp(1j * side * np.radians(36)), THIRD)
        sketch.line([(0, -0.85), (0, -1.2)], 0.1, SECOND)
        sketch.line([(-0.1, -1.22), (0.1, -1.22)], 0.12, SECOND)
    elif kind == 1 and rng.random() < 0.6:
        swing = u(-0.25, 0.25)
        sketch.line([(0, 0.8), (swing, 1.45)], 0.08, SECOND)
        sketch.dot(swing, 1.5, 0.2, THIRD)
    if kind == 1:
        sketch.box(-0.95, -0.95, 0.95, 0.95, MAIN, u(0.05, 0.35))
        if rng.random() < 0.5:
            sketch.polygon([(-1.1, -0.9), (0, -1.5), (1.1, -0.9)], THIRD)
    else:
        sketch.dot(0, 0, 1.0, MAIN)
    face, hands = (PALE, INK) if rng.random() < 0.3 else (SECOND, THIRD)
    sketch.dot(0, 0, 1.0 - rim if kind != 1 else 0.78, face)
    _dial(sketch, rng, 0.7 if kind == 1 else 0.9 - rim, hands)


def _dial(sketch: Sketch, rng: Generator, radius: float, hands: Material) -> None:
    hours = int(rng.choice([4, 12]))
    for hour in range(hours):
        direction = np.exp(2j * np.pi * hour / hours)
        if hours == 12 and hour % 3:
            sketch.dot(0.9 * radius * direction.real, 0.9 * radius * direction.imag, 0.045, hands)
        else:
            sketch.line(np.array([0.74, 0.92]) * radius * direction, 0.1, hands)
    minute = rng.uniform(0, 360)
    apart = minute + rng.uniform(50, 310)  # so that two hands are seen
    for angle, long, thick in ((apart, 0.48, 0.14), (minute, 0.74, 0.1)):
        sketch.line(np.array([0, long * radius]) * np.exp(1j * np.radians(angle)), thick, hands, 0.6 * thick)
    sketch.dot(0, 0, 0.1, MAIN)


def key(sketch: Sketch, rng: Generator) -> None:
    """Draw a key: a bow with a hole, a shaft, and teeth."""
    u = rng.uniform
    thick, bow, x = u(0.13, 0.2), u(0.34, 0.46), -0.65
    sketch.line([(x, 0), (1.0, 0)], thick, MAIN)
    teeth = int(rng.integers(2, 4))
    for number in range(teeth):
        at = 0.92 - 0.24 * number
        sketch.box(at - 0.085, 0, at + 0.085, u(0.28, 0.46), MAIN)
    if rng.random() < 0.5:
        collar = x + bow + 0.08
        sketch.box(collar, -0.18, collar + 0.12, 0.18, SECOND, 0.05)
    kind = rng.integers(4)
    if kind == 0:
        sketch.dot(x, 0, bow, MAIN)
        sketch.dot(x, 0, 0.55 * bow, NOTHING)
    elif kind == 1:
        for angle in (90, 180, 270):
            centre = x + 0.62 * bow * np.exp(1j * np.radians(angle))
            sketch.dot(centre.real, centre.imag, 0.6 * bow, MAIN)
        sketch.dot(x, 0, 0.4 * bow, MAIN)
        for angle in (90, 180, 270):
            centre = x + 0.68 * bow * np.exp(1j * np.radians(angle))
            sketch.dot(centre.real, centre.imag, 0.3 * bow, NOTHING)
    elif kind == 2:
        sketch.box(x - bow, -bow, x + bow, bow, SECOND, 0.4 * bow)
        sketch.dot(x - 0.45 * bow, 0, 0.28 * bow, NOTHING)
    else:
        sketch.ellipse(x, 0, 0.8 * bow, 1.15 * bow, MAIN)
        sketch.ellipse(x, 0, 0.42 * bow, 0.75 * bow, NOTHING)
