"""Silence for a library that warns about every odd file."""

import contextlib
import ctypes
import logging
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from PIL import _imaging

_lock = threading.Lock()
_filters = ExitStack()
_readers = 0

# Without any handler of the program, logging would print Pillow's complaints about damaged files to the terminal.
logging.getLogger("PIL").addHandler(logging.NullHandler())

# The libtiff inside Pillow writes to stderr by itself, past Python. What it has to say, Pillow raises as well. A Pillow
# that was built without it, or hides it, stays as it is.
with contextlib.suppress(AttributeError, OSError):
    _libtiff = ctypes.CDLL(_imaging.__file__)
    _libtiff.TIFFSetErrorHandler(None)
    _libtiff.TIFFSetWarningHandler(None)


@contextmanager
def quiet_pillow() -> Iterator[None]:
    """Keep Pillow's warnings off the terminal while any thread is inside.

    `warnings.catch_warnings` swaps a list that all threads share, so threads that enter and leave in turn would
    restore each other's filters: the first one in sets them, the last one out restores them.
    """
    global _readers  # noqa: PLW0603 - the filters are global, and so is the number of those who rely on them
    with _lock:
        _readers += 1
        if _readers == 1:
            _filters.enter_context(warnings.catch_warnings())
            warnings.filterwarnings("ignore", module=r"PIL\.|cuter\.stream\.images")
    try:
        yield
    finally:
        with _lock:
            _readers -= 1
            if _readers == 0:
                _filters.close()
