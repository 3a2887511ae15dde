import pytest
import torch

from cuter.stream.augment import make_augment
from cuter.stream.resize import resize


def draw(kind: str, seed: int, images: torch.Tensor) -> torch.Tensor:
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        return make_augment(kind)(images)


@pytest.mark.parametrize("kind", ["paper", "flip"])
def test_the_seed_decides(kind: str) -> None:
    images = torch.rand(7, 3, 32, 32)
    assert torch.equal(draw(kind, 1, images), draw(kind, 1, images))
    assert not torch.equal(draw(kind, 1, images), draw(kind, 2, images))


@pytest.mark.parametrize("kind", ["paper", "flip", "none"])
@pytest.mark.parametrize("count", [1, 2, 7])
def test_shape_and_range_stay(kind: str, count: int) -> None:
    images = torch.rand(count, 3, 32, 48)
    out = draw(kind, 0, images)
    assert out.shape == images.shape
    assert out.min() >= 0
    assert out.max() <= 1


def test_none_changes_nothing() -> None:
    images = torch.rand(2, 3, 8, 8)
    assert draw("none", 0, images) is images


def test_flip_mirrors_some_images_and_leaves_the_others() -> None:
    images = torch.rand(40, 3, 8, 8)
    out = draw("flip", 0, images)
    mirrored = [torch.equal(a, b.flip(-1)) for a, b in zip(out, images, strict=True)]
    same = [torch.equal(a, b) for a, b in zip(out, images, strict=True)]
    assert all(a or b for a, b in zip(mirrored, same, strict=True))
    assert 5 < sum(mirrored) < 35


def test_paper_cuts_out_a_square_of_half_the_side() -> None:
    images = torch.rand(9, 3, 64, 64)
    grey = (draw("paper", 3, images) == 0.5).all(dim=1)
    for mask in grey:
        ys, xs = mask.nonzero().unbind(1)
        assert mask[ys.min() : ys.max() + 1, xs.min() : xs.max() + 1].sum() >= 31 * 31


def test_paper_gives_images_of_one_batch_different_operations() -> None:
    image = torch.rand(1, 3, 32, 32)
    out = draw("paper", 0, image.expand(12, -1, -1, -1).contiguous())
    assert len({tuple(row.sort().values.tolist()[::97]) for row in out.flatten(1)}) > 2


def test_resize_keeps_what_fits_and_squashes_the_rest() -> None:
    images = torch.randint(256, (2, 3, 16, 16), dtype=torch.uint8)
    assert resize(images, 16) is images
    flat = torch.full((1, 3, 10, 30), 77, dtype=torch.uint8)
    assert resize(flat, 16).shape == (1, 3, 16, 16)
    assert (resize(flat, 16) == 77).all()
    gradient = torch.arange(64, dtype=torch.uint8).expand(1, 3, 64, 64)
    assert (resize(gradient, 16)[0, 0, 8].int().diff() > 0).all(), "columns must stay columns"
