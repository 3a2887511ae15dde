"""The rule of the paper (Sec. 2.2), counted and drawn."""

import math
from collections import Counter

import numpy as np
import pytest
import torch

from cuter.memory import Item
from cuter.memory.balanced import Balanced
from cuter.memory.reservoir import Reservoir


def item(labels: set[int], name: str = "", pixels: int = 1, columns: int = 12) -> Item:
    given = torch.zeros(columns, dtype=torch.bool)
    given[sorted(labels)] = True
    return Item(torch.zeros(3, 1, pixels, dtype=torch.uint8), given, torch.ones(columns, dtype=torch.bool), name)


def filled(counts: dict[int, int], room: int = 0, seed: int = 0) -> Balanced:
    """Return a memory with so many items of one pixel by class, and room for some more."""
    memory = Balanced(sum(counts.values()) + room, torch.Generator().manual_seed(seed))
    for label, count in counts.items():
        memory.offer([item({label} if label >= 0 else set(), f"{label}/{number}") for number in range(count)])
    return memory


@pytest.mark.parametrize(
    ("labels", "probability"),
    [
        ({0}, 0),  # a most frequent class
        ({1}, 1 - 2 / 8),
        ({2}, 1 - 5 / 8),
        ({3}, 1),  # new
        ({11}, 1),
        ({0, 2}, 1 - 5 / 8),  # the rarest counts
        ({0, 1, 2}, 1 - 2 / 8),
        ({0, 3}, 1),
        (set(), 1 - 4 / 8),  # no label is a class of its own
    ],
)
def test_the_probability_to_enter_a_full_memory(labels: set[int], probability: float) -> None:
    memory = filled({0: 8, 1: 2, 2: 5, -1: 4})
    repeats = 2000
    entered = sum(memory.accepts(item(labels)) for _ in range(repeats))
    assert abs(entered - repeats * probability) <= 4.5 * math.sqrt(repeats * probability * (1 - probability))


def test_an_offer_follows_that_probability() -> None:
    repeats, entered = 500, 0
    for seed in range(repeats):
        memory = filled({0: 4, 1: 1}, seed=seed)
        memory.offer([item({1}, "new")])
        entered += memory.items[-1].id == "new"
        assert len(memory) == 5
    assert abs(entered - repeats * 0.75) < 4.5 * math.sqrt(repeats * 0.75 * 0.25)


def test_an_invitation_is_drawn_with_that_probability_and_holds() -> None:
    memory = filled({0: 8, 1: 2, 2: 5})
    repeats = 2000
    labels = torch.tensor([[True, True, False, True]]).repeat(repeats, 1)
    invited = memory.invites(labels, largest=1)
    assert invited is not None
    for label, probability in enumerate((0, 1 - 2 / 8, 0, 1)):  # nothing shows class 2, and class 3 is new
        expected = repeats * probability
        assert abs(int(invited[:, label].sum()) - expected) <= 4.5 * math.sqrt(expected * (1 - probability))
    memory.offer([item({1}, f"new {number}") for number in range(4)], invited=True)
    assert {"new 0", "new 1", "new 2", "new 3"} <= {kept.id for kept in memory.items}
    assert memory.pixels == memory.budget


def test_all_are_invited_while_there_is_room() -> None:
    labels = torch.tensor([[True, False], [True, True]])
    invited = filled({0: 3}, room=2).invites(labels, largest=2)
    assert invited is not None
    assert torch.equal(invited, labels)
    assert filled({0: 3}, room=1).invites(labels, largest=2).tolist() == [[False, False], [False, True]]  # type: ignore[union-attr]


def test_random_items_of_the_most_frequent_class_leave() -> None:
    left: Counter[str] = Counter()
    for seed in range(800):
        memory = filled({0: 4, 1: 4, 2: 3}, seed=seed)
        before = {kept.id for kept in memory.items}
        memory.offer([item({3}, "new")])
        left.update(before - {kept.id for kept in memory.items})
    assert set(left) == {f"{label}/{number}" for label in (0, 1) for number in range(4)}
    assert all(abs(count - 100) < 4.5 * math.sqrt(800 * 7 / 64) for count in left.values())


def test_as_many_leave_as_a_large_item_needs_each_from_what_is_then_most_frequent() -> None:
    memory = filled({0: 6, 1: 4, 2: 1})
    memory.offer([item({3}, "large", pixels=5)])
    assert memory.counts()[:4].tolist() in ([3, 2, 1, 1], [2, 3, 1, 1])
    assert memory.pixels == memory.budget


def test_full_means_that_the_item_does_not_fit() -> None:
    memory = filled({0: 3, 1: 1}, room=2)
    memory.offer([item({0}, "large", pixels=3)])
    assert len(memory) == 4
    memory.offer([item({0}, "small", pixels=2)])
    assert memory.items[-1].id == "small"


def test_a_long_tailed_stream_ends_nearly_level() -> None:
    classes, capacity, length = 10, 100, 3000
    shares = 50.0 ** -(np.arange(classes) / (classes - 1))  # the head is 50 times the tail
    stream = np.random.default_rng(0).choice(classes, length, p=shares / shares.sum())
    balanced, reservoir = (policy(capacity, torch.Generator().manual_seed(0)) for policy in (Balanced, Reservoir))
    for label in stream.tolist():
        for memory in (balanced, reservoir):
            memory.offer([item({label}, columns=classes)])
    assert balanced.counts().sum() == capacity
    assert balanced.counts().max() - balanced.counts().min() <= 2
    assert reservoir.counts().max() > 10 * reservoir.counts().min()  # the stream really is long-tailed


def test_a_class_that_comes_last_gets_its_share() -> None:
    memory = filled(dict.fromkeys(range(4), 30))
    memory.offer([item({7}) for _ in range(400)])
    assert memory.counts()[7] >= 22
    assert memory.counts()[:4].min() >= 22


def test_only_the_most_frequent_lose_and_all_counts_agree_with_a_scan() -> None:
    generator = np.random.default_rng(0)
    memory = Balanced(300, torch.Generator().manual_seed(0))

    def scan() -> Counter[int]:
        return Counter(label for kept in memory.items for label in kept.classes)

    removed: list[set[int]] = []
    remove = memory.remove

    def watched(slot: int) -> None:
        counts, labels = scan(), set(memory.items[slot].classes)
        assert max(counts[label] for label in labels) == max(counts.values())
        removed.append(labels)
        remove(slot)

    memory.remove = watched  # type: ignore[method-assign]
    for _ in range(600):
        columns = 8 + len(removed) // 50
        some = {int(min(columns * value**3, columns - 1)) for value in generator.random(generator.integers(0, 4))}
        memory.offer([item(some, pixels=int(generator.integers(1, 12)), columns=columns)])
        assert memory.index.highest == max(scan().values())
        assert {label: memory.index.count(label) for label in memory.index.classes} == scan()
    assert len(removed) > 100


def test_items_without_labels_can_leave() -> None:
    memory = filled({-1: 20})
    memory.offer([item(set(), "late")])
    assert "late" not in {kept.id for kept in memory.items}
    memory.offer([item({number % 3}) for number in range(200)])
    assert memory.counts()[:3].tolist() == [5, 5, 5]


def test_without_a_budget_nothing_is_kept_and_nothing_drawn() -> None:
    memory = Balanced(0, torch.Generator().manual_seed(0))
    memory.offer([item({0}), item(set())])
    assert len(memory) == memory.index.highest == 0
    assert len(memory.sample_evenly(3)) == 0


def test_ten_thousand_classes() -> None:
    memory = Balanced(1000, torch.Generator().manual_seed(0))
    for number in range(2500):
        memory.offer([item({number * 7919 % 10_000, 9_999}, columns=10_000)])
    counts = memory.counts()
    assert len(counts) == 10_000
    assert len(memory) == counts[9_999] == memory.index.highest == 1000
    assert counts[:9_999].max() == 1
