"""What each method chooses, as a table."""

import textwrap
from collections.abc import Iterator
from typing import Any

from rich.text import Text

from cuter.learn.recipe import METHODS
from cuter.learn.settings import LearnerSettings
from cuter.settings import PartSettings, Settings

PARTS = ("keeper", "memory", "head", "teacher", "regulariser")


def describe_methods() -> list[dict[str, Any]]:
    """Return for each method its summary, its parts, and what else it chooses beside the defaults."""
    return [_describe(name) for name in METHODS]


def _describe(name: str) -> dict[str, Any]:
    recipe = METHODS[name]
    settings = LearnerSettings(method=name)
    chosen = {part for part in PARTS if part != "memory" or settings.memory.images}
    return {
        "method": name,
        "summary": recipe.summary,
        "parts": {part: getattr(settings, part).kind if part in chosen else "none" for part in PARTS},
        "settings": dict(_departures(settings)) | dict(recipe.stream),
    }


def _departures(settings: Settings, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the settings that are not as they are by default, but for the method and the parts of the table."""
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if isinstance(value, PartSettings):
            if f"{prefix}{name}" not in PARTS and value.kind != field.default:
                yield f"{prefix}{name}", value.kind
            yield from _departures(value, f"{prefix}{name}.")
        elif name not in ("kind", "method") and value != field.default:
            yield f"{prefix}{name}", value


def methods_table(methods: list[dict[str, Any]], width: int) -> Text:
    """Return the methods as lines for a terminal: a row of parts, and below it what the method does.

    Where a row is too wide, parts are named below the method.

    Methods that differ in nothing but the regulariser in their name share a row.
    """
    rows = [method for method in methods if method["parts"]["regulariser"] == "none"]
    cells = [["method", *PARTS[:-1]], *([row["method"], *list(row["parts"].values())[:-1]] for row in rows)]
    widths = [max(len(line[column]) for line in cells) + 2 for column in range(len(cells[0]))]
    lines = ["".join(cell.ljust(wide) for cell, wide in zip(line, widths, strict=True)).rstrip() for line in cells]
    has_room = max(map(len, lines)) <= width
    indent = " " * (widths[0] if has_room else 2)

    def below(text: str) -> str:
        return textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)

    table = Text(f"{lines[0]}\n" if has_room else "", style="bold")
    for row, line in zip(rows, lines[1:], strict=True):
        parts = ", ".join(f"{part} {row['parts'][part]}" for part in PARTS[:-1])
        table.append(f"{line}\n" if has_room else f"{row['method']}\n{below(parts)}\n", style="not bold")
        table.append(f"{below(row['summary'])}\n", "dim")
    others = [method["method"] for method in methods if method["parts"]["regulariser"] != "none"]
    table.append(textwrap.fill(f"With a regulariser: {', '.join(others)}.", width, break_on_hyphens=False), "not bold")
    return table
