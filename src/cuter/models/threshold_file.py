"""Thresholds by class, as a file of JSON."""

from __future__ import annotations

import json
from pathlib import Path

from cuter.errors import ConfigError


def read_thresholds(path: Path) -> dict[str, float]:
    """Read a JSON object of class names and thresholds, which are probabilities.

    Args:
        path: The file.

    Returns:
        The threshold of each class that is named.

    Raises:
        ConfigError: There is no such file, or it holds something else.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from cuter.models.threshold_file import read_thresholds
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder, "thresholds.json")
        ...     written = file.write_text('{"cat": 0.4}')
        ...     read_thresholds(file)
        {'cat': 0.4}
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read as thresholds: {error}") from None
    if not isinstance(found, dict):
        raise ConfigError(f'{path} must be a JSON object of thresholds by class, such as {{"cat": 0.4}}')
    for name, value in found.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ConfigError(f"{path}: the threshold for {name!r} must be a number from 0 to 1, not {value!r}")
    return {name: float(value) for name, value in found.items()}
