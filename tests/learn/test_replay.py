import pytest
import torch

from cuter.learn.replay import as_batch
from cuter.memory import Item

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
