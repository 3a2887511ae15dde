"""How fast a run is."""

import time
from collections import deque
from collections.abc import Callable


class Meter:
    """Counts images and returns the recent rate."""

    def __init__(self, window: float = 30.0, clock: Callable[[], float] = time.monotonic):
        """Start now; `window` is what counts as late, in seconds."""
        self._window = window
        self._clock = clock
        self._done = 0
        self._marks = deque([(clock(), 0)])  # (when, images done by then), oldest first

    def add(self, images: int) -> None:
        """Note that so many more images are done."""
        self._done += images
        self._marks.append((self._clock(), self._done))

    @property
    def recent(self) -> float | None:
        """Images a second over the window; None if it is too early to tell. A run that hangs is seen to slow down."""
        now = self._clock()
        # The first mark to keep is the newest one that is at least a window old.
        while len(self._marks) > 1 and self._marks[1][0] <= now - self._window:
            self._marks.popleft()
        when, done = self._marks[0]
        return (self._done - done) / (now - when) if now > when else None
