"""A small world of coloured shapes, rendered by code: a data set for tests that takes no time to speak of."""

import csv
import math
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

SIZE = 64

# Corners on a unit circle: (number of points, inner radius) draws polygons and stars alike. Hue goes from 0 to 255.
SHAPES = {
    "circle": (40, 1.0, 0),
    "cross": (4, 0.25, 32),
    "diamond": (4, 0.71, 64),
    "flower": (7, 0.75, 96),
    "hexagon": (6, 0.87, 128),
    "spark": (9, 0.35, 160),
    "star": (5, 0.4, 192),
    "triangle": (3, 0.5, 224),
}
CLASSES = tuple(SHAPES)


def render_shapes(root: Path, train: int, test: int, seed: int = 0) -> None:
    """Write images with one to three shapes and their labels as train.csv and test.csv, as the data set 'folder' reads.

    Classes are long-tailed: the first is about four times as frequent as the last.
    """
    rng = np.random.default_rng(seed)
    (root / "images").mkdir(parents=True, exist_ok=True)
    for split, count in (("train", train), ("test", test)):
        with (root / f"{split}.csv").open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(["path", "labels"])
            for number in range(count):
                image, labels = _scene(rng)
                path = f"images/{split}-{number:05d}.png"
                image.save(root / path)
                rows.writerow([path, ";".join(sorted(labels))])


def _scene(rng: np.random.Generator) -> tuple[Image.Image, set[str]]:
    frequency = np.geomspace(4, 1, len(CLASSES))
    chosen = rng.choice(CLASSES, size=rng.integers(1, 4), replace=False, p=frequency / frequency.sum())
    background = rng.normal(rng.uniform(40, 200, size=3), 18, (SIZE, SIZE, 3)).clip(0, 255)
    image = Image.fromarray(background.astype(np.uint8))
    for name in chosen:
        _draw(ImageDraw.Draw(image), str(name), rng)
    return image, {str(name) for name in chosen}


def _draw(canvas: ImageDraw.ImageDraw, name: str, rng: np.random.Generator) -> None:
    points, inner, hue = SHAPES[name]
    radius = rng.uniform(0.14, 0.24) * SIZE
    x, y = rng.uniform(radius, SIZE - radius, size=2)
    turn = rng.uniform(0, 2 * math.pi)
    corners = [
        (
            x + radius * (1 if corner % 2 == 0 else inner) * math.cos(turn + math.pi * corner / points),
            y + radius * (1 if corner % 2 == 0 else inner) * math.sin(turn + math.pi * corner / points),
        )
        for corner in range(2 * points)
    ]
    colour = Image.new("HSV", (1, 1), ((hue + int(rng.integers(-12, 13))) % 256, 220, 235)).convert("RGB")
    canvas.polygon(corners, fill=colour.getpixel((0, 0)))
