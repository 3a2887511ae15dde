"""Image files of any kind become RGB pixels, or a `DataError` that says why not."""

import io
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from PIL import Image, UnidentifiedImageError
from torch import Tensor

from cuter.errors import DataError
from cuter.stream.quiet import quiet_pillow

MAX_PIXELS = 89_478_485  # Pillow's own limit: a quarter of a gigabyte of RGB

# An explicit list, because Pillow also opens formats that start other programs (EPS runs Ghostscript).
FORMATS = ("JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP", "PPM", "JPEG2000")

ORIENTATION_TAG = 0x0112
UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
SIDEWAYS = (5, 6, 7, 8)


def read_image(source: Path | bytes | Image.Image, max_pixels: int = MAX_PIXELS) -> Image.Image:
    """Return the image upright and in RGB, the first frame if it is animated.

    What is transparent shows white. Grey with more than 8 bits is scaled into 0..255, not clipped. An image whose
    header promises more than `max_pixels` is refused before any pixel is decoded. Every failure is a `DataError`.
    """
    return _read(source, max_pixels, at_least=None)


def read_squashed(source: Path | bytes | Image.Image, size: int, max_pixels: int = MAX_PIXELS) -> Tensor:
    """Return the image as `squash` does, without decoding a large JPEG at its full size.

    A JPEG is decoded at the smallest of its 1/1, 1/2, 1/4 or 1/8 scales that is still twice as large as needed. On a
    synthetic picture of 12 megapixels that took a fifth of the time and moved no pixel by more than two grey levels.
    """
    return squash(_read(source, max_pixels, at_least=2 * size), size)


def read_size(source: Path | bytes) -> tuple[int, int]:
    """Return the width and height that `read_image` would return, from the header of the file: no pixel is decoded.

    A PNG that notes only after its pixels that it lies on its side is the one exception.
    """
    with _opened(source) as image:
        is_turned = image.format != "TIFF" and _orientation(image) in SIDEWAYS  # Pillow has turned the size of a TIFF
        return (image.height, image.width) if is_turned else image.size


def read_images(sources: Iterable[str | Path | bytes | Image.Image], size: int) -> Tensor:
    """Read images as one tensor, ready for a `Batch`.

    Args:
        sources: Paths, encoded bytes, or Pillow images.
        size: Height and width that they are scaled to; `Learner.backbone.image_size` is what a learner looks at.

    Returns:
        uint8 (B, 3, size, size).

    Raises:
        DataError: An image cannot be read.

    Examples:
        >>> from PIL import Image
        >>> from cuter import read_images
        >>> read_images([Image.new("RGB", (40, 30)), Image.new("L", (8, 8))], size=16).shape
        torch.Size([2, 3, 16, 16])
    """
    images = [read_squashed(Path(one) if isinstance(one, str) else one, size) for one in sources]
    return torch.stack(images) if images else torch.empty(0, 3, size, size, dtype=torch.uint8)


def image_suffixes() -> frozenset[str]:
    """Return how names of files end that hold an image of a format that is read: '.jpg', '.png' …"""
    return frozenset(suffix for suffix, kind in Image.registered_extensions().items() if kind in FORMATS)


def path_text(path: Path) -> str:
    """Return a path as text that UTF-8 can hold, the same in every locale; bytes that are no text are escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def squash(image: Image.Image, size: int) -> Tensor:
    """Return an RGB image as uint8 (3, size, size), its sides scaled each on its own, with antialiasing."""
    if image.mode != "RGB":
        raise ValueError(f"squash takes an RGB image, as read_image returns, not one of mode {image.mode!r}")
    pixels = np.array(image.resize((size, size), Image.Resampling.BILINEAR))
    return torch.from_numpy(pixels).permute(2, 0, 1).contiguous()


def _read(source: Path | bytes | Image.Image, max_pixels: int, at_least: int | None) -> Image.Image:
    with _opened(source) as image:
        # drafting would shrink the caller's own image
        return _decode(image, max_pixels, at_least=None if image is source else at_least)


@contextmanager
def _opened(source: Path | bytes | Image.Image) -> Iterator[Image.Image]:
    """Open an image; a failure in doing so, or in what is then done with it, is a `DataError`."""
    try:
        with quiet_pillow():
            if isinstance(source, Image.Image):
                yield source
            else:
                with Image.open(_readable(source), formats=FORMATS) as image:
                    yield image
    except Exception as error:  # on damaged files Pillow's parsers raise nearly everything, from IndexError on
        raise DataError(f"{_name(source)}: cannot read the image: {_reason(error)}") from error


def _readable(source: Path | bytes) -> Path | io.BytesIO:
    if not isinstance(source, Path | bytes):
        raise DataError("an image is given as a path, as encoded bytes or as a Pillow image")
    if isinstance(source, bytes):
        if not source:
            raise DataError("it is empty")
        return io.BytesIO(source)
    if source.is_dir():
        raise DataError("it is a folder")
    if source.exists() and not source.is_file():
        raise DataError("it is not a regular file")  # opening a pipe would wait for ever
    if source.stat().st_size == 0:
        raise DataError("the file is empty")
    return source


def _decode(image: Image.Image, max_pixels: int, at_least: int | None) -> Image.Image:
    width, height = image.size
    if width * height > max_pixels:
        raise DataError(f"{width}×{height} pixels are more than the limit of {max_pixels:,}")
    if min(width, height) == 0:
        raise DataError(f"it has no pixels ({width}×{height})")
    if at_least is not None:
        image.draft(None, (at_least, at_least))  # only JPEG takes the hint
    image.load()
    rgb = _rgb(_upright(image))
    rgb.info = {}  # a second look at this image must not find an orientation or a transparent colour again
    return rgb


def _upright(image: Image.Image) -> Image.Image:
    turn = UPRIGHT.get(_orientation(image))
    return image if turn is None else image.transpose(turn)


def _orientation(image: Image.Image) -> int:
    try:
        orientation = Image.Image.getexif(image).get(ORIENTATION_TAG)  # that of a PNG would decode the pixels first
    except Exception:  # damaged EXIF beside good pixels is common: show the image as it is stored
        return 1
    return orientation if isinstance(orientation, int) else 1


def _rgb(image: Image.Image) -> Image.Image:
    if image.mode == "F" or image.mode.startswith("I"):
        return Image.fromarray(_eight_bits(np.asarray(image))).convert("RGB")
    if image.has_transparency_data:
        rgba = image.convert("LA" if image.mode == "La" else "RGBA").convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(white, rgba).convert("RGB")
    return image.convert("RGB")


def _eight_bits(grey: np.ndarray) -> np.ndarray:
    """Scale wide grey values by the range they are meant in, so that a dark image stays dark.

    Integers are 16-bit; floats are 0..1, 0..255 or 16-bit, the narrowest that holds them all. Anything else is
    stretched from its lowest to its highest value.
    """
    ranges = (1.0, 255.0, 65535.0) if grey.dtype.kind == "f" else (65535.0,)
    values = np.nan_to_num(grey.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    low, high = 0.0, next((top for top in ranges if values.max() <= top), None)
    if high is None or values.min() < 0:
        low, high = float(values.min()), float(values.max())
    span = max(high - low, np.finfo(np.float64).tiny)
    return np.rint((values - low) / span * 255).astype(np.uint8)


def _name(source: Path | bytes | Image.Image) -> str:
    if isinstance(source, Path):
        return path_text(source)
    if isinstance(source, bytes):
        return f"{len(source)} bytes"
    return f"image of mode {source.mode!r}" if isinstance(source, Image.Image) else type(source).__name__


def _reason(error: Exception) -> str:
    if isinstance(error, UnidentifiedImageError):
        return f"not an image, or damaged at its start (formats read: {', '.join(FORMATS)})"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()  # without the path, which the message names already
    return str(error) or type(error).__name__
