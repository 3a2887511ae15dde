"""Rows that are under way: whatever stops a program, the next one finds what was done, in whole batches."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from cuter.errors import ConfigError, CuterError
from cuter.stream.images import path_text

Row = dict[str, Any]  # as `Tagged.as_dict` returns it


def json_line(row: Row) -> str:
    """Return a row as a line of JSON."""
    return json.dumps(row, ensure_ascii=False) + "\n"


class WorkFile:
    """Lines of JSON: the first says what was asked for, each other one is a row.

    Args:
        path: The file; one that is there is gone on with.
        header: What was asked for: who asks for something else must begin anew.
        batch_size: Rows of a batch. They are computed together, and the last digits of a score may depend on that: a
            batch that is not whole is dropped, so that the next one begins where it would have begun.

    Raises:
        ConfigError: The file was begun with another header.
        CuterError: The disk refuses to take it.
    """

    def __init__(self, path: Path, header: Row, batch_size: int):
        self.path = path
        self.header = header
        self.batch_size = batch_size
        with _told_if_refused(path):
            self.path.touch()
            self.file: BinaryIO = path.open("r+b", buffering=0)
        try:
            self.length = self._begin()
        except BaseException:
            self.file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.file.close()

    def _begin(self) -> int:
        """Write the first line, or check it; return its length."""
        begun = json_line(self.header).encode()
        with self.path.open("rb") as file:
            first = file.readline()
        if first != begun and not begun.startswith(first):
            raise ConfigError(f"{self.path} was begun {self._otherwise(first)}: begin anew with --restart")
        if first != begun:  # there was nothing, or a kill in the middle of the line
            self.length = 0
            self._append(begun)
        return len(begun)

    def _otherwise(self, first: bytes) -> str:
        """Say how the first line of the file differs from what is asked for now."""
        try:
            before = json.loads(first)
            name = next(name for name in ("model", *self.header) if before[name] != self.header[name])
        except (ValueError, KeyError, TypeError, StopIteration):
            return "by another program or version"
        if name == "model":
            return "with another model, or this one has changed since"
        return f"with another {name.replace('_', ' ')} ({before[name]}, now {self.header[name]})"

    def go_on(self, paths: Iterator[str | Path]) -> Iterator[Row]:
        """Yield the rows that are there, each after its path was taken from `paths`; then what follows is dropped.

        Raises:
            ConfigError: A row is of another path.
        """
        done = 0
        with self.path.open("rb") as file:
            file.seek(self.length)
            lines = _whole_lines(file)
            while len(batch := list(itertools.islice(lines, self.batch_size))) == self.batch_size:
                for row, _ in batch:
                    path = next(paths, None)
                    if path is None or path_text(Path(path)) != row["path"]:
                        raise ConfigError(
                            f"{self.path} was begun with other images: number {done + 1} was {row['path']}, and now "
                            f"{'there is none' if path is None else f'is {path_text(Path(path))}'}. Begin anew with "
                            "--restart"
                        )
                    done += 1
                    yield row
                self.length += sum(length for _, length in batch)

    def append(self, rows: Sequence[Row]) -> None:
        """Write the rows of a batch, together."""
        self._append("".join(map(json_line, rows)).encode())

    def _append(self, data: bytes) -> None:
        with _told_if_refused(self.path):
            self.file.seek(self.length)
            self.file.truncate()
            rest = memoryview(data)
            while rest:  # a disk that is nearly full takes a part of it first
                rest = rest[self.file.write(rest) :]
        self.length += len(data)

    def rows(self) -> Iterator[Row]:
        """Yield all rows."""
        with self.path.open("rb") as file:
            file.readline()
            while file.tell() < self.length:
                yield json.loads(file.readline())


def _whole_lines(file: BinaryIO) -> Iterator[tuple[Row, int]]:
    """Yield rows and their lengths, up to one that was not written to its end."""
    while (line := file.readline()).endswith(b"\n"):
        try:
            yield json.loads(line), len(line)
        except ValueError:  # a power cut may leave zeros
            return


@contextmanager
def _told_if_refused(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CuterError(
            f"{path} cannot be written: {error.strerror or error}. What was done before is kept: make room, and give "
            "the same command again"
        ) from error
