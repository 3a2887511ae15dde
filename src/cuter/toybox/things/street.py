"""From the street: car, house."""

from numpy.random import Generator

from cuter.toybox.sketch import DEEP, MAIN, PALE, SECOND, THIRD, Points, Sketch, arc


def car(sketch: Sketch, rng: Generator) -> None:
    """Draw a car from the side: a saloon, a small round one, a van, or one with a flat bed."""
    u = rng.uniform
    kind = rng.integers(4)
    roof, sill, wheel = -u(0.6, 0.8), 0.35, u(0.22, 0.29)
    glass = PALE if rng.random() < 0.6 else SECOND
    if kind == 0:
        sketch.smooth([(-0.65, -0.08), (-0.4, roof), (0.25, roof), (0.62, -0.05)], MAIN)
        panes = [
            [(-0.5, -0.12), (-0.33, 0.82 * roof), (-0.08, 0.82 * roof), (-0.08, -0.12)],
            [(0.02, -0.12), (0.02, 0.82 * roof), (0.22, 0.82 * roof), (0.46, -0.12)],
        ]
    elif kind == 1:
        sketch.polygon(arc(-0.05, 0.1, 0.72, -roof + 0.15, 180, 360), MAIN)
        panes = [
            [*_pairs(arc(-0.1, -0.1, 0.48, 0.42, 180, 268, 6)), (-0.1, -0.1)],
            [(0.0, -0.1), *_pairs(arc(0, -0.1, 0.48, 0.42, 272, 360, 6))],
        ]
    elif kind == 2:
        sketch.box(-1.05, roof - 0.1, 0.55, 0.3, MAIN, 0.12)
        sketch.polygon([(0.4, roof - 0.08), (0.68, roof - 0.05), (0.95, 0), (0.4, 0.1)], MAIN)
        panes = [[(0.3, -0.1), (0.3, roof + 0.08), (0.6, roof + 0.08), (0.8, -0.1)]]
        windows = [-0.88, -0.3] if rng.random() < 0.5 else []
        panes += [[(x, -0.12), (x, roof + 0.08), (x + 0.46, roof + 0.08), (x + 0.46, -0.12)] for x in windows]
    else:
        sketch.polygon([(-0.2, 0), (-0.18, roof), (0.3, roof), (0.6, 0)], MAIN)
        panes = [[(-0.06, -0.1), (-0.06, 0.82 * roof), (0.24, 0.82 * roof), (0.42, -0.1)]]
        if rng.random() < 0.6:
            sketch.box(-0.98, -0.4, -0.3, 0.1, SECOND, 0.06)
    nose = u(-0.12, 0.06)
    body = [(-1.08, 0.32), (-1.06, -0.06), (-0.6, -0.12), (0.6, -0.1), (1.0, nose), (1.1, 0.34)]
    sketch.smooth([*body, (0.6, 0.42), (-0.6, 0.42)], MAIN)
    for pane in panes:
        sketch.polygon(pane, glass)
    if rng.random() < 0.6:
        sketch.line([(-0.98, 0.14), (1.0, 0.14)], u(0.07, 0.14), SECOND)
    sketch.dot(0.98, 0.1, 0.09, PALE)
    sketch.dot(-1.0, 0.1, 0.07, THIRD)
    for x in (-0.58, 0.58):
        sketch.dot(x, sill + 0.06, wheel + 0.05, DEEP)
        sketch.dot(x, sill + 0.1, wheel, THIRD)
        sketch.dot(x, sill + 0.1, 0.5 * wheel, PALE)


def _pairs(outline: Points) -> list[tuple[float, float]]:
    return [(z.real, z.imag) for z in outline]


def house(sketch: Sketch, rng: Generator) -> None:
    """Draw a house with a roof, a door and windows."""
    u = rng.uniform
    wide, high, roof, eaves = u(0.6, 0.9), u(0.6, 1.1), u(0.5, 0.85), u(0.08, 0.2)
    top = 1.0 - high
    if rng.random() < 0.65:
        x = u(0.25, 0.5) * wide
        sketch.box(x, top - 0.95 * roof, x + 0.24, top, THIRD)
        sketch.box(x - 0.04, top - 0.95 * roof - 0.06, x + 0.28, top - 0.85 * roof, SECOND)
    sketch.box(-wide, top - 0.1, wide, 1.0, MAIN)
    ridge = u(0.4, 0.7) * wide if rng.random() < 0.4 else 0.0
    sketch.polygon(
        [(-wide - eaves, top + 0.04), (-ridge, top - roof), (ridge, top - roof), (wide + eaves, top + 0.04)], SECOND
    )
    door = u(-0.5, 0.5) * wide if rng.random() < 0.5 else 0.0
    tall = min(0.55, 0.75 * high)
    sketch.box(door - 0.17, 1.0 - tall, door + 0.17, 1.0, THIRD, 0.16 if rng.random() < 0.4 else 0.02)
    sketch.dot(door + 0.09, 1.0 - 0.45 * tall, 0.045, PALE)
    size = u(0.13, 0.18)
    rows = [1.0 - 0.62 * tall] if high < 0.9 else [1.0 - 0.6 * tall, top + 0.25]
    for y in rows:
        for x in (-0.6 * wide, 0.6 * wide, 0.0):
            if abs(x - door) > 0.19 + size or y < 1.0 - tall - size:
                _window(sketch, x, y, size)
    if not ridge and rng.random() < 0.5:
        sketch.dot(0, top - 0.38 * roof, 0.14, PALE)


def _window(sketch: Sketch, x: float, y: float, size: float) -> None:
    sketch.box(x - size, y - size, x + size, y + size, PALE)
    sketch.line([(x - size, y), (x + size, y)], 0.05, DEEP)
    sketch.line([(x, y - size), (x, y + size)], 0.05, DEEP)
