"""Plants: flower, leaf, mushroom, tree."""

import numpy as np
from numpy.random import Generator

from cuter.toybox.sketch import DEEP, INK, MAIN, PALE, SECOND, THIRD, Points, Sketch, arc, closed_curve, curve


def flower(sketch: Sketch, rng: Generator) -> None:
    """Draw a flower: a daisy of many petals or a tulip, with a stem that has leaves."""
    u = rng.uniform
    bend, foot = u(-0.25, 0.25), u(1.0, 1.5)
    stem = curve([(0, -0.3), (bend, 0.4 * foot), (0.5 * bend, foot)])
    sketch.line(stem, u(0.09, 0.14), SECOND)
    for side in (-1, 1):
        if rng.random() < 0.75:
            base = stem[len(stem) * 3 // 5]
            tip = base + complex(side * u(0.4, 0.65), -u(0.1, 0.45))
            middle, out = (base + tip) / 2, 0.17j * (tip - base) / abs(tip - base)
            sketch.smooth(np.array([base, middle + out, tip, middle - out]), SECOND)
    if rng.random() < 0.3:
        _tulip(sketch, rng)
    else:
        _daisy(sketch, rng)


def _daisy(sketch: Sketch, rng: Generator) -> None:
    u = rng.uniform
    petals, reach, centre = int(rng.integers(5, 11)), u(0.6, 0.8), u(0.2, 0.32)
    wide = u(0.85, 1.15) * 2.2 / petals * reach
    two_rings = rng.random() < 0.3
    turn = u(0, 2 * np.pi)
    for ring, material in ((1.0, MAIN), (0.65, THIRD)) if two_rings else ((1.0, MAIN),):
        for number in range(petals):
            direction = np.exp(1j * (turn + 2 * np.pi * (number + 0.5 * (ring < 1)) / petals))
            middle = 0.58 * reach * ring * direction - 0.5j
            angle = float(np.degrees(np.angle(direction)))
            sketch.ellipse(middle.real, middle.imag, 0.5 * reach * ring, 0.5 * wide * ring + 0.04, material, angle)
    sketch.dot(0, -0.5, centre, PALE if two_rings else THIRD)
    if rng.random() < 0.5:
        sketch.dot(0, -0.5, 0.5 * centre, INK)


def _tulip(sketch: Sketch, rng: Generator) -> None:
    wide, high = rng.uniform(0.42, 0.6), rng.uniform(0.55, 0.8)
    sketch.smooth([(0, -0.5 - high), (0.5 * wide, -0.5), (0, 0), (-0.5 * wide, -0.5)], THIRD)
    for side in (-1, 1):
        petal = [
            (0, 0.05),
            (side * wide, -0.1),
            (side * wide, -0.5),
            (side * 0.9 * wide, -0.4 - high),
            (side * 0.12, -0.45),
        ]
        sketch.smooth(petal, MAIN)


def leaf(sketch: Sketch, rng: Generator) -> None:
    """Draw a leaf with its veins: pointed, toothed, or lobed like that of an oak or a maple."""
    u = rng.uniform
    kind = rng.integers(4)
    sketch.line(curve([(-0.75, 0), (-1.05, u(-0.08, 0.08)), (-1.35, u(-0.2, 0.2))]), 0.1, SECOND)
    if kind == 3:
        _maple(sketch, rng)
        return
    wide, belly = u(0.3, 0.62), u(-0.35, 0.15)
    if kind == 2:
        half = _oak_edge(rng, wide)
    else:
        half = curve([(-0.85, 0), (belly - 0.3, 0.75 * wide), (belly, wide), (belly + 0.5, 0.6 * wide), (1.0, 0)])
        if kind == 1:
            half = half + 0.07j * (np.arange(len(half)) % 2) * (half.imag > 0.05)
    sketch.polygon(np.concatenate([half, half[::-1].conj()]), MAIN)
    if rng.random() < 0.35:
        sketch.polygon(half, DEEP)
    _veins(sketch, rng, belly, 0.62 * wide)


def _oak_edge(rng: Generator, wide: float) -> Points:
    lobes = int(rng.integers(3, 5))
    x = np.linspace(-0.8, 0.95, 2 * lobes + 1)
    envelope = (0.25 + wide) * np.sqrt(np.clip(1 - (0.9 * x - 0.15) ** 2, 0.05, 1))
    bulge = np.where(np.arange(2 * lobes + 1) % 2, 1.0, 0.5)
    z = x + 0.12 * (bulge - 0.5) + 1j * envelope * bulge
    return curve(np.concatenate([[-0.85], z[1:-1], [1.0]]))


def _veins(sketch: Sketch, rng: Generator, belly: float, reach: float) -> None:
    material = PALE if rng.random() < 0.5 else SECOND
    sketch.line([(-0.85, 0), (0.85, 0)], 0.08, material, 0.04)
    for x in np.linspace(-0.5, 0.45, int(rng.integers(2, 5))).tolist():
        long = reach * (1 - 0.8 * abs(x - belly))
        for side in (-1, 1):
            sketch.line([(x, 0), (x + 0.6 * long, side * long)], 0.05, material)


def _maple(sketch: Sketch, rng: Generator) -> None:
    lobes, depth = int(rng.integers(2, 4)) * 2 + 1, rng.uniform(0.42, 0.6)
    angles = np.radians(np.linspace(-125, 125, 2 * lobes - 1))
    radius = np.where(np.arange(2 * lobes - 1) % 2, depth, 1.0 - 0.22 * np.abs(angles) / 2.2)
    edge = radius * np.exp(1j * angles) - 0.2
    outline = np.concatenate([[-0.85 + 0.05j], edge[::-1], [-0.85 - 0.05j]])
    sketch.polygon(outline if rng.random() < 0.5 else closed_curve(outline), MAIN)
    material = PALE if rng.random() < 0.5 else SECOND
    for tip in edge[::2]:
        sketch.line(np.array([-0.75 + 0j, -0.2 + 0.72 * (tip + 0.2)]), 0.07, material, 0.03)


def mushroom(sketch: Sketch, rng: Generator) -> None:
    """Draw a mushroom, sometimes with a small one beside it."""
    if rng.random() < 0.3:
        scale = rng.uniform(0.4, 0.6)
        _one_mushroom(sketch, rng, rng.uniform(0.75, 1.0), 1.0 - scale, scale)
    _one_mushroom(sketch, rng, 0, 0, 1.0)


def _one_mushroom(sketch: Sketch, rng: Generator, x: float, y: float, scale: float) -> None:
    u = rng.uniform
    wide, high, stem = u(0.7, 1.0), u(0.5, 1.05), u(0.17, 0.3)
    first = len(sketch.outlines)
    bulge = stem * u(1.1, 1.7)
    sketch.smooth(
        [(stem, -0.1), (bulge, 0.8), (0.5 * bulge, 1.0), (-0.5 * bulge, 1.0), (-bulge, 0.8), (-stem, -0.1)], SECOND
    )
    if rng.random() < 0.4:
        sketch.polygon([(-stem, 0.12), (stem, 0.12), (stem + 0.14, 0.34), (-stem - 0.14, 0.34)], PALE)
    sketch.ellipse(0, 0, wide, 0.16, DEEP)
    top = -high if rng.random() < 0.7 else -high - 0.25
    dome = [(-wide, 0), (-0.92 * wide, -0.4 * high), (-0.45 * wide, -0.9 * high), (0, top)]
    rim = arc(0, 0, wide, 0.1, 0, 180, 10)
    right = [complex(-a, b) for a, b in dome[::-1][1:-1]]
    sketch.polygon(np.concatenate([curve([*dome, *((z.real, z.imag) for z in right), (wide, 0)]), rim]), MAIN)
    if rng.random() < 0.65:
        size = u(0.09, 0.15)
        for px, py in ((-0.5, -0.3), (0.02, -0.62), (0.5, -0.32), (0.05, -0.2), (-0.28, -0.05), (0.3, -0.02)):
            sketch.ellipse(px * wide, py * high, size, 0.8 * size, THIRD)
    for number in range(first, len(sketch.outlines)):
        sketch.outlines[number] = scale * sketch.outlines[number] + complex(x, y)


def tree(sketch: Sketch, rng: Generator) -> None:
    """Draw a tree: round, a fir, a palm, or a poplar."""
    u = rng.uniform
    kind, wide = rng.integers(4), u(0.09, 0.16)
    if kind != 2:
        sketch.polygon([(-wide, -0.2), (wide, -0.2), (1.5 * wide, 1.0), (-1.5 * wide, 1.0)], SECOND)
    if kind == 0:
        _round_crown(sketch, rng)
    elif kind == 1:
        layers, foot, top = int(rng.integers(2, 5)), u(0.5, 0.72), u(1.0, 1.4)
        for number in range(layers):
            half = u(0.55, 0.8) * (1 - 0.55 * number / layers)
            low = foot - (foot + top) * number / (layers + 0.6)
            peak = low - (foot + top) / layers * 1.05
            sketch.polygon([(0, peak), (half, low), (0.4 * half, low + 0.06), (0, low - 0.02), (-half, low)], MAIN)
            sketch.polygon([(0, peak), (half, low), (0.35 * half, low - 0.05)], DEEP)
    elif kind == 2:
        _palm(sketch, rng)
    else:
        half, top = u(0.34, 0.55), u(1.1, 1.5)
        sketch.smooth([(0, -top), (half, -0.4 * top), (0.8 * half, 0.4), (-0.8 * half, 0.4), (-half, -0.4 * top)], MAIN)
        for y in np.linspace(0.2, -0.75 * top, 5).tolist():
            x = u(-0.4, 0.4) * half
            sketch.line(arc(x, y, 0.14, 0.08, 20, 160, 6), 0.06, DEEP)


def _palm(sketch: Sketch, rng: Generator) -> None:
    u = rng.uniform
    x, y = u(0.1, 0.4), -u(0.35, 0.6)
    sketch.line(curve([(-0.1, 1.0), (0.0, 0.3), (x, y)]), 0.24, SECOND, 0.14)
    fronds = int(rng.integers(5, 8))
    for number in range(fronds):
        angle = np.radians(-200 + 220 * number / (fronds - 1) + u(-8, 8))
        tip = complex(x, y) + u(0.75, 0.95) * np.exp(1j * angle) + 0.22j
        bow = complex(x, y) + 0.5 * np.exp(1j * angle) - 0.14j
        sketch.smooth(np.array([complex(x, y), bow - 0.12j, tip, bow + 0.1j]), MAIN if number % 2 else DEEP)
    for dx in (-0.09, 0.09):
        sketch.dot(x + dx, y + 0.06, 0.1, THIRD)


def _round_crown(sketch: Sketch, rng: Generator) -> None:
    u = rng.uniform
    bumps, rx, ry = int(rng.integers(5, 9)), u(0.6, 0.8), u(0.5, 0.75)
    sketch.line([(0, 0.4), (-0.35, -0.1)], 0.1, SECOND)
    sketch.line([(0, 0.5), (0.4, 0.0)], 0.1, SECOND)
    sketch.ellipse(0, -0.45, rx, ry, MAIN)
    for number in range(bumps):
        direction = np.exp(2j * np.pi * (number + u(-0.2, 0.2)) / bumps)
        size = u(0.28, 0.42)
        sketch.dot(rx * 0.8 * direction.real, -0.45 + ry * 0.8 * direction.imag, size, MAIN)
    if rng.random() < 0.6:
        material = THIRD if rng.random() < 0.7 else DEEP
        for number in range(int(rng.integers(4, 8))):
            direction = u(0.3, 0.95) * np.exp(2j * np.pi * number * 0.382)
            sketch.dot(rx * direction.real, -0.45 + ry * direction.imag, 0.1, material)
