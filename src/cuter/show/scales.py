"""Where things stand in a chart: scales, round numbers for their ticks, labels that keep their distance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

TEXT = 13  # pixels, as the style sheet has it
LINE = 16  # from one label to the next
TINY = 1e-9


@dataclass(frozen=True)
class Frame:
    """The place of the data within a chart, and what its edges stand for."""

    left: float
    top: float
    right: float
    bottom: float
    columns: tuple[float, float]
    values: tuple[float, float]

    def x(self, column: float) -> float:
        """Return the place of a column; a single one stands in the middle."""
        first, last = self.columns
        share = (column - first) / (last - first) if last > first else 0.5
        return self.left + share * (self.right - self.left)

    def y(self, value: float) -> float:
        """Return the height of a value."""
        low, high = self.values
        return self.bottom - (value - low) / (high - low) * (self.bottom - self.top)


def nice_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return round numbers, evenly spaced, that enclose the values."""
    size = max(abs(low), abs(high))
    span = high - low
    if span <= 1e-6 * size or span < TINY:  # round-off is no difference
        span = size if size >= TINY else 1.0
    raw = span / (count - 1)
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(size * magnitude for size in (1, 2, 2.5, 5, 10) if size * magnitude >= raw * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    if first == last:
        first, last = (first - 1, last) if low > 0 else (first, last + 1)  # 100 percent stay at the top
    return [number * step for number in range(first, last + 1)]


def tick_text(tick: float, ticks: Sequence[float]) -> str:
    """Write a tick with as many digits as its neighbours need."""
    decimals = max(0, -math.floor(math.log10(ticks[1] - ticks[0]) + 1e-9))
    if round((ticks[1] - ticks[0]) * 10**decimals, 6) % 1:
        decimals += 1  # a step of 2.5
    return f"{tick:.{decimals}f}"
