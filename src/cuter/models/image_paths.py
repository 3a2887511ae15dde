"""Which images are meant: files, folders, patterns and lists become one path after the other."""

from __future__ import annotations

import fnmatch
import hashlib
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from cuter.errors import ConfigError, NotThereError
from cuter.stream.images import FORMATS, image_suffixes, path_text

WILDCARDS = re.compile(r"[*?[]")
ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
LISTED = "-"  # stands for a list of paths


class ImagePaths:
    """Image files, found while they are asked for: however many there are, few are in memory.

    They come in the order of `sources`, and of a folder by name, sub-folders where their names are; a file that is
    found twice comes once. Going through them again looks at the folders again.

    Args:
        sources: Files, as they are; folders, for the images in them and in their sub-folders, by their suffixes;
            patterns such as 'photos/**/*.jpg', for shells that leave them as they are; '-' for the paths in `listed`.
            In folders and patterns, names that begin with a dot are passed over, and links to folders too.
        listed: A list of files and folders, one a line.
        passed_over: A folder that is not looked into: where pictures are drawn, while images are found.

    Raises:
        ConfigError: A source is a web address.
        NotThereError: A source does not exist, or has no image. Only going through the paths finds out.

    Examples:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cuter.models.image_paths import ImagePaths
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for name in ("b.jpg", "a.png", "notes.txt"):
        ...         Path(folder, name).touch()
        ...     [path.name for path in ImagePaths([folder])]
        ['a.png', 'b.jpg']
    """

    def __init__(
        self, sources: Sequence[str | Path], listed: bytes | None = None, passed_over: Path | None = None
    ) -> None:
        self.sources = [os.fspath(source) for source in sources]
        self.listed = listed or b""
        self.passed_over = None if passed_over is None else os.path.abspath(passed_over)
        self.suffixes = image_suffixes()
        for source in self.sources:
            if ADDRESS.match(source) and not os.path.exists(source):
                raise ConfigError(f"{source} is a web address: images are read from files; fetch it first")

    def __iter__(self) -> Iterator[Path]:
        found = (path for source in self.sources for path in self._of(source))
        # What one folder gives has no path twice, so that none needs to be remembered.
        is_one_folder = len(self.sources) == 1 and os.path.isdir(self.sources[0])
        return found if is_one_folder else _once(found)

    def _of(self, source: str) -> Iterator[Path]:
        if source == LISTED:
            return self._of_list()
        if os.path.lexists(source):
            return self._of_path(source)
        if WILDCARDS.search(source):
            return self._of_pattern(source)
        raise NotThereError(f"{path_text(Path(source))}: no such file or folder")

    def _of_list(self) -> Iterator[Path]:
        is_empty = True
        for number, line in enumerate(io.BytesIO(self.listed), start=1):
            if source := os.fsdecode(line.rstrip(b"\r\n")):
                is_empty = False
                if not os.path.lexists(source):
                    raise NotThereError(f"line {number} of the list: {path_text(Path(source))}: no such file or folder")
                yield from self._of_path(source)
        if is_empty:
            raise NotThereError("the list of paths is empty")

    def _of_path(self, source: str) -> Iterator[Path]:
        if not os.path.isdir(source):
            yield Path(source)
            return
        is_empty = True
        for path in self._inside(source):
            is_empty = False
            yield path
        if is_empty:
            raise NotThereError(
                f"{path_text(Path(source))} holds no image, nor do its sub-folders. Formats read: {', '.join(FORMATS)}"
            )

    def _inside(self, folder: str) -> Iterator[Path]:
        if os.path.abspath(folder) == self.passed_over:
            return
        for entry in _entries(folder):
            if entry.is_dir(follow_symlinks=False):
                yield from self._inside(entry.path)
            elif os.path.splitext(entry.name)[1].lower() in self.suffixes and not entry.is_dir():
                yield Path(entry.path)

    def _of_pattern(self, pattern: str) -> Iterator[Path]:
        top, *parts = Path(pattern).parts
        start, parts = (top, parts) if os.path.isabs(pattern) else ("", [top, *parts])
        is_empty = True
        for match in _matches(start, parts):
            for path in self._inside(match) if os.path.isdir(match) else [Path(match)]:
                is_empty = False
                yield path
        if is_empty:
            raise NotThereError(f"{path_text(Path(pattern))}: no file matches, nor has a folder that does an image")


def _matches(folder: str, parts: Sequence[str]) -> Iterator[str]:
    """Yield what matches the parts of a pattern, by name; a path may come several times."""
    if not parts:
        yield folder
        return
    part, rest = parts[0], parts[1:]
    if part == "**" and not rest:
        yield folder or "."  # as a folder: all that is in it
    elif part == "**":
        yield from _matches(folder, rest)
        for entry in _entries(folder):
            if entry.is_dir(follow_symlinks=False):
                yield from _matches(os.path.join(folder, entry.name), parts)
    elif WILDCARDS.search(part):
        matching = re.compile(fnmatch.translate(part))
        for entry in _entries(folder, hidden=part.startswith(".")):
            if matching.match(entry.name) and (not rest or entry.is_dir()):
                yield from _matches(os.path.join(folder, entry.name), rest)
    elif os.path.lexists(path := os.path.join(folder, part)):
        yield from _matches(path, rest)


def _entries(folder: str, hidden: bool = False) -> list[os.DirEntry[str]]:
    """Return what is in a folder, by name."""
    try:
        with os.scandir(folder or ".") as entries:
            shown = [entry for entry in entries if hidden or not entry.name.startswith(".")]
    except NotADirectoryError:
        return []
    except OSError as error:
        raise NotThereError(f"{path_text(Path(folder))} cannot be looked into: {error.strerror}") from error
    return sorted(shown, key=lambda entry: os.fsencode(entry.name))


def _once(paths: Iterable[Path]) -> Iterator[Path]:
    """Leave out what came before; of each path 16 bytes are kept."""
    seen = set()
    for path in paths:
        digest = hashlib.blake2b(os.fsencode(os.path.abspath(path)), digest_size=16).digest()
        if digest not in seen:
            seen.add(digest)
            yield path
