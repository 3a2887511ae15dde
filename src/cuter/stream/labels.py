"""The list of labels that keeps growing."""

import unicodedata
from collections.abc import Iterable, Iterator

from cuter.errors import BatchError, UnknownNameError
from cuter.registry import did_you_mean


def clean_name(name: str) -> str:
    """Return a class name without blanks around it and in one Unicode form: 'é' is typed in two ways."""
    return unicodedata.normalize("NFC", name.strip())


def has_control_characters(name: str) -> bool:
    """Tell whether a name holds what no keyboard types, such as a line break, a tab or a zero byte."""
    return any(unicodedata.category(letter) == "Cc" for letter in name.strip())


def alike(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the groups of names that differ only in case, in blanks or in characters that are not seen.

    Examples:
        >>> alike(["cat", "dog", "Cat", "hot dog", "hot  dog"])
        [('cat', 'Cat'), ('hot dog', 'hot  dog')]
    """
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        seen = "".join(letter for letter in name if unicodedata.category(letter) != "Cf")  # as a zero-width blank
        groups.setdefault(" ".join(seen.casefold().split()), []).append(name)
    return [tuple(group) for group in groups.values() if len(group) > 1]


class LabelSpace:
    """Class names by column. Names are only ever added at the end: a column never changes its meaning.

    Args:
        names: The first names.

    Raises:
        BatchError: A name is empty, or no text.

    Examples:
        >>> from cuter import LabelSpace
        >>> labels = LabelSpace(["cat", "dog"])
        >>> labels.add(["dog", "car"])
        ['car']
        >>> labels.names, labels.column("car"), "bus" in labels
        (('cat', 'dog', 'car'), 2, False)
    """

    def __init__(self, names: Iterable[str] = ()):
        self._columns: dict[str, int] = {}
        self.add(names)

    def add(self, names: Iterable[str]) -> list[str]:
        """Add the names that are new, in their order, and return them."""
        names = list(names)
        if bad := [name for name in names if not isinstance(name, str) or not name.strip()]:
            raise BatchError(f"a class name must be a non-empty string, not {bad[0]!r}")
        new = [name for name in dict.fromkeys(names) if name not in self._columns]
        for name in new:
            self._columns[name] = len(self._columns)
        return new

    @property
    def names(self) -> tuple[str, ...]:
        """Names in the order of their columns."""
        return tuple(self._columns)

    def column(self, name: str) -> int:
        """Return the column of one name."""
        if name not in self._columns:
            raise UnknownNameError(f"unknown class {name!r}.{did_you_mean(name, list(self._columns)[:50])}")
        return self._columns[name]

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"LabelSpace({list(self._columns)})"
