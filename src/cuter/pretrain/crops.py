"""Multi-crop: each image becomes some large and some small views, in other colours (Caron et al. 2020 and 2021).

A crop with its resizing, mirroring and blur is linear in the pixels, and separable: rows · image · columnsᵀ. Jitter of
brightness, contrast, saturation and hue is an affine map of RGB. So the views of a whole batch are a few matrix
products, each image with draws of its own, at a small part of the cost of a training step.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

# Strengths and chances are DINO's.
ASPECT = (3 / 4, 4 / 3)
JITTER = 0.8  # chance
BRIGHTNESS, CONTRAST, SATURATION, HUE = 0.4, 0.4, 0.2, 0.1  # hue: of a full turn
GREY = 0.2  # chance
NEAR = 8  # how many times the smallest part of an image goes into the largest
BLUR = (0.1 / 224, 2.0 / 224)  # sigma, as a share of the view's side

LUMA = torch.tensor([0.299, 0.587, 0.114])
YIQ = torch.tensor([[0.299, 0.587, 0.114], [0.5959, -0.2746, -0.3213], [0.2115, -0.5227, 0.3112]])


@dataclass(frozen=True, slots=True)
class View:
    """What a view may be: its side in pixels, its share of the image's area, the chances of blur and of solarising."""

    size: int
    scale: tuple[float, float]
    blur: float = 0.0
    solarise: float = 0.0


def multi_crop(
    images: Tensor, views: Sequence[View], generator: Generator, colour: float = 1.0, part: float = 1.0
) -> list[Tensor]:
    """Return one view of each kind for each of the uint8 images (B, 3, H, W): floats in 0..1 of (B, 3, size, size).

    `colour` is the strength of all changes of colour: 0 leaves colours as they are. All views of an image show the
    same part of it, of a share of its area between an eighth of `part` and `part`: near and far. Everything is drawn
    from the generator, a number of values that depends on B, the number of views, and whether there are parts (`part`
    below 1).
    """
    pixels = images.float() / 255
    parts = whole(pixels)
    if part < 1:
        shares = uniform(len(pixels), (math.log(part / NEAR), math.log(part)), generator).exp()
        parts = draw_windows(parts, shares, generator)
    return [make_view(pixels, view, generator, colour, parts) for view in views]


def whole(pixels: Tensor) -> Tensor:
    """Return the windows (B, 4) that show all of the images (B, 3, H, W)."""
    height, width = pixels.shape[-2:]
    return torch.tensor([[0.0, 0.0, width, height]]).repeat(len(pixels), 1)


def make_view(
    pixels: Tensor, view: View, generator: Generator, colour: float = 1.0, parts: Tensor | None = None
) -> Tensor:
    """Return one view of each of the images (B, 3, H, W), floats in 0..1, or of their parts, windows (B, 4)."""
    shares = uniform(len(pixels), view.scale, generator)
    windows = draw_windows(whole(pixels) if parts is None else parts, shares, generator)
    mirrored, blurred, solarised = torch.rand(3, len(pixels), generator=generator)
    sigma = uniform(len(pixels), BLUR, generator) * view.size
    map_colours = draw_colours(len(pixels), colour, generator)

    cropped = crop(pixels, windows, view.size, mirrored < 0.5, sigma * (blurred < view.blur))
    recoloured = map_colours(cropped)
    inverted = (solarised < view.solarise * colour).to(pixels.device).view(-1, 1, 1, 1)
    return torch.where(inverted & (recoloured >= 0.5), 1 - recoloured, recoloured)


def draw_windows(parts: Tensor, shares: Tensor, generator: Generator) -> Tensor:
    """Draw a window inside of each of the windows (B, 4), of a share (B,) of its area.

    Windows are x1, y1, x2, y2 in whole pixels, half-open.
    """
    left, top, right, bottom = parts.unbind(dim=1)
    width, height = right - left, bottom - top
    aspect = uniform(len(parts), (math.log(ASPECT[0]), math.log(ASPECT[1])), generator).exp()
    across = (width * (shares * aspect).sqrt()).round().clamp(min=1).minimum(width)
    down = (height * (shares / aspect).sqrt()).round().clamp(min=1).minimum(height)
    places = torch.rand(2, len(parts), generator=generator)
    x1, y1 = left + (places[0] * (width - across + 1)).floor(), top + (places[1] * (height - down + 1)).floor()
    return torch.stack([x1, y1, x1 + across, y1 + down], dim=1)


def crop(pixels: Tensor, windows: Tensor, size: int, mirrored: Tensor, sigma: Tensor) -> Tensor:
    """Return what the windows (B, 4) show of the images, resized to size × size with antialiasing.

    Images are mirrored where `mirrored`, and blurred by a Gaussian of `sigma` pixels of the result; 0 does not blur.
    """
    height, width = pixels.shape[-2:]
    x1, y1, x2, y2 = windows.unbind(dim=1)
    blur = _blurring(sigma, size)
    rows = blur @ _resampling(y1, y2, height, size)
    columns = blur @ _resampling(x1, x2, width, size)
    columns = torch.where(mirrored.view(-1, 1, 1), columns.flip(1), columns)
    rows, columns = rows.to(pixels).unsqueeze(1), columns.to(pixels).unsqueeze(1)
    return rows @ pixels @ columns.mT


def _resampling(first: Tensor, last: Tensor, source: int, size: int) -> Tensor:
    """Return matrices (B, size, source) that resize the pixels from `first` to before `last` to `size` pixels.

    Each row is a triangle, as wide as a pixel of the result or of the source, whichever is wider: the same as cropping
    and then `interpolate(mode="bilinear", antialias=True)`.
    """
    first, last = first.view(-1, 1, 1), last.view(-1, 1, 1)
    step = (last - first) / size
    centres = first + (torch.arange(size).view(1, -1, 1) + 0.5) * step
    pixels = torch.arange(source).view(1, 1, -1) + 0.5
    weights = (1 - (pixels - centres).abs() / step.clamp(min=1)).clamp(min=0)
    weights = weights * ((pixels > first) & (pixels < last))
    return weights / weights.sum(dim=2, keepdim=True)


def _blurring(sigma: Tensor, size: int) -> Tensor:
    """Return matrices (B, size, size) that blur a line of pixels by a Gaussian."""
    places = torch.arange(size, dtype=torch.float32)
    distances = (places.view(-1, 1) - places) ** 2
    weights = torch.exp(-distances / (2 * sigma.clamp(min=1e-3).view(-1, 1, 1) ** 2))  # 1e-3: the identity
    return weights / weights.sum(dim=2, keepdim=True)


@dataclass(frozen=True, slots=True, eq=False)
class ColourMap:
    """An affine map of RGB for each image, in two parts: `matrices` (B, 3, 3), and `contrast` (B,).

    Contrast stretches the distance to the image's mean brightness, which neither hue nor saturation change.
    """

    matrices: Tensor
    contrast: Tensor

    def __call__(self, images: Tensor) -> Tensor:
        """Map images (B, 3, H, W), floats in 0..1, and clip what leaves this range."""
        matrices, contrast = self.matrices.to(images), self.contrast.to(images).view(-1, 1, 1)
        flat = matrices @ images.flatten(2)
        brightness = (LUMA.to(images) @ flat).mean(dim=1).view(-1, 1, 1)
        flat = contrast * flat + (1 - contrast) * brightness
        return flat.clamp(0, 1).view_as(images)


def draw_colours(count: int, strength: float, generator: Generator) -> ColourMap:
    """Draw jitter of brightness, contrast, saturation and hue for most images, and grey for some."""
    amounts = 2 * torch.rand(4, count, generator=generator) - 1
    jittered, grey = torch.rand(2, count, generator=generator)
    amounts = strength * amounts * (jittered < JITTER)
    brightness, contrast, saturation = (
        (1 + amount * value).clamp(min=0)
        for amount, value in zip((BRIGHTNESS, CONTRAST, SATURATION), amounts, strict=False)
    )
    saturation = torch.where(grey < GREY * strength, 0.0, saturation)
    return ColourMap(brightness.view(-1, 1, 1) * _saturating(saturation) @ _turning(HUE * amounts[3]), contrast)


def _saturating(factor: Tensor) -> Tensor:
    """Return matrices (B, 3, 3) that scale the distance of colours to grey: 0 makes an image grey."""
    factor = factor.view(-1, 1, 1)
    return factor * torch.eye(3) + (1 - factor) * LUMA.expand(3, 3)


def _turning(turns: Tensor) -> Tensor:
    """Return matrices (B, 3, 3) that turn the hue by a share of the full circle, in the plane of I and Q."""
    cosine, sine = (2 * math.pi * turns).cos(), (2 * math.pi * turns).sin()
    zero, one = torch.zeros_like(turns), torch.ones_like(turns)
    rotation = torch.stack([one, zero, zero, zero, cosine, -sine, zero, sine, cosine], dim=1).view(-1, 3, 3)
    back: Tensor = torch.linalg.inv(YIQ)
    return back @ rotation @ YIQ


def uniform(count: int, limits: tuple[float, float], generator: Generator) -> Tensor:
    """Draw so many values between two limits."""
    low, high = limits
    return low + (high - low) * torch.rand(count, generator=generator)
