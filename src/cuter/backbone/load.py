"""One string names a backbone with its weights."""

import os
from pathlib import Path

from cuter.backbone.backbone import Backbone
from cuter.backbone.checkpoint import SUFFIXES
from cuter.backbone.convert import load_checkpoint
from cuter.backbone.download import fetch
from cuter.backbone.huggingface import load_pretrained
from cuter.backbone.zoo import SHORT_NAMES
from cuter.errors import BackboneError
from cuter.registry import did_you_mean


def load_backbone(name: str | os.PathLike[str], features: str | None = None) -> Backbone:
    """Load a pre-trained encoder, in single precision.

    What did not fit is in `Backbone.report`.

    Args:
        name: A short name (see `SHORT_NAMES`), a local folder in Hugging Face layout, an original checkpoint file, or
            the id of a hub repository such as `facebook/dino-vits16`.
        features: The patch features: keys (the default), values or queries for a transformer, of its last block or of
            another as in `values@6`, or tokens; tokens for a CNN.

    Returns:
        The encoder with its weights.

    Raises:
        BackboneError: There is no such encoder, it cannot be read, or it does not have these features.

    Examples:
        >>> from cuter import load_backbone
        >>> backbone = load_backbone("toybox", features="values")
        >>> backbone.name, backbone.features
        ('toybox', 'values')
    """
    name = os.fspath(name)
    if name in SHORT_NAMES:
        source = SHORT_NAMES[name]
        if "://" in source:
            return load_checkpoint(fetch(source), name, features)
        return (
            _from_folder(Path(source), name, features) if os.path.isabs(source) else _from_hub(source, name, features)
        )
    path = Path(name).expanduser()
    if path.is_dir():
        return _from_folder(path, name, features)
    if path.exists():
        return load_checkpoint(path, name, features)
    if name.startswith((os.sep, ".", "~")) or name.endswith(SUFFIXES):
        raise BackboneError(f"no such file or folder: {name}")
    return _from_hub(name, name, features)


def _from_folder(path: Path, name: str, features: str | None) -> Backbone:
    if not (path / "config.json").is_file():
        raise BackboneError(f"{path} holds no config.json, so it is not a folder in Hugging Face layout")
    try:
        return load_pretrained(str(path), name, features)
    except OSError as error:
        raise BackboneError(f"{path} is not a whole folder in Hugging Face layout: {_first_line(error)}") from error


def _from_hub(repository: str, name: str, features: str | None) -> Backbone:
    try:
        if repository.count("/") != 1:  # spare the network a name that cannot be a repository's
            raise OSError("a repository is named owner/name")
        return load_pretrained(repository, name, features)
    except OSError as error:
        known = f"{name!r} ({repository}) cannot be loaded from"
        unknown = f"{name!r} is neither a short name, nor a local path, nor reachable on"
        cure = " A local folder or checkpoint file will do, too."
        if name not in SHORT_NAMES:
            cure = did_you_mean(name, list(SHORT_NAMES)).replace("Accepted", "Short names")
        where = known if name in SHORT_NAMES else unknown
        raise BackboneError(f"{where} the Hugging Face hub: {_first_line(error)}{cure}") from error


def _first_line(error: OSError) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".") + "."
