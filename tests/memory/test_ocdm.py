"""OCDM against its formula, by brute force over every item that could leave."""

from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import entropy

from cuter.memory import Item
from cuter.memory.balanced import Balanced
from cuter.memory.ocdm import OptimisedDistribution
from cuter.memory.reservoir import Reservoir
from cuter.memory.shares import SharesSettings


def item(labels: set[int], name: str = "", columns: int = 6, pixels: int = 1) -> Item:
    given = torch.zeros(columns, dtype=torch.bool)
    given[sorted(labels)] = True
    return Item(torch.zeros(3, 1, pixels, dtype=torch.uint8), given, torch.ones(columns, dtype=torch.bool), name)


def make(budget: int, power: float = 0.0, seed: int = 0) -> OptimisedDistribution:
    return OptimisedDistribution(budget, torch.Generator().manual_seed(seed), SharesSettings(power=power))


def divergence(items: list[Item], target: dict[int, float]) -> float:
    """Return KL(p* ‖ p) by scipy; infinite if a class is missing."""
    held = Counter(label for one in items for label in one.classes)
    return float(entropy([*target.values()], [held[label] for label in target]))


def target(arrived: Counter[int], power: float) -> dict[int, float]:
    total = sum(count**power for count in arrived.values())
    return {label: count**power / total for label, count in arrived.items()}


some_labels = st.lists(st.sets(st.integers(0, 4), max_size=3), min_size=1, max_size=14)


@settings(max_examples=40)
@given(stream=some_labels, power=st.sampled_from([-0.03, 0.0, 0.5, 1.0]), capacity=st.integers(1, 6), batch=some_labels)
def test_each_removal_gives_the_lowest_divergence_of_all(
    stream: list[set[int]], power: float, capacity: int, batch: list[set[int]]
) -> None:
    memory = make(capacity, power)
    remove, arrived = memory.remove, Counter()
    removed: list[str] = []

    def watched(slot: int) -> None:
        share = target(arrived, power)
        without = [divergence(memory.items[:j] + memory.items[j + 1 :], share) for j in range(len(memory))]
        if min(without) < np.inf:
            assert without[slot] == pytest.approx(min(without), abs=1e-9)
        removed.append(memory.items[slot].id)
        remove(slot)

    memory.remove = watched  # type: ignore[method-assign]
    for some in (stream, batch):
        arrived.update(label for labels in some for label in labels or {-1})
        memory.offer([item(labels, str(number)) for number, labels in enumerate(some)])
    assert len(removed) == max(0, len(stream) + len(batch) - capacity)
    assert len(memory) == min(capacity, len(stream) + len(batch))


def test_greedy_removal_against_every_choice_of_a_subset() -> None:
    """With one label an item, greedy finds the best of all subsets; with several it may not, but comes near."""
    rng = np.random.default_rng(0)
    for number in range(8):
        several = number % 2
        labels = [set(rng.choice(4, 1 + several * rng.integers(0, 3), replace=False).tolist()) for _ in range(10)]
        items = [item(some, str(n), columns=4) for n, some in enumerate(labels)]
        memory = make(6)
        memory.offer(items)
        share = target(memory.arrived, 0)
        best = min(divergence(list(some), share) for some in combinations(items, 6))
        reached = divergence(memory.items, share)
        assert reached == pytest.approx(best) if not several else reached <= best + 0.05


def test_the_divergence_falls_where_something_superfluous_can_leave() -> None:
    """Twelve of one class and four of the other two: every removal brings memory nearer to level."""
    memory = make(6)
    fallen = []
    remove = memory.remove
    share = dict.fromkeys(range(3), 1 / 3)

    def watched(slot: int) -> None:
        before = divergence(memory.items, share)
        remove(slot)
        fallen.append(before - divergence(memory.items, share))

    memory.remove = watched  # type: ignore[method-assign]
    memory.offer([item({0}) for _ in range(12)] + [item({1}), item({1}), item({2}), item({2})])
    assert len(fallen) == 10
    assert min(fallen) > 0
    assert memory.counts()[:3].tolist() == [2, 2, 2]


def test_a_long_tailed_stream_ends_as_near_to_level_as_the_balanced_policy() -> None:
    shares = 50.0 ** -(np.arange(10) / 9)
    stream = np.random.default_rng(0).choice(10, 1500, p=shares / shares.sum()).tolist()
    held = {}
    for policy in (OptimisedDistribution, Balanced, Reservoir):
        memory = policy(100, torch.Generator().manual_seed(0))
        for start in range(0, 1500, 12):
            memory.offer([item({label}, columns=10) for label in stream[start : start + 12]])
        held[policy] = memory.counts()
    assert held[OptimisedDistribution].tolist() == [10] * 10
    assert held[Reservoir].max() > 5 * held[Reservoir].min()


def test_the_power_shapes_the_target() -> None:
    stream = [0] * 400 + [1] * 200 + [2] * 100
    order = np.random.default_rng(0).permutation(stream).tolist()
    for power, expected in ((0.0, [70, 70, 70]), (1.0, [120, 60, 30])):
        memory = make(210, power)
        for label in order:
            memory.offer([item({label})])
        assert memory.counts()[:3].tolist() == pytest.approx(expected, abs=2)


def test_a_class_that_must_be_lost_is_one_with_the_smallest_share() -> None:
    memory = make(2, power=1.0)
    memory.offer([item({0}, "a")] * 3 + [item({1}, "b")] * 2 + [item({2}, "c")])
    assert sorted(kept.id for kept in memory.items) == ["a", "b"]


def test_a_class_is_not_lost_because_its_share_is_tiny() -> None:
    memory = make(10, power=1.0)
    memory.offer([item({0})] * 9 + [item({1})])
    memory.arrived.update({0: 10**7, 1: 1})
    memory.offer([item({0})])
    assert memory.counts()[:2].tolist() == [9, 1]


def test_of_items_with_the_same_labels_each_leaves_equally_often() -> None:
    left: Counter[str] = Counter()
    for seed in range(600):
        memory = make(6, seed=seed)
        memory.offer([item({0}, f"0/{n}") for n in range(4)] + [item({1}, f"1/{n}") for n in range(2)])
        before = {kept.id for kept in memory.items}
        memory.offer([item({1}, "new")])
        left.update(before - {kept.id for kept in memory.items})
    assert set(left) == {f"0/{n}" for n in range(4)}
    assert all(abs(count - 150) < 4.5 * (600 * 3 / 16) ** 0.5 for count in left.values())


def test_large_items_leave_as_many_as_it_takes() -> None:
    memory = make(10)
    memory.offer([item({n % 2}, str(n)) for n in range(10)])
    memory.offer([item({2}, "large", pixels=4)])
    assert memory.pixels <= 10
    assert "large" in {kept.id for kept in memory.items}
    assert memory.counts()[:3].tolist() == [3, 3, 1]


def test_a_class_whose_items_are_all_too_large_does_not_matter() -> None:
    memory = make(4)
    memory.offer([item({5}, pixels=9)] * 3)
    memory.offer([replace(item({n % 2}), id=str(n)) for n in range(9)])
    assert memory.counts()[:2].tolist() == [2, 2]
