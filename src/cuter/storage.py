"""Files that are whole or not there: states as safetensors and JSON, atomic, with checksums. No pickle."""

import glob
import hashlib
import json
import logging
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from cuter.errors import CheckpointError

logger = logging.getLogger("cuter.storage")

MANIFEST = "manifest.json"
State = Mapping[str, Any]


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically: readers see the old or the new one, never half of it."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Write JSON atomically."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def save_states(folder: Path, states: Mapping[str, State]) -> None:
    """Write named states into a folder, atomically, with a manifest of checksums. An older folder is replaced.

    A state is a nested mapping with string keys of tensors and JSON values. What the disk refuses is an `OSError`.
    """
    _require_replaceable(folder)
    with replacing(folder) as new:
        for name, state in states.items():
            tensors: dict[str, Tensor] = {}
            plain = _separate(state, "", tensors)
            try:
                save_file(tensors, new / f"{name}.safetensors")
            except SafetensorError as error:  # how safetensors tells of a full disk
                raise OSError(f"{name}.safetensors: {error}") from error
            (new / f"{name}.json").write_text(json.dumps(plain, ensure_ascii=False), encoding="utf-8")
            shutil.copymode(new / f"{name}.json", new / f"{name}.safetensors")  # safetensors writes for the owner alone
        checksums = {file.name: _checksum(file) for file in sorted(new.iterdir())}
        (new / MANIFEST).write_text(json.dumps(checksums, indent=2), encoding="utf-8")
        for file in new.iterdir():
            sync(file)


def _require_replaceable(folder: Path) -> None:
    """Refuse to replace anything that `save_states` did not write."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    try:
        own = {MANIFEST, *json.loads((folder / MANIFEST).read_text(encoding="utf-8"))}
    except (OSError, ValueError):  # a file, a folder of something else, or a manifest that can't tell what was ours
        own = set()
    if not folder.is_dir() or any(entry.name not in own for entry in folder.iterdir()):
        raise CheckpointError(f"{folder} holds something else than a saved state: it is not replaced")


def load_state(folder: Path, name: str) -> dict[str, Any]:
    """Read one named state. Call `verify` first if the folder is not known to be whole."""
    try:
        tensors = load_file(folder / f"{name}.safetensors")
        plain = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        return _join(plain, "", tensors)  # type: ignore[no-any-return]
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise CheckpointError(f"{folder}: cannot read {name!r}: {error}") from error


def verify(folder: Path) -> None:
    """Raise `CheckpointError` unless every file of the folder is there and has its checksum."""
    try:
        checksums = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        for name, checksum in checksums.items():
            if _checksum(folder / name) != checksum:
                raise CheckpointError(f"{folder / name} is damaged: its checksum is not the one in {MANIFEST}")
    except (OSError, ValueError, AttributeError) as error:
        raise CheckpointError(f"{folder} is not a whole checkpoint: {error}") from error


def newest_whole(folders: Iterable[Path]) -> Path:
    """Return the last whole folder in the order of names, with a warning for each damaged one that is passed over.

    Raises:
        CheckpointError: None is whole. What is wrong with the last one is named.
    """
    faults: list[CheckpointError] = []
    for folder in sorted(folders, reverse=True):
        try:
            verify(folder)
        except CheckpointError as error:
            faults.append(error)
            continue
        for fault in faults:
            logger.warning("%s; %s is read in its place", fault, folder)
        return folder
    raise faults[0]


# In the JSON part a tensor leaves this mark, so that the structure of the state is read back as it was.
_TENSOR = {"__tensor__": True}


def _separate(value: Any, key: str, tensors: dict[str, Tensor]) -> Any:
    if isinstance(value, Tensor):
        tensors[key] = value.detach().cpu().contiguous()
        return _TENSOR
    if isinstance(value, Mapping):
        return {name: _separate(child, f"{key}/{name}", tensors) for name, child in value.items()}
    return value


def _join(value: Any, key: str, tensors: dict[str, Tensor]) -> Any:
    if value == _TENSOR:
        return tensors[key]
    if isinstance(value, dict):
        return {name: _join(child, f"{key}/{name}", tensors) for name, child in value.items()}
    return value


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """Yield a new folder that takes the place of `folder` at the end, or vanishes if something fails.

    No system swaps two folders at once: a kill in the instant between the two renames leaves the old one under its
    hidden name `.NAME.….old`.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.part")
    old = new.with_suffix(".old")
    new.mkdir()
    try:
        yield new
        sync(new)
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
        sync(folder.parent)
    except BaseException:
        if old.exists() and not folder.exists():
            old.rename(folder)
        raise
    finally:
        shutil.rmtree(new, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def restore_replaced(folder: Path) -> None:
    """Clear away what a killed process has left of replacing a folder; if it left no folder, bring the old one back.

    Nobody may be replacing the folder meanwhile.
    """
    for old in folder.parent.glob(f".{glob.escape(folder.name)}.????????.old"):
        if folder.exists():
            shutil.rmtree(old)
        else:
            old.rename(folder)
    for part in folder.parent.glob(f".{glob.escape(folder.name)}.????????.part"):
        shutil.rmtree(part)


def bytes_in(folder: Path) -> int:
    """Return how many bytes the files of a folder have, those of its sub-folders included."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync(path: Path) -> None:
    """Wait until the disk has it: a rename must not survive a power cut that its content did not."""
    if os.name == "nt":  # Windows can't do so with a descriptor that only reads, nor with a folder
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
