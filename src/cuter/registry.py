"""Names for interchangeable parts: a data set, a memory policy, a method is one file in its package, or in yours."""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

from cuter.errors import ConfigError, UnknownNameError

T = TypeVar("T")


def did_you_mean(name: str, accepted: list[str]) -> str:
    """Return the end of an error message: the nearest accepted name, if any, and all of them."""
    near = get_close_matches(name, accepted, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"{hint} Accepted: {', '.join(accepted)}."


class Registry(Generic[T]):
    """Parts by name.

    On the first look-up every module of `package` is imported, and every entry point of the group `entry_points` of
    installed packages, so that adding a file or installing a package is enough.

    Args:
        kind: What the parts are called in messages, as "memory policy".
        package: Package, or module, that holds the parts.
        group: Group of entry points by which other packages add parts, as "cuter.memories".
        settings: Settings of a part that has none of its own; a part names its own as its attribute `Settings`.
    """

    def __init__(self, kind: str, package: str, group: str = "", settings: Any = None):
        self.kind = kind
        self.package = package
        self.group = group
        self.settings = settings
        self._parts: dict[str, T] = {}
        self._discovered = False

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that files a part under `name`."""

        def file(part: T) -> T:
            if name in self._parts:
                raise ValueError(f"two parts claim the {self.kind} name {name!r}")
            self._parts[name] = part
            return part

        return file

    def settings_of(self, name: str) -> Any:
        """Return the class of the settings of the part of this name."""
        return getattr(self[name], "Settings", self.settings)

    def __getitem__(self, name: str) -> T:
        self._discover()
        if name not in self._parts:
            raise UnknownNameError(f"unknown {self.kind} {name!r}.{did_you_mean(name, list(self))}")
        return self._parts[name]

    def __iter__(self) -> Iterator[str]:
        self._discover()
        return iter(sorted(self._parts))

    def _discover(self) -> None:
        if self._discovered:
            return
        self._discovered = True  # before: a part may look for others while it is imported
        package = importlib.import_module(self.package)
        for module in pkgutil.iter_modules(getattr(package, "__path__", [])):
            importlib.import_module(f"{self.package}.{module.name}")
        for entry in entry_points(group=self.group) if self.group else ():
            try:
                entry.load()
            except Exception as error:
                raise ConfigError(
                    f"the package {entry.dist.name if entry.dist else entry.value} offers the {self.kind} "
                    f"{entry.name!r}, but it cannot be imported: {error}"
                ) from error
