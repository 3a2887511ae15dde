"""Tables that fit a terminal of any width: what has no room beside goes on below, and nothing is cut off."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

NAME = 10  # letters of the first column below which it is not made narrower for the sake of others
UNLIMITED = 10_000  # letters


class FoldedTable(Table):
    """A table that is folded into blocks of columns where it is too wide; each begins with the first column.

    Numbers, which are at the right of their columns, are never broken; names and sentences go on in the next line.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Show the table as it is where it fits, else as few blocks as have room."""
        wide = options.update(width=UNLIMITED)
        sizes = [_size(console, wide, column, self.show_header) for column in self.columns]
        needed, wanted = ([size[place] for size in sizes] for place in (0, 1))
        if not sizes or self._width(wanted) <= options.max_width:
            yield from super().__rich_console__(console, options)
            return
        if self.title:
            yield _text(console, self.title, "table.title")
        for number, places in enumerate(self._blocks(needed, wanted, options.max_width)):
            if number and not self.show_edge:
                yield Text()
            yield self._block(places, needed, wanted, options.max_width)
        if self.caption:
            yield _text(console, self.caption, "table.caption")

    def _blocks(self, needed: Sequence[int], wanted: Sequence[int], width: int) -> list[list[int]]:
        """Return the columns of each block."""
        first = min(needed[0], NAME)
        if self._width([first, *needed[1:]]) > width:
            first = min(wanted[0], width // 2)  # a name is easier to read as a whole, if there are blocks anyway
        blocks = [[0]]
        for place in range(1, len(needed)):
            if len(blocks[-1]) > 1 and self._width([first, *(needed[at] for at in (*blocks[-1][1:], place))]) > width:
                blocks.append([0])
            blocks[-1].append(place)
        return blocks

    def _block(self, places: Sequence[int], needed: Sequence[int], wanted: Sequence[int], width: int) -> Table:
        """Return a table of some columns; room that is left goes to those that want little more first."""
        widths = [min(needed[0], NAME), *(needed[place] for place in places[1:])]
        left = max(width - self._width(widths), 0)
        for number in sorted(range(len(places)), key=lambda number: wanted[places[number]] - widths[number]):
            more = min(left, wanted[places[number]] - widths[number])
            widths[number] += more
            left -= more
        block = Table(box=self.box, padding=self.padding, pad_edge=self.pad_edge, show_edge=self.show_edge)
        block.show_header, block.rows = self.show_header, self.rows
        for number, (place, size) in enumerate(zip(places, widths, strict=True)):
            block.columns.append(
                replace(self.columns[place], width=size, overflow="fold", no_wrap=False, _index=number)
            )
        return block

    def _width(self, widths: Sequence[int]) -> int:
        """Return the letters of a line whose columns have so many."""
        _, right, _, left = self.padding
        beside = (left + right) * (len(widths) if self.pad_edge else len(widths) - 1)
        lines = 0 if self.box is None else len(widths) - 1 + 2 * self.show_edge
        return sum(widths) + beside + lines


def show(console: Console, *parts: RenderableType) -> None:
    """Print tables and sentences; into a pipe or a file as wide as they need, unless COLUMNS says how wide."""
    if not console.is_terminal and "COLUMNS" not in os.environ:
        wide = console.options.update(width=UNLIMITED)
        needed = [Measurement.get(console, wide, part).maximum for part in parts if isinstance(part, Table)]
        console = Console(file=console.file, width=max(console.width, *needed, 0))
    console.print(*parts, sep="\n")


def _size(console: Console, wide: ConsoleOptions, column: Column, with_header: bool) -> tuple[int, int]:
    """Return the letters that a column needs, so that no word and no number is broken, and those of its lines."""
    cells = [Measurement.get(console, wide, cell) for cell in column.cells]
    whole = column.no_wrap or column.justify == "right"
    needed = [cell.maximum if whole else cell.minimum for cell in cells]
    wanted = [cell.maximum for cell in cells]
    if with_header:
        header = Measurement.get(console, wide, column.header)
        needed.append(header.minimum)
        wanted.append(header.maximum)
    return max(needed, default=0), max(wanted, default=0)


def _text(console: Console, text: Any, style: str) -> Text:
    return console.render_str(text, style=style) if isinstance(text, str) else text
