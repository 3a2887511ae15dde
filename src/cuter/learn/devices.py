"""Where tensors live."""

import torch

from cuter.errors import ConfigError


def choose_device(name: str = "auto") -> torch.device:
    """Return the device of this name; 'auto' takes CUDA, then MPS, then the CPU."""
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        name = next(kind for kind in ("cuda", "mps", "cpu") if available[kind])
    kind = name.split(":")[0]
    if not available.get(kind):
        accepted = ", ".join(["auto", *(kind for kind, there in available.items() if there)])
        raise ConfigError(f"device {name!r} is not available here. Accepted: {accepted}")
    try:
        return torch.device(name)
    except RuntimeError:  # a number that is none
        raise ConfigError(f"device {name!r} must be a kind, or a kind and a number, as in cuda:0") from None
