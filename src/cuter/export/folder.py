"""The folder of an export: whole or not there, and never in the place of something else."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from cuter.errors import ConfigError
from cuter.export.exported import Exported
from cuter.storage import replacing, sync

FACTS = "model.json"


@contextmanager
def export_folder(folder: str | PathLike[str]) -> Iterator[Path]:
    """Yield a new folder that takes its place at the end, or vanishes if something fails.

    Raises:
        ConfigError: The folder holds something else than an earlier export, or cannot be written.
    """
    place = Path(folder).expanduser().resolve()
    _require_replaceable(place)
    try:
        with replacing(place) as new:
            yield new
            for file in new.iterdir():
                file.chmod(0o666 & ~_umask(new))  # safetensors writes for the owner alone
                sync(file)
    except OSError as error:
        raise ConfigError(f"the export cannot be written to {place}: {error}; choose another --out") from error


def write_facts(new: Path, facts: Mapping[str, Any]) -> None:
    """Write what is known of the export, with the names of its files, by which a later export knows its own."""
    names = sorted({FACTS, *(file.name for file in new.iterdir())})
    text = json.dumps({**facts, "files": names}, indent=2, ensure_ascii=False)
    (new / FACTS).write_text(text + "\n", encoding="utf-8")


def read_exported(folder: str | PathLike[str], facts: Mapping[str, Any]) -> Exported:
    """Return what is in the folder now."""
    place = Path(folder).expanduser().resolve()
    return Exported(place, {file.name: file.stat().st_size for file in sorted(place.iterdir())}, facts)


def _require_replaceable(place: Path) -> None:
    if not place.exists() or (place.is_dir() and not any(place.iterdir())):
        return
    try:
        facts = json.loads((place / FACTS).read_text(encoding="utf-8"))
        own = set(facts["files"]) if "cuter" in facts else set()
    except (OSError, ValueError, KeyError, TypeError):  # a file, or a folder of something else
        own = set()
    if not place.is_dir() or any(entry.name not in own for entry in place.iterdir()):
        raise ConfigError(
            f"{place} holds something else than an earlier export, so it is not replaced: choose another --out"
        )


def _umask(new: Path) -> int:
    """Return the permissions that files here do not get, as the folder itself shows."""
    return ~new.stat().st_mode & 0o777
