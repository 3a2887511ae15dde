"""How a pre-trained encoder wants its pixels."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuter.errors import BackboneError

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
LARGEST = 4096  # side of an image in pixels; a patch graph of it has up to 65,536 nodes
ASSUMED_IMAGENET = "mean and std are not given by the source: ImageNet's were assumed"


@dataclass(frozen=True, slots=True)
class Preprocessing:
    """The side that images are squashed to, and the mean and std of each channel on the scale 0..1."""

    image_size: int
    mean: tuple[float, ...] = IMAGENET_MEAN
    std: tuple[float, ...] = IMAGENET_STD

    def __post_init__(self) -> None:
        if not isinstance(self.image_size, int) or not 1 <= self.image_size <= LARGEST:
            raise BackboneError(f"image_size must be a whole number from 1 to {LARGEST}, not {self.image_size!r}")


def read_preprocessing(file: Path | None, default_size: int | None) -> tuple[Preprocessing, list[str]]:
    """Read a `preprocessor_config.json`, and say in notes what it left open."""
    notes = []
    fields = _read_json(file) if file else {}
    size = _side(file, fields) or default_size
    if size is None:
        size = 224
        notes.append("image size is not given by the source: 224 was assumed")
    mean, std = fields.get("image_mean"), fields.get("image_std")
    if fields.get("do_normalize") is False:
        mean, std = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
    elif mean is None or std is None:
        mean, std = IMAGENET_MEAN, IMAGENET_STD
        notes.append(ASSUMED_IMAGENET)
    if not all(isinstance(value, list | tuple) and len(value) == 3 for value in (mean, std)):
        raise BackboneError(f"{file}: image_mean and image_std must be three numbers each, not {mean!r} and {std!r}")
    return Preprocessing(size, tuple(mean), tuple(std)), notes


def _read_json(file: Path) -> dict[str, Any]:
    try:
        fields = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BackboneError(f"{file} cannot be read: {error}") from error
    if not isinstance(fields, dict):
        raise BackboneError(f"{file} must hold a JSON object, not {type(fields).__name__}")
    return fields


def _side(file: Path | None, fields: Mapping[str, Any]) -> int | None:
    """Return the side of the square that reaches the encoder: the crop where there is one, else the size."""
    cropped = "crop_size" in fields and fields.get("do_center_crop", True)
    field = "crop_size" if cropped else "size"
    value = fields.get(field)
    if isinstance(value, dict):
        sides = {side for side in (value.get(key) for key in ("height", "width", "shortest_edge")) if side}
        value = sides.pop() if len(sides) == 1 else value
    if value is None or (isinstance(value, int) and value > 0):
        return value
    raise BackboneError(
        f"{file}: field {field!r} is {value!r}; accepted are a whole number, "
        "a height and width that are equal, or a shortest_edge"
    )
