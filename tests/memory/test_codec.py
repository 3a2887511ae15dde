import pytest
import torch
from PIL import features

from cuter.errors import ConfigError
from cuter.memory import Item, MemorySettings
from cuter.memory.codec import CODECS, decode, encode, require_codec
from cuter.memory.reservoir import Reservoir

codecs = pytest.mark.parametrize("codec", CODECS)
compressing = pytest.mark.parametrize("codec", [codec for codec in CODECS if codec != "raw"])


def smooth(height: int, width: int) -> torch.Tensor:
    rows, columns = torch.linspace(0, 1, height)[:, None], torch.linspace(0, 1, width)
    return torch.stack([200 * rows + 0 * columns, 255 * rows * columns, 180 * (1 - columns) + 0 * rows]).byte()


def natural(seed: int, side: int = 96) -> torch.Tensor:
    """Return noise whose amplitude falls with frequency as that of photographs does (Field 1987)."""
    noise = torch.randn(3, side, side, generator=torch.Generator().manual_seed(seed))
    rows, columns = torch.fft.fftfreq(side)[:, None], torch.fft.rfftfreq(side)
    spectrum = torch.fft.rfft2(noise) / (rows**2 + columns**2).sqrt().clamp(min=1 / side)
    shades = torch.fft.irfft2(spectrum, s=(side, side))
    shades = shades.mean(dim=0, keepdim=True) + 0.1 * shades  # channels go together
    return (128 + 35 * shades / shades.std()).clamp(0, 255).byte()


def error(image: torch.Tensor, codec: str) -> float:
    return (decode(encode(image, codec)).float() - image.float()).abs().mean().item()


@compressing
def test_an_image_comes_back_nearly_as_it_was(codec: str) -> None:
    assert encode(smooth(96, 80), codec).ndim == 1
    assert error(smooth(96, 80), codec) < 1.5
    assert error(natural(0), codec) < 4


def test_raw_comes_back_exactly() -> None:
    noise = torch.randint(256, (3, 20, 30), dtype=torch.uint8)
    assert torch.equal(decode(encode(noise, "raw")), noise)


@codecs
@pytest.mark.parametrize("size", [(1, 1), (1, 40), (37, 3), (50, 81), (224, 224)])
def test_any_size_keeps_its_shape_and_never_grows(codec: str, size: tuple[int, int]) -> None:
    image = smooth(*size)
    stored = encode(image, codec)
    assert stored.dtype == torch.uint8
    assert stored.numel() <= image.numel()
    assert decode(stored).shape == image.shape
    assert decode(stored).is_contiguous()


@compressing
def test_an_image_that_would_not_shrink_stays_as_it_is(codec: str) -> None:
    image = torch.randint(256, (3, 1, 1), dtype=torch.uint8)
    assert torch.equal(encode(image, codec), image)
    assert error(image, codec) == 0


@codecs
def test_noise_can_be_stored_too(codec: str) -> None:
    """Pillow's `optimize` for JPEG fails on this."""
    noise = torch.randint(256, (3, 224, 224), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    assert decode(encode(noise, codec)).shape == noise.shape


@codecs
def test_a_view_of_a_larger_image_is_stored_as_what_it_shows(codec: str) -> None:
    image = smooth(100, 100)
    view = image[:, 10:70, 20:90]
    assert torch.equal(decode(encode(view, codec)), decode(encode(view.clone(), codec)))


@compressing
def test_the_same_budget_holds_several_times_more(codec: str) -> None:
    nothing = torch.zeros(1, dtype=torch.bool)
    items = [Item(natural(seed), nothing, nothing, str(seed)) for seed in range(120)]
    raw, memory = (
        Reservoir(10 * 96 * 96, torch.Generator().manual_seed(0), MemorySettings(codec=kind)) for kind in ("raw", codec)
    )
    for one in (raw, memory):
        one.offer(items)
    assert len(raw) == 10
    assert len(memory) >= 30
    assert memory.pixels <= memory.budget


@compressing
def test_a_pillow_without_the_codec_is_told_of(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "check", lambda name: False)
    with pytest.raises(ConfigError, match=f"Pillow has no {codec}.*'raw'"):
        require_codec(codec)
    require_codec("raw")
