"""What is wrong with the rows of an annotation file, told all at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cuter.errors import DataError

SHOWN = 20  # more of them are seldom read, and seldom of another kind


class Faults:
    """Collects the `DataError` of each row, so that a file is mended in one go and not row by row.

    Examples:
        >>> from cuter.errors import DataError
        >>> faults = Faults()
        >>> for line in (1, 2):
        ...     with faults.noted():
        ...         raise DataError(f"labels.csv line {line}: no path")
        >>> faults.tell()
        Traceback (most recent call last):
        cuter.errors.DataError: 2 faults were found:
          labels.csv line 1: no path
          labels.csv line 2: no path
    """

    def __init__(self) -> None:
        self.found: list[str] = []

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note a `DataError` of what is done inside, and go on after it."""
        try:
            yield
        except DataError as error:
            self.found.append(str(error))

    def tell(self) -> None:
        """Raise one `DataError` that names the faults, if there are any."""
        if len(self.found) == 1:
            raise DataError(self.found[0])
        if self.found:
            more = len(self.found) - SHOWN
            lines = [*self.found[:SHOWN], *([f"and {more:,} more"] if more > 0 else [])]
            raise DataError("\n  ".join([f"{len(self.found):,} faults were found:", *lines]))
