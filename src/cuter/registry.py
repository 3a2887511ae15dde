"""Names for interchangeable parts: a data set, a memory policy, a method is one file in its package."""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import Generic, TypeVar

from cuter.errors import UnknownNameError

T = TypeVar("T")


def did_you_mean(name: str, accepted: list[str]) -> str:
    """Return the end of an error message: the nearest accepted name, if any, and all of them."""
    near = get_close_matches(name, accepted, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"{hint} Accepted: {', '.join(accepted)}."


class Registry(Generic[T]):
    """Parts by name. Every module of `package` is imported on the first look-up, so that adding a file is enough."""

    def __init__(self, kind: str, package: str):
        self.kind = kind
        self.package = package
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
        package = importlib.import_module(self.package)
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{self.package}.{module.name}")
        self._discovered = True
