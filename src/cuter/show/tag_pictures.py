"""Photos with their tags: a strip of names below, and boxes where they were seen."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from PIL import Image, ImageDraw

from cuter.errors import CuterError, DataError
from cuter.models.tagging import Box, Tagged
from cuter.show.pictures import (
    COLOURS,
    FAINT,
    GAP,
    Colour,
    below,
    beside,
    fitted_size,
    outline,
    scaled,
    text_line,
    write_label,
)
from cuter.stream.images import read_image

LARGEST = 1024  # pixels of the longer side, the strip of names included
SMALLEST = 480  # of a photo's longer side: names on a thumbnail could not be read
NARROWEST = 320  # of the strip
MOST = 20  # labels in it; of others the number
EDGE = 8  # of white around the names
FORMATS = {".jpg": "JPEG", ".jpeg": "JPEG", ".png": "PNG", ".webp": "WEBP"}  # others become PNG


def tagged_picture(image: Image.Image, labels: Mapping[str, float], boxes: Mapping[str, Box | None]) -> Image.Image:
    """Return a photo with the boxes of its labels, and below it all labels with their probabilities.

    A label seen in a region has a square of the colour of its box.
    """
    regions = list(dict.fromkeys(box for name in labels if (box := boxes.get(name)) is not None))
    colours = {box: COLOURS[number % len(COLOURS)] for number, box in enumerate(regions)}
    side = room = min(max(*image.size, SMALLEST), LARGEST)
    while True:  # a lower photo may be narrower, and names then need more lines
        size = fitted_size(image.size, (side, room))
        strip = _strip(labels, boxes, colours, max(size[0], NARROWEST))
        if (excess := size[1] + strip.height - LARGEST) <= 0:
            break
        room = size[1] - excess
    shown = image.resize(size, Image.Resampling.LANCZOS)
    names = {box: ", ".join(name for name in labels if boxes.get(name) == box) for box in regions}
    _mark(shown, names, colours)
    return below([shown, strip], gap=0)


def _mark(shown: Image.Image, names: Mapping[Box, str], colours: Mapping[Box, Colour]) -> None:
    corners = {box: scaled(box, (shown.width, shown.height)) for box in names}
    draw = ImageDraw.Draw(shown)
    for box in reversed(corners):
        outline(draw, corners[box], colours[box])
    taken: list[Box] = []
    for box, name in names.items():
        taken.append(write_label(shown, corners[box], name, colours[box], taken))


def _strip(
    labels: Mapping[str, float], boxes: Mapping[str, Box | None], colours: Mapping[Box, Colour], width: int
) -> Image.Image:
    """Return the names with their probabilities in as many lines as they need."""
    inner = max(width - 2 * EDGE, 1)
    parts = []
    for name, probability in list(labels.items())[:MOST]:
        box = boxes.get(name)
        figure = text_line(f" {probability:.2f}")
        word = text_line(name, None if box is None else colours[box], width=max(inner - figure.width, 1))
        parts.append(beside([word, figure], gap=0))
    if len(labels) > MOST:
        parts.append(text_line(f"and {len(labels) - MOST} more"))
    lines = [beside(line) for line in _lines(parts, inner)] or [text_line("no label", width=inner)]
    text = below(lines, gap=2)
    strip = Image.new("RGB", (width, text.height + 2 * EDGE), "white")
    ImageDraw.Draw(strip).line((0, 0, width, 0), fill=FAINT)  # a white photo ends here
    strip.paste(text, (EDGE, EDGE))
    return strip


def _lines(parts: Sequence[Image.Image], width: int) -> Iterator[list[Image.Image]]:
    line: list[Image.Image] = []
    for part in parts:
        if line and sum(one.width + GAP for one in line) + part.width > width:
            yield line
            line = []
        line.append(part)
    if line:
        yield line


class TagPictures:
    """Draws a picture for each row that is tagged, in a folder with the same names and sub-folders.

    Args:
        folder: Where the pictures go.
        top: Images are mirrored from this folder on; None: with all of their paths.
    """

    def __init__(self, folder: Path, top: Path | None = None):
        self.folder = folder
        self.top = top

    def __call__(self, row: Tagged) -> None:
        """Draw the picture of a row; a file that cannot be read has none.

        Raises:
            CuterError: The picture cannot be written.
        """
        if row.error is not None:
            return
        try:
            image = read_image(row.path)
        except DataError:  # it was readable a moment ago: its row stands
            return
        picture = tagged_picture(image, row.labels, row.boxes or {})
        file = self.place(row.path)
        part = file.with_name(f".{file.name}.part")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            picture.save(part, FORMATS[file.suffix.lower()], quality=90)
            part.replace(file)
        except OSError as error:
            raise CuterError(f"{file} cannot be written: {error.strerror or error}") from error
        finally:
            part.unlink(missing_ok=True)

    def place(self, image: Path) -> Path:
        """Return where the picture of an image goes."""
        if self.top is not None:
            image = image.relative_to(self.top)
        elif ".." in image.parts:
            image = Path(os.path.abspath(image))
        inside = image.relative_to(image.anchor)
        return self.folder / (inside if inside.suffix.lower() in FORMATS else inside.with_name(f"{inside.name}.png"))
