"""Original checkpoint files: read without running any code, and take the encoder out of its wrapping."""

import argparse
import pickle
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from cuter.errors import BackboneError

SUFFIXES = (".pth", ".pth.tar", ".pt", ".bin", ".safetensors")

# What training scripts put around a state dict. Of DINO's two networks the teacher is the better one.
_CONTAINERS = ("teacher", "model", "state_dict", "student")

# Where a file holds several encoders: MoCo's own evaluation takes the trained one, not its momentum copy.
_CHOSEN = ("teacher", "base_encoder", "encoder_q")


def read_checkpoint(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a checkpoint by name."""
    try:
        content = load_file(path) if path.suffix == ".safetensors" else _read_pickle(path)
    except (OSError, EOFError, RuntimeError, SafetensorError, pickle.UnpicklingError) as error:
        raise BackboneError(f"{path} was not loaded: {why_refused(error)}") from error
    tensors = {name: value for name, value in _unwrap(content).items() if isinstance(value, Tensor)}
    if not tensors:
        raise BackboneError(f"{path} holds no tensors, nor any under {', '.join(_CONTAINERS)}")
    return tensors


def _read_pickle(path: Path) -> Any:
    # DINO and MAE save their command line beside the weights; a namespace can do no harm.
    with torch.serialization.safe_globals([argparse.Namespace]):
        return torch.load(path, map_location="cpu", weights_only=True)


def why_refused(error: Exception) -> str:
    """Return why a file of weights was not loaded, in words of our own."""
    if not isinstance(error, pickle.UnpicklingError):
        return str(error) or "it is empty or cut off"
    # torch's own message advises to switch its check off, which would run whatever the file asks for.
    wanted = re.search(r"GLOBAL (\S+)", str(error))
    return f"it wants to call {wanted[1]}; only tensors and plain values are read" if wanted else "it holds no weights"


def _unwrap(content: Any) -> Mapping[str, Any]:
    while isinstance(content, Mapping):
        inner = next((content[name] for name in _CONTAINERS if isinstance(content.get(name), Mapping)), None)
        if inner is None:
            return content
        content = inner
    return {}


def find_prefix(tensors: Mapping[str, Tensor], landmark: str, source: str) -> str | None:
    """Return what stands before `landmark`, a name that every encoder of a kind has; None if there is none."""
    prefixes = [name.removesuffix(landmark) for name in tensors if name == landmark or name.endswith("." + landmark)]
    if len(prefixes) <= 1:
        return next(iter(prefixes), None)
    for chosen in _CHOSEN:
        matching = [prefix for prefix in prefixes if chosen in prefix.split(".")]
        if len(matching) == 1:
            return matching[0]
    raise BackboneError(f"{source} holds several encoders: {', '.join(map(repr, prefixes))}; save one of them alone")
