import pytest
import torch

from cuter.stream.augment import AUGMENTATIONS, Augmented
from cuter.stream.resize import resize


def draw(kind: str, seed: int, images: torch.Tensor) -> torch.Tensor:
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        return AUGMENTATIONS[kind]()(images).images


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


def boxes_of(images: torch.Tensor, is_there: torch.Tensor) -> torch.Tensor:
    """The boxes around what is there, one an image."""
    boxes = []
    for mask in is_there:
        ys, xs = mask.nonzero().unbind(1)
        boxes.append([int(xs.min()), int(ys.min()), int(xs.max()) + 1, int(ys.max()) + 1])
    return torch.tensor(boxes).unsqueeze(1)


def test_boxes_find_back_to_the_image_before_a_flip() -> None:
    images = torch.zeros(20, 3, 40, 64)
    images[:, :, 10:14, 50:57] = 1
    torch.manual_seed(0)
    augmented = AUGMENTATIONS["flip"]()(images)
    there = boxes_of(augmented.images, augmented.images[:, 0] > 0)
    assert len({tuple(box) for box in there[:, 0].tolist()}) == 2, "some are mirrored, some are not"
    assert augmented.original_boxes(there)[:, 0].tolist() == [[50, 10, 57, 14]] * 20


def test_boxes_find_back_through_rotation_shear_and_shift(monkeypatch: pytest.MonkeyPatch) -> None:
    """A box around what a distorted square became holds the square; and not much more."""
    import kornia.augmentation as K

    geometry = [[(name, -0.3, 0.3)] for name in ("shear_x", "shear_y", "translate_x", "translate_y")] + [
        [("rotate", -30.0, 30.0)]
    ]
    policy = K.auto.RandAugment
    monkeypatch.setattr(K.auto, "RandAugment", lambda n, m: policy(n=n, m=m, policy=geometry))
    monkeypatch.setattr(K, "RandomErasing", lambda **_: lambda images: images)
    images = torch.zeros(30, 3, 96, 96)
    images[:, :, 40:60, 38:62] = 1
    torch.manual_seed(1)
    augmented = AUGMENTATIONS["paper"]()(images)
    there = boxes_of(augmented.images, augmented.images[:, 0] > 0.5)
    assert len({tuple(box) for box in there[:, 0].tolist()}) > 5
    found = augmented.original_boxes(there)[:, 0]
    low, high = found[:, :2], found[:, 2:]
    assert (low <= torch.tensor([39, 41])).all()
    assert (high >= torch.tensor([61, 59])).all()
    assert (low >= 8).all()
    assert (high <= 90).all()


def test_boxes_stay_inside_the_image() -> None:
    augmented = Augmented(torch.zeros(1, 3, 10, 20), torch.tensor([[[1.0, 0, -50], [0, 1, 0], [0, 0, 1]]]))
    boxes = torch.tensor([[[0, 0, 5, 10], [0, 0, 0, 0]]])
    x1, y1, x2, y2 = augmented.original_boxes(boxes)[0, 0].tolist()
    assert x1 == x2 == 20, "all of it lies beyond the right edge: nothing is left"
    assert (y1, y2) == (0, 10)


def test_no_image_at_all() -> None:
    for kind in ("flip", "none"):
        augmented = AUGMENTATIONS[kind]()(torch.zeros(0, 3, 8, 8))
        assert augmented.original_boxes(torch.zeros(0, 2, 4, dtype=torch.long)).shape == (0, 2, 4)


def test_resize_keeps_what_fits_and_squashes_the_rest() -> None:
    images = torch.randint(256, (2, 3, 16, 16), dtype=torch.uint8)
    assert resize(images, 16) is images
    flat = torch.full((1, 3, 10, 30), 77, dtype=torch.uint8)
    assert resize(flat, 16).shape == (1, 3, 16, 16)
    assert (resize(flat, 16) == 77).all()
    gradient = torch.arange(64, dtype=torch.uint8).expand(1, 3, 64, 64)
    assert (resize(gradient, 16)[0, 0, 8].int().diff() > 0).all(), "columns must stay columns"


@pytest.mark.parametrize("kind", ["none", "flip"])
def test_masks_find_back_to_the_image_before(kind: str) -> None:
    generator = torch.Generator().manual_seed(0)
    masks = torch.rand(8, 2, 4, 6, generator=generator) < 0.5
    torch.manual_seed(0)
    seen = AUGMENTATIONS[kind]()(torch.zeros(8, 3, 32, 48))
    back = seen.original_masks(masks, (4, 6))
    mirrored = seen.matrices[:, 0, 0] < 0
    assert mirrored.any() == (kind == "flip")
    assert torch.equal(back, torch.where(mirrored[:, None, None, None], masks.flip(3), masks))
    assert torch.equal(seen.carried(back[:, 0]), masks[:, 0])


def test_masks_of_another_grid_are_looked_up_at_the_centres_of_patches() -> None:
    masks = torch.zeros(1, 1, 2, 2, dtype=torch.bool)
    masks[0, 0, 0, 1] = True
    seen = AUGMENTATIONS["none"]()(torch.zeros(1, 3, 24, 24))
    expected = torch.zeros(1, 1, 3, 4, dtype=torch.bool)
    expected[0, 0, 0, 2:] = True  # the middle row lies half above and half below: its centre is below
    assert torch.equal(seen.original_masks(masks, (3, 4)), expected)


def test_masks_follow_pixels_through_rotation_shear_and_shift() -> None:
    """A bright block is where its mask is carried to, up to patches that it half covers."""
    image = torch.zeros(12, 3, 64, 64)
    image[:, :, 16:40, 24:48] = 1
    mask = torch.zeros(12, 8, 8, dtype=torch.bool)
    mask[:, 2:5, 3:6] = True
    torch.manual_seed(0)
    import kornia.augmentation as K

    move = K.RandomAffine(degrees=30, translate=(0.1, 0.1), shear=10, p=1.0)
    seen = Augmented(move(image), move.transform_matrix)
    covered = torch.nn.functional.avg_pool2d(seen.images[:, 0], 8)
    carried = seen.carried(mask)
    assert carried[covered > 0.8].all()
    assert not carried[covered < 0.2].any()
    assert (seen.original_masks(carried[:, None], (8, 8))[:, 0] & mask).sum() > 0.8 * mask.sum()
