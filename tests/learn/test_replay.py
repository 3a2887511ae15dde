import pytest
import torch

from cuter.learn.replay import as_batch, augmented
from cuter.memory import Item
from cuter.memory.patches import pack
from cuter.stream.augment import AUGMENTATIONS, Augmented

NAMES = ("cat", "dog", "bird", "fish")


def item(labels: list[int], known: list[int], box: tuple[int, int, int, int] | None = None) -> Item:
    image = torch.zeros(3, 6, 8, dtype=torch.uint8)
    return Item(image, torch.tensor(labels, dtype=torch.bool), torch.tensor(known, dtype=torch.bool), "x", box)


@pytest.mark.parametrize(
    ("box", "unknown", "known"),
    [
        (None, "absent", [1, 1, 1, 1]),  # a whole image as RS replays it
        (None, "ignored", [1, 0, 0, 0]),
        ((0, 0, 8, 6), "absent", [1, 1, 1, 1]),
        ((0, 0, 8, 6), "ignored", [1, 1, 1, 1]),  # a cut-out shows its class alone, also among those that came later
    ],
)
def test_what_items_say_of_the_classes_seen_so_far(box: tuple[int, ...] | None, unknown: str, known: list[int]) -> None:
    batch = as_batch([item([1, 0], [1, 0], box)], NAMES, 16, unknown)
    assert batch.images.shape == (1, 3, 16, 16)
    assert batch.labels.int().tolist() == [[1, 0, 0, 0]]
    assert batch.known.int().tolist() == [known]


def test_items_of_all_ages_in_one_batch() -> None:
    batch = as_batch([item([1], [1]), item([0, 0, 1], [0, 1, 1], (0, 0, 2, 2))], NAMES, 16, "ignored")
    assert batch.labels.int().tolist() == [[1, 0, 0, 0], [0, 0, 1, 0]]
    assert batch.known.int().tolist() == [[1, 0, 0, 0], [1, 1, 1, 1]]


def test_nothing_to_replay() -> None:
    assert len(as_batch([], NAMES, 16, "absent")) == 0


def part_of(image: torch.Tensor, mask: torch.Tensor) -> Item:
    one = torch.tensor([True, False])
    return Item(pack(image, mask), one, one, "part", (0, 0, 8, 8), mask)


def test_a_set_of_patches_is_visible_where_it_was() -> None:
    image = torch.randint(0, 256, (3, 16, 16), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    mask = torch.tensor([[True, False], [True, True]])
    batch = as_batch([item([1], [1]), part_of(image, mask)], NAMES, 16, "ignored")
    assert batch.visible is not None
    assert torch.equal(batch.visible, torch.stack([torch.ones_like(mask), mask]))
    assert torch.equal(batch.images[1, :, 8:], image[:, 8:])
    assert (batch.images[1, :, :8, 8:] == 127).all()
    assert batch.known.int().tolist() == [[1, 0, 0, 0], [1, 1, 1, 1]]
    assert as_batch([item([1], [1])], NAMES, 16, "ignored").visible is None


def test_visible_patches_are_mirrored_with_their_image() -> None:
    image = torch.arange(16).repeat(3, 16, 1).mul(10).to(torch.uint8)
    mask = torch.tensor([[True, False], [True, False]])
    batch = as_batch([part_of(image, mask)] * 20, NAMES, 16, "absent")
    torch.manual_seed(0)
    images, visible = augmented(batch, AUGMENTATIONS["flip"]())
    assert visible is not None
    mirrored = visible[:, 0, 1]
    assert 0 < mirrored.sum() < 20
    for shown, here, is_mirrored in zip(images, visible, mirrored, strict=True):
        assert torch.equal(here, mask.flip(1) if is_mirrored else mask)
        there = here.repeat_interleave(8, 0).repeat_interleave(8, 1)
        expected = torch.where(~there, 127, batch.images[0].flip(2) if is_mirrored else batch.images[0])
        torch.testing.assert_close(shown, expected / 255)


def test_a_cut_out_that_would_leave_the_image_stays() -> None:
    def shifted(images: torch.Tensor) -> Augmented:
        matrix = torch.eye(3)
        matrix[0, 2] = 8  # to the right, by one patch
        return Augmented(images.roll(8, 3), matrix.expand(len(images), 3, 3))

    image = torch.full((3, 16, 16), 200, dtype=torch.uint8)
    left, right = (torch.tensor([[column == side for column in range(2)]] * 2) for side in range(2))
    images, visible = augmented(as_batch([part_of(image, left), part_of(image, right)], NAMES, 16, "absent"), shifted)
    assert visible is not None
    assert torch.equal(visible, torch.stack([right, right]))
    assert (images[:, :, :, 8:] == 200 / 255).all()
