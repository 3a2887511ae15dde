"""How fast a run is and how long it will take."""

import time
from collections import deque
from collections.abc import Callable


class Meter:
    """Counts images: the rate of late, the rate overall and the time left. None where it is too early to tell."""

    def __init__(self, total: int | None = None, window: float = 30.0, clock: Callable[[], float] = time.monotonic):
        """Start now; `total` images are expected, `window` is what counts as late, in seconds."""
        self._total = total
        self._window = window
        self._clock = clock
        self._start = clock()
        self._done = 0
        self._marks = deque([(self._start, 0)])  # (when, images done by then), oldest first

    def add(self, images: int) -> None:
        """Note that so many more images are done."""
        self._done += images
        self._marks.append((self._clock(), self._done))
        self._forget_before_window()

    @property
    def recent(self) -> float | None:
        """Images a second over the window; a run that hangs is seen to slow down."""
        now = self._forget_before_window()
        when, done = self._marks[0]
        return (self._done - done) / (now - when) if now > when else None

    @property
    def overall(self) -> float | None:
        """Images a second since the start."""
        elapsed = self._clock() - self._start
        return self._done / elapsed if elapsed > 0 else None

    @property
    def seconds_left(self) -> float | None:
        """Time left at the recent rate."""
        rate = self.recent
        return max(self._total - self._done, 0) / rate if self._total is not None and rate else None

    def _forget_before_window(self) -> float:
        """Drop marks so that the first is the newest one at least a window old; return the time."""
        now = self._clock()
        while len(self._marks) > 1 and self._marks[1][0] <= now - self._window:
            self._marks.popleft()
        return now
