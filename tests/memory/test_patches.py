"""Patches beside each other and back in their places."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cuter.memory import MEMORIES, Item, MemorySettings
from cuter.memory.patches import GREY, pack, unpack

masks = st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=4, max_size=4).filter(
    lambda rows: any(map(any, rows))
)


def image(height: int = 20, width: int = 15) -> torch.Tensor:
    return torch.randint(0, 256, (3, height, width), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


@given(masks)
def test_patches_come_back_to_their_places(rows: list[list[bool]]) -> None:
    mask = torch.tensor(rows)
    strip = pack(image(), mask)
    assert strip.shape == (3, 5, 5 * int(mask.sum()))
    back = unpack(strip, mask)
    there = mask.repeat_interleave(5, 0).repeat_interleave(5, 1)
    assert torch.equal(back[:, there], image()[:, there])
    assert (back[:, ~there] == GREY).all()


def test_patches_are_in_the_order_of_the_mask() -> None:
    mask = torch.tensor([[False, True, False], [False] * 3, [True, False, False], [False] * 3])
    strip = pack(image(), mask)
    assert torch.equal(strip[:, :, :5], image()[:, 0:5, 5:10])
    assert torch.equal(strip[:, :, 5:], image()[:, 10:15, 0:5])


@pytest.mark.parametrize("codec", ["raw", "jpeg", "webp"])
def test_memory_gives_patches_back(codec: str) -> None:
    """Smooth ones, which a codec keeps nearly as they are."""
    smooth = torch.arange(64).repeat(3, 64, 1).mul(3).to(torch.uint8)
    mask = torch.zeros(4, 4, dtype=torch.bool)
    mask[1, 1:] = mask[2, 2] = True
    memory = MEMORIES["balanced"](10_000, torch.Generator().manual_seed(0), MemorySettings(codec=codec))
    one = torch.ones(1, dtype=torch.bool)
    memory.offer([Item(pack(smooth, mask), one, one, "photo", (16, 16, 64, 48), mask)])
    state = memory.state_dict()
    again = MEMORIES["balanced"](10_000, torch.Generator().manual_seed(0), MemorySettings(codec=codec))
    again.load_state_dict(state)
    assert again.pixels == memory.pixels <= 4 * 16 * 16
    (drawn,) = again.sample(1)
    assert drawn.mask is not None
    assert torch.equal(drawn.mask, mask)
    there = mask.repeat_interleave(16, 0).repeat_interleave(16, 1)
    error = (unpack(drawn.image, drawn.mask).int() - smooth.int()).abs()[:, there].float().mean()
    assert error == 0 if codec == "raw" else error < 4
    assert drawn.picture.shape == (3, 32, 48)
