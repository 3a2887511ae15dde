"""What a person sees of a cut: the photo with its regions, the eigenvectors behind them, contact sheets."""

from __future__ import annotations

import base64
import functools
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from cuter.cut.cutout import Cutout
from cuter.show.fonts import font_files, writable

Box = tuple[float, float, float, float]  # x1, y1, x2, y2, half-open
Colour = tuple[int, int, int]

# One per round, then again from the first. Okabe and Ito's palette, which colour-blind people can tell apart.
COLOURS: tuple[Colour, ...] = (
    (230, 159, 0),
    (86, 180, 233),
    (0, 158, 115),
    (240, 228, 66),
    (213, 94, 0),
    (204, 121, 167),
)
PAPER, INK, FAINT = (255, 255, 255), (30, 30, 30), (120, 120, 120)
SHOWN = 640  # pixels of a photo's longer side in the picture of a cut
THUMBNAIL = (240, 200)
LINE = 3
GAP = 14
TEXT = 16
JPEG_QUALITY = 80
OWN_FONT = str(Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf"))


def colour_of(one: Cutout) -> Colour:
    """Return the colour of this round in all pictures."""
    return COLOURS[(one.number - 1) % len(COLOURS)]


def cut_picture(image: Image.Image, regions: Sequence[Cutout], name: str) -> Image.Image:
    """Show a photo with its regions, and beside it for each round the eigenvector and the crop."""
    photo = marked(image, regions, (SHOWN, SHOWN))
    cell = (SHOWN // 2, max((photo.height - GAP - line_height()) // 2, SHOWN // 6))
    left = _captioned(photo, name, width=max(photo.width, SHOWN // 3))
    return _framed(beside([left, *(_round_column(image, one, cell) for one in regions)]))


def _round_column(image: Image.Image, one: Cutout, cell: tuple[int, int]) -> Image.Image:
    size = fitted_size(image.size, cell)  # the grid stretched to the photo's shape, as the photo was squashed to its
    patches = eigenvector_colours(one.vector).resize(size, Image.Resampling.NEAREST)
    vector = _captioned(patches, f"eigenvector {one.number}", colour_of(one))
    if not one.found:
        return below([vector, text_line("nothing found", colour_of(one))])
    crop = image.crop(one.box)
    caption = f"crop {one.number}: {crop.width} × {crop.height}"
    return below([vector, _captioned(crop.resize(fitted_size(crop.size, size)), caption, colour_of(one))])


def marked(
    image: Image.Image,
    regions: Sequence[Cutout],
    within: tuple[int, int],
    truths: Sequence[Box] = (),
    details: bool = True,
) -> Image.Image:
    """Return the image at the size that fits, with the found boxes in colour and true boxes dashed in white.

    Details are masks and scores, for which a thumbnail has no room.
    """
    found = [one for one in regions if one.found]
    shown = image.resize(fitted_size(image.size, within))
    if details:
        shown = _shaded(shown, found)
    draw = ImageDraw.Draw(shown)
    scale = (shown.width / image.width, shown.height / image.height)
    for one in reversed(found):  # the first round lies on top
        outline(draw, scaled(one.box, scale), colour_of(one))
    for truth in truths:
        _dashed(draw, scaled(truth, scale))
    taken: list[Box] = []
    for one in found if details else ():
        taken.append(
            write_label(shown, scaled(one.box, scale), f"{one.number} · {one.score:.2f}", colour_of(one), taken)
        )
    return shown


def _shaded(image: Image.Image, found: Sequence[Cutout], strength: float = 0.4) -> Image.Image:
    """Lay each mask over the image in its round's colour."""
    for one in reversed(found):
        alpha = Image.fromarray((one.mask * round(255 * strength)).astype(np.uint8))
        alpha = alpha.resize(image.size, Image.Resampling.NEAREST)
        image = Image.composite(Image.new("RGB", image.size, colour_of(one)), image, alpha)
    return image


def eigenvector_colours(vector: np.ndarray) -> Image.Image:
    """Return one pixel per patch: orange above the mean, where the object is, purple below it.

    Each side has its own scale, which ends where most of the side does: a single patch far out, as there often is,
    would make all others look flat.
    """
    deviation = vector - vector.mean()
    scaled = np.zeros_like(deviation)
    for side in (deviation > 0, deviation < 0):
        if side.any():
            scaled[side] = deviation[side] / np.quantile(np.abs(deviation[side]), 0.8)
    # Not to the ends of the colour map, which are nearly black on both sides.
    colours = matplotlib.colormaps["PuOr_r"](0.5 + 0.38 * scaled.clip(-1, 1), bytes=True)
    return Image.fromarray(np.ascontiguousarray(colours[..., :3]))


def contact_sheet(
    cells: Sequence[tuple[Image.Image, str]], title: str, max_regions: int, truths: bool = False
) -> Image.Image:
    """Lay out thumbnails with their captions in a grid, under a title and the meaning of the colours."""
    columns = max(1, round(math.sqrt(1.3 * len(cells))))
    tiles = [_centred(_captioned(image, caption, width=THUMBNAIL[0])) for image, caption in cells]
    grid = below([beside(tiles[start : start + columns]) for start in range(0, len(tiles), columns)])
    legend = [_legend(max_regions, truths)] if max_regions or truths else []
    return _framed(below([text_line(title), *legend, grid]))


def _legend(max_regions: int, truths: bool) -> Image.Image:
    entries = [text_line(f"region {turn + 1}", COLOURS[turn % len(COLOURS)]) for turn in range(max_regions)]
    if truths:
        swatch = Image.new("RGB", (36, line_height()), FAINT)
        _dashed(ImageDraw.Draw(swatch), (2, 3, 34, line_height() - 3))
        entries.append(beside([swatch, text_line("true box")], gap=6))
    return beside(entries)


def fitted_size(size: tuple[int, int], within: tuple[int, int]) -> tuple[int, int]:
    """Return the largest width and height of the same proportion that fit."""
    scale = min(within[0] / size[0], within[1] / size[1])
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def scaled(box: Box, scale: tuple[float, float]) -> Box:
    """Return the corner pixels of a box, both inside it, as Pillow takes them."""
    x1, y1 = round(box[0] * scale[0]), round(box[1] * scale[1])
    return x1, y1, max(x1, round(box[2] * scale[0]) - 1), max(y1, round(box[3] * scale[1]) - 1)


def outline(draw: ImageDraw.ImageDraw, corners: Box, colour: Colour) -> None:
    """Draw the edge of a box."""
    x1, y1, x2, y2 = corners
    around = (x1 - 1, y1 - 1, x2 + 1, y2 + 1)  # a dark edge on both sides, so that it shows on any background
    draw.rectangle(around, outline=INK, width=LINE + 2)
    draw.rectangle(corners, outline=colour, width=LINE)


def _dashed(draw: ImageDraw.ImageDraw, corners: Box) -> None:
    x1, y1, x2, y2 = corners
    draw.rectangle(corners, outline=INK)
    for start, stop in _dashes(x1, x2):
        draw.line((start, y1, stop, y1), fill=PAPER)
        draw.line((start, y2, stop, y2), fill=PAPER)
    for start, stop in _dashes(y1, y2):
        draw.line((x1, start, x1, stop), fill=PAPER)
        draw.line((x2, start, x2, stop), fill=PAPER)


def _dashes(start: float, stop: float, on: int = 6, off: int = 3) -> Iterator[tuple[float, float]]:
    while start <= stop:
        yield start, min(start + on - 1, stop)
        start += on + off


def write_label(image: Image.Image, corners: Box, text: str, colour: Colour, taken: Sequence[Box]) -> Box:
    """Write on a ground of the box's colour, in the first corner of the box that is free; return the place."""
    x1, y1, x2, y2 = corners
    text = _shortened(writable(text), image.width - 10)
    width, height = math.ceil(_length(text)) + 10, line_height() + 2
    right, bottom = image.width - width, image.height - height
    spots = [(x1, y1), (x2 - width, y1), (x1, y2 - height), (x2 - width, y2 - height)]
    inside = [(max(min(x, right), 0), max(min(y, bottom), 0)) for x, y in spots]
    places = [(x, y, x + width, y + height) for x, y in inside]
    place = first_free(places, taken) or places[0]
    draw = ImageDraw.Draw(image)
    draw.rectangle(place, fill=colour)
    _write(draw, place[0] + 5, place[1] + 1, text)
    return place


def first_free(places: Iterable[Box], taken: Sequence[Box]) -> Box | None:
    """Return the first place that none of those taken overlaps; None if there is no such place."""
    return next((one for one in places if not any(overlap(one, other) for other in taken)), None)


def overlap(one: Box, other: Box) -> bool:
    """Return whether two boxes have some area in common."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


@functools.cache
def _font(file: str = OWN_FONT) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(file, TEXT)


def _length(text: str) -> float:
    return sum(_font(file).getlength(part) for part, file in font_files(text))


def _write(draw: ImageDraw.ImageDraw, left: float, top: float, text: str) -> None:
    """Write a line, each part of it in a font that has its letters."""
    baseline = top + _font().getmetrics()[0]
    for part, file in font_files(text):
        draw.text((left, baseline), part, fill=INK, font=_font(file), anchor="ls")
        left += _font(file).getlength(part)


def line_height() -> int:
    """Return the height of a line of text in pixels."""
    return sum(_font().getmetrics())


def text_line(text: str, mark: Colour | None = None, width: int | None = None) -> Image.Image:
    """Return a line of text, after a square of colour if asked for, shortened in its middle to fit a width."""
    indent = 0 if mark is None else TEXT + 6
    text = writable(text)
    if width is not None:
        text = _shortened(text, width - indent)
    line = Image.new("RGB", (indent + math.ceil(_length(text)) + 1, line_height()), PAPER)
    draw = ImageDraw.Draw(line)
    if mark is not None:
        top = (line.height - TEXT) // 2
        draw.rectangle((0, top, TEXT - 1, top + TEXT - 1), fill=mark)
    _write(draw, indent, 0, text)
    return line


def _shortened(text: str, width: float) -> str:
    kept = len(text)
    short = text
    while kept > 2 and _length(short) > width:
        kept -= 1
        short = f"{text[: (kept + 1) // 2]}…{text[len(text) - kept // 2 :]}"
    return short


def _captioned(image: Image.Image, text: str, mark: Colour | None = None, width: int | None = None) -> Image.Image:
    return below([text_line(text, mark, width), image], gap=4)


def _centred(tile: Image.Image) -> Image.Image:
    """Put a thumbnail with its caption on a ground of one size for all."""
    ground = Image.new("RGB", (THUMBNAIL[0], THUMBNAIL[1] + line_height() + 4), PAPER)
    ground.paste(tile, ((ground.width - tile.width) // 2, 0))
    return ground


def beside(images: Sequence[Image.Image], gap: int = GAP) -> Image.Image:
    """Put images beside each other on white."""
    return _joined(images, gap, across=True)


def below(images: Sequence[Image.Image], gap: int = GAP) -> Image.Image:
    """Put images below each other on white."""
    return _joined(images, gap, across=False)


def _joined(images: Sequence[Image.Image], gap: int, *, across: bool) -> Image.Image:
    """Put images beside or below each other on white."""
    widths, heights = zip(*(image.size for image in images), strict=True)
    gaps = gap * (len(images) - 1)
    size = (sum(widths) + gaps, max(heights)) if across else (max(widths), sum(heights) + gaps)
    joined, place = Image.new("RGB", size, PAPER), 0
    for image in images:
        joined.paste(image, (place, 0) if across else (0, place))
        place += (image.width if across else image.height) + gap
    return joined


def _framed(image: Image.Image) -> Image.Image:
    framed = Image.new("RGB", (image.width + 2 * GAP, image.height + 2 * GAP), PAPER)
    framed.paste(image, (GAP, GAP))
    return framed


def data_uri(image: Image.Image) -> str:
    """Return an RGB image as a JPEG in a data URI, so that a page loads nothing from elsewhere."""
    file = io.BytesIO()
    image.save(file, "JPEG", quality=JPEG_QUALITY)
    return f"data:image/jpeg;base64,{base64.b64encode(file.getvalue()).decode()}"
