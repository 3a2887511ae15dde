"""Elements of SVG as text that is safe to put into a page: whatever comes from outside is escaped."""

import unicodedata

from markupsafe import Markup, escape

Attribute = str | float | None


def tag(name: str, *children: str, **attributes: Attribute) -> Markup:
    """Return an element. Attributes are spelled with underscores, as in `class_`; those that are None are left out."""
    given = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items() if value is not None}
    written = "".join(f' {key}="{escape(_text(value))}"' for key, value in given.items())
    inside = Markup("").join(children)
    return Markup(f"<{name}{written}>{inside}</{name}>" if inside else f"<{name}{written}/>")


def drawing(width: float, height: float, label: str, *children: str) -> Markup:
    """Return a picture that a screen reader calls by its label; its numbers stand in a table beside it."""
    return tag(
        "svg",
        *children,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_text(width)} {_text(height)}",
        width=width,
        height=height,
        role="img",
        aria_label=label,
    )


def text_width(text: str, size: float) -> float:
    """Estimate how wide a text is: no font is at hand, and those of readers differ. Rather too wide than too narrow."""
    return sum(_advance(letter) for letter in text) * size


def fitted(text: str, size: float, room: float) -> str:
    """Return a text without its end if there is no room for all of it."""
    if text_width(text, size) <= room:
        return text
    kept = text
    while kept and text_width(f"{kept}…", size) > room:
        kept = kept[:-1]
    return f"{kept.rstrip(' ,')}…"


def _advance(letter: str) -> float:
    if unicodedata.combining(letter):
        return 0.0
    return 1.0 if unicodedata.east_asian_width(letter) in "WF" else 0.6


def _text(value: str | float) -> str:
    """Write numbers to a hundredth of a pixel."""
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
