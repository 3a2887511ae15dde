"""The last things before a scene is a picture: light, colour cast, lens and sensor; and the shadows of things."""

from functools import cache

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from PIL import Image, ImageChops, ImageFilter

from cuter.toybox.pools import crop, speckle

GAMMAS = 9
SOFTNESS = (0.5, 3.0)  # radius in pixels
PALENESS = (0.2, 0.8)  # how near colours come to their mean


def out_of_focus(image: Image.Image, rng: Generator) -> Image.Image:
    """Return what is behind the things as a lens shows it that is set to them: softer, and paler, more or less."""
    soft, pale = rng.random(2).tolist()
    blurred = image.filter(ImageFilter.BoxBlur(SOFTNESS[0] + soft * (SOFTNESS[1] - SOFTNESS[0])))
    mean = blurred.resize((1, 1), Image.Resampling.BOX).resize(image.size)
    return Image.blend(blurred, mean, PALENESS[0] + pale * (PALENESS[1] - PALENESS[0]))


def light_and_shoot(image: Image.Image, rng: Generator) -> Image.Image:
    """Return the scene as a camera sees it."""
    # Brightness at nine points, and a cast over all: enlarged, they make a soft fall of light.
    points = (0.84 + 0.16 * rng.random((3, 3, 1))) * (1 - 0.08 * rng.random(3))
    fall = Image.fromarray((255 * points).astype(np.uint8))
    image = ImageChops.multiply(image, fall.resize(image.size, Image.Resampling.BILINEAR))
    gamma, blur, grain, x, y = rng.random(5).tolist()
    if blur < 0.35:
        image = image.filter(ImageFilter.BoxBlur(0.1 + 1.0 * blur))
    pixels = _gammas()[int(gamma * GAMMAS)].take(np.asarray(image))
    if grain < 0.6:
        pixels += crop(speckle(1 + int(9 * grain)), image.height, image.width, (x, y))
        np.clip(pixels, 0, 255, out=pixels)
    return Image.fromarray(pixels.astype(np.uint8))


@cache
def _gammas() -> list[NDArray[np.int16]]:
    """Return tables that make a picture lighter or darker."""
    return [(255 * (np.arange(256) / 255) ** power).astype(np.int16) for power in np.geomspace(0.72, 1.15, GAMMAS)]


def cast_shadow(image: Image.Image, sprite: Image.Image, x: int, y: int, on_ground: bool) -> None:
    """Darken what a thing stands on or, if it stands on nothing, what is behind it."""
    if on_ground:
        width, height = int(1.1 * sprite.width), max(4, sprite.height // 5)
        soft = _spot().resize((width, height), Image.Resampling.BILINEAR)
        image.paste(0, (x - (width - sprite.width) // 2, y + sprite.height - int(0.75 * height)), soft)
        return
    small = np.asarray(sprite.getchannel("A").reduce(4)) // 3
    soft = Image.fromarray(small).resize(sprite.size, Image.Resampling.BILINEAR)
    offset = max(2, sprite.width // 14)
    image.paste(0, (x + offset, y + offset), soft)


@cache
def _spot() -> Image.Image:
    y, x = np.mgrid[-1:1:32j, -1:1:32j]
    return Image.fromarray((130 * np.clip(1 - x**2 - y**2, 0, 1)).astype(np.uint8))
