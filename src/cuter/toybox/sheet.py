"""A contact sheet: what the world looks like at a glance."""

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from cuter.toybox.paint import paint
from cuter.toybox.scene import SIZE, draw_scene
from cuter.toybox.sketch import Sketch
from cuter.toybox.things import KINDS
from cuter.toybox.world import CLASSES

MARGIN, GAP = 14, 5
SCENES, ACROSS = 24, 8
COLUMNS, VARIANTS = 5, 8  # classes side by side; drawings of each, in two rows
CELL, THING, TITLE = 51, 44, 20  # pixels
PAPER, INK = (250, 248, 243), (60, 58, 54)


def contact_sheet(seed: int = 0) -> Image.Image:
    """Return a picture of the first training scenes, and below them each class alone in eight drawings."""
    rows, lines = SCENES // ACROSS, -(-len(CLASSES) // COLUMNS)
    width = 2 * MARGIN + ACROSS * (SIZE + GAP) - GAP
    block = (width - 2 * MARGIN) / COLUMNS
    line = TITLE + CELL * VARIANTS // 4 + GAP
    top = 2 * MARGIN + rows * (SIZE + GAP)
    sheet = Image.new("RGB", (width, top + lines * line + MARGIN), PAPER)
    for number in range(SCENES):
        place = MARGIN + number % ACROSS * (SIZE + GAP), MARGIN + number // ACROSS * (SIZE + GAP)
        sheet.paste(draw_scene("train", number, seed).image, place)
    writing, font = ImageDraw.Draw(sheet), ImageFont.load_default(13)
    for number, name in enumerate(CLASSES):
        x, y = int(MARGIN + number % COLUMNS * block), top + number // COLUMNS * line
        writing.text((x + 4, y + 2), name, fill=INK, font=font)
        for variant in range(VARIANTS):
            corner = x + variant % 4 * CELL, y + TITLE + variant // 4 * CELL
            _paste_thing(sheet, name, np.random.default_rng([seed, number, variant]), corner)
    return sheet


def _paste_thing(sheet: Image.Image, name: str, rng: np.random.Generator, corner: tuple[int, int]) -> None:
    sketch = Sketch()
    kind = KINDS[name]
    kind.draw(sketch, rng)
    image = paint(sketch, rng, THING, rng.uniform(-kind.lean, kind.lean), surface=kind.draw_surface(rng)).image
    sheet.paste(image, (corner[0] + (CELL - image.width) // 2, corner[1] + (CELL - image.height) // 2), image)
