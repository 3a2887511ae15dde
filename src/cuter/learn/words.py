"""Word vectors for class names, from a file in GloVe's text format: a word and its numbers, separated by blanks."""

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import torch
from torch import Tensor

from cuter.errors import ConfigError

logger = logging.getLogger("cuter.words")


def check_word_vectors(path: Path, dim: int) -> None:
    """Refuse a file that is not there, or whose first line is not a word and `dim` numbers."""
    with _opened(path) as file:
        _vector(file.readline().split()[1:], dim, f"{path}, line 1")


def vectors_of_names(path: Path, dim: int, names: Sequence[str]) -> Tensor:
    """Return a vector (dim,) for each name: the mean of its words' vectors; NaN where the file has none of them.

    'dining table', 'dining_table' and 'Dining-Table' are two words.
    """
    words = {name: [word for word in re.split(r"[\W_]+", name.lower()) if word] for name in names}
    found = read_word_vectors(path, dim, {word for some in words.values() for word in some})
    rows = []
    for name in names:
        vectors = [found[word] for word in words[name] if word in found]
        if not vectors:
            logger.warning("%s has no vector for the class %r: it gets a random one", path, name)
        rows.append(torch.stack(vectors).mean(dim=0) if vectors else torch.full((dim,), float("nan")))
    return torch.stack(rows)


def read_word_vectors(path: Path, dim: int, words: set[str]) -> dict[str, Tensor]:
    """Read the vectors of these words, and no more of the file than is needed to find them.

    The file is read anew each time that classes come: GloVe's has a gigabyte, and most of it is never asked for.
    """
    found: dict[str, Tensor] = {}
    with _opened(path) as file:
        for number, line in enumerate(file, start=1):
            if len(found) == len(words):
                break
            word, _, numbers = line.partition(" ")
            if word in words and word not in found:
                found[word] = _vector(numbers.split(), dim, f"{path}, line {number}")
    return found


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    try:
        with path.expanduser().open(encoding="utf-8") as file:
            yield file
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"word_vectors {path}: cannot be read: {error}") from None


def _vector(numbers: list[str], dim: int, where: str) -> Tensor:
    if len(numbers) != dim:
        raise ConfigError(
            f"word_vectors {where}: a word and {dim} numbers were expected (word_dim), not {len(numbers)} numbers"
        )
    try:
        vector = torch.tensor([float(number) for number in numbers])
    except ValueError as error:
        raise ConfigError(f"word_vectors {where}: {error}") from None
    if not vector.isfinite().all():
        raise ConfigError(f"word_vectors {where}: a number is not finite")
    return vector
