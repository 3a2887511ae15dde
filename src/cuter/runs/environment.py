"""What a result depends on beside its configuration."""

import importlib.metadata
import os
import platform
from typing import Any

import torch

LIBRARIES = ("cuter", "torch", "transformers", "kornia", "numpy", "Pillow", "safetensors")


def describe_environment(device: torch.device) -> dict[str, Any]:
    """Name versions and hardware."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "libraries": {name: importlib.metadata.version(name) for name in LIBRARIES},
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
    }
