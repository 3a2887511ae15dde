"""A font of a few letters, each of them a square, so that tests do not depend on what is installed."""

from pathlib import Path

from fontTools.fontBuilder import FontBuilder  # comes with matplotlib
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib.font_manager import FontEntry


def tiny_font(file: Path, name: str, letters: str) -> FontEntry:
    """Write a font and return it as matplotlib lists it."""
    pen = TTGlyphPen(None)
    pen.moveTo((100, 0))
    for corner in ((100, 700), (900, 700), (900, 0)):
        pen.lineTo(corner)
    pen.closePath()
    square = pen.glyph()
    glyphs = {ord(letter): f"glyph{number}" for number, letter in enumerate(letters)}
    order = [".notdef", *glyphs.values()]
    font = FontBuilder(1000, isTTF=True)
    font.setupGlyphOrder(order)
    font.setupCharacterMap(glyphs)
    font.setupGlyf(dict.fromkeys(order, square))
    font.setupHorizontalMetrics(dict.fromkeys(order, (1000, 100)))
    font.setupHorizontalHeader(ascent=800, descent=-200)
    font.setupNameTable({"familyName": name, "styleName": "Regular"})
    font.setupOS2()
    font.setupPost()
    font.save(file)
    return FontEntry(fname=str(file), name=name)
