"""Which fonts write a name, in whatever script it is, and what is written where none of those installed can."""

from __future__ import annotations

import functools
import logging
import unicodedata
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

FONT = "DejaVu Sans"  # comes with matplotlib
PREFERRED = ("Noto Sans", "Noto Sans CJK JP", "Noto Sans CJK SC")  # made to look alike; others by name
EAST_ASIAN = ("CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO", "FULLWIDTH", "IDEOGRAPHIC")
PICTOGRAPHS = 0x1F000  # from here on emoji and other signs
REGULAR = (400, "normal", "regular")
USELESS = ("Last Resort", "Color Emoji")  # a box for each letter; colours that matplotlib leaves out

logger = logging.getLogger("cuter.pictures")
_said: set[str] = set()  # packages


def writable(text: str) -> str:
    """Return a text as it can be written: what no installed font has is named by its code points, as in U+732B+72AC.

    What to install is said once in a log line.
    """
    missing = {letter for letter in set(text) if _family_of(letter) is None}
    parts: list[str] = []
    for is_missing, letters in groupby(text, missing.__contains__):
        if not is_missing:
            parts += letters
        elif seen := [letter for letter in letters if not _is_unseen(letter)]:
            parts.append("U" + "".join(f"+{ord(letter):04X}" for letter in seen))
            for letter in seen:
                _say_what_to_install(letter)
    return "".join(parts)


def families(text: str) -> list[str]:
    """Return matplotlib's own font, then others that are installed and have characters it lacks."""
    others = (_family_of(letter) for letter in sorted(set(text)))
    return list(dict.fromkeys([FONT, *(family for family in others if family)]))


def font_files(text: str) -> Iterator[tuple[str, str]]:
    """Yield a text in parts that one font can write, each with the file of the font."""
    for family, letters in groupby(text, _family_of):
        yield "".join(letters), _own_file() if family in (FONT, None) else _installed()[family]


def use_fonts(figure: Any) -> None:
    """Let installed fonts help out in all texts of a figure of matplotlib, ticks and legends too."""
    from matplotlib.text import Text

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            axis.get_ticklabels()  # which writes them
    texts = figure.findobj(Text)
    chosen = families("".join(text.get_text() for text in texts))
    for text in texts if len(chosen) > 1 else ():
        text.set_family(chosen)


def _family_of(letter: str) -> str | None:
    """Return the first family that has a character, in an order that is the same on all machines."""
    if letter.isascii() or ord(letter) in _characters(_own_file()):
        return FONT
    return next((family for family, file in _installed().items() if ord(letter) in _characters(file)), None)


def _installed() -> dict[str, str]:
    """Return the files of all fonts that have a regular style, by family; of others matplotlib would complain."""
    from matplotlib.font_manager import fontManager

    regular = [font for font in fontManager.ttflist if font.style == "normal" and font.weight in REGULAR]
    files = {font.name: font.fname for font in sorted(regular, key=lambda font: font.fname, reverse=True)}
    useful = [name for name in files if not any(kind in name for kind in USELESS)]
    useful.sort(key=lambda name: (PREFERRED.index(name) if name in PREFERRED else len(PREFERRED), name))
    return {name: files[name] for name in useful}


def _own_file() -> str:
    import matplotlib

    return str(Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf"))


@functools.cache
def _characters(file: str) -> frozenset[int]:
    """Return what a font has; nothing if matplotlib can't draw with it, as with the bitmaps of emoji."""
    from matplotlib.ft2font import FT2Font

    try:
        font = FT2Font(file)
    except (OSError, RuntimeError):
        return frozenset()
    return frozenset(font.get_charmap()) if font.scalable else frozenset()


def _is_unseen(letter: str) -> bool:
    """Return whether a letter is a joiner, a mark of direction or a variation selector, which nobody misses."""
    return unicodedata.category(letter) == "Cf" or unicodedata.name(letter, "").startswith("VARIATION SELECTOR")


def _say_what_to_install(letter: str) -> None:
    if unicodedata.name(letter, "").split(" ")[0] in EAST_ASIAN:
        package = "fonts-noto-cjk"
    else:
        package = "fonts-symbola" if ord(letter) >= PICTOGRAPHS else "fonts-noto-core"
    if package not in _said:
        _said.add(package)
        logger.warning(
            "No installed font has %s (U+%04X) and maybe others: pictures show the numbers of such letters. "
            "A font that has them is in the Debian package %s.", letter, ord(letter), package
        )  # fmt: skip
