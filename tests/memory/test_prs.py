"""PRS against its formulas, written out once more entry by entry."""

import math
from collections import Counter

import numpy as np
import pytest
import torch

from cuter.memory import Item
from cuter.memory.balanced import Balanced
from cuter.memory.prs import POWER, PartitioningReservoir
from cuter.memory.reservoir import Reservoir


def item(*labels: int, columns: int = 6) -> Item:
    given = torch.zeros(columns, dtype=torch.bool)
    given[list(labels)] = True
    return Item(torch.zeros(3, 1, 1, dtype=torch.uint8), given, torch.ones(columns, dtype=torch.bool), "x")


def filled(items: list[Item], seed: int = 0) -> PartitioningReservoir:
    memory = PartitioningReservoir(len(items), torch.Generator().manual_seed(seed))
    memory.offer(items)
    return memory


@pytest.mark.parametrize("labels", [(0,), (1,), (0, 1), (1, 2), (3,)])
def test_how_often_an_item_enters(labels: tuple[int, ...]) -> None:
    memory = filled([item(0)] * 30 + [item(1)] * 6 + [item(2)] * 3 + [item(0, 2)] * 2)
    memory.arrived.update({0: 200, 1: 30, 2: 5})
    memory.arrived.update(labels)  # as `offer` counts before it asks
    n = memory.arrived
    total = sum(count**POWER for count in n.values())
    weights = [math.exp(-n[label] + min(n[other] for other in labels)) for label in labels]
    expected = sum(
        w / sum(weights) * min(1, len(memory) * n[label] ** POWER / total / n[label])
        for label, w in zip(labels, weights, strict=True)
    )
    entered = np.mean([memory.admits(item(*labels)) for _ in range(4000)])
    assert entered == pytest.approx(expected, abs=4 * 0.5 / math.sqrt(4000))


def test_who_leaves_by_brute_force() -> None:
    items = [item(0)] * 12 + [item(0, 1)] * 4 + [item(0, 2), item(1), item(3), item(0, 1, 3)]
    memory = filled(items)
    n = memory.arrived
    total = sum(count**POWER for count in n.values())
    share = {label: n[label] ** POWER / total for label in n}

    def counts(of: list[Item]) -> Counter[int]:
        return Counter(label for one in of for label in one.classes)

    def deviation(of: list[Item]) -> float:
        held = counts(of)
        return sum(abs(held[label] - share[label] * held.total()) for label in n)

    held = counts(items)
    short = {label for label in n if held[label] - share[label] * held.total() <= 0}
    for seed in range(40):
        memory.generator.manual_seed(seed)
        slot = memory.victim(item(0))
        rivals = [other for other in range(len(items)) if set(items[other].classes) & set(items[slot].classes)]
        fewest = min(len(short & set(items[other].classes)) for other in rivals if 0 in items[other].classes)
        if 0 in items[slot].classes:
            assert len(short & set(items[slot].classes)) == fewest
            same = [o for o in rivals if 0 in items[o].classes and len(short & set(items[o].classes)) == fewest]
            best = min(deviation(items[:other] + items[other + 1 :]) for other in same)
            assert deviation(items[:slot] + items[slot + 1 :]) == pytest.approx(best)


def test_a_long_tail_comes_nearer_to_level_than_in_a_reservoir() -> None:
    rng = np.random.default_rng(0)
    stream = [item(int(label)) for label in rng.choice(6, size=3000, p=np.array([50, 20, 10, 5, 2, 1]) / 88)]
    spread = {}
    for policy in (Reservoir, PartitioningReservoir, Balanced):
        memory = policy(120, torch.Generator().manual_seed(0))
        memory.offer(stream)
        held = memory.counts()
        spread[policy] = float(held.max() / held.min().clamp(min=1))
    assert spread[Balanced] <= spread[PartitioningReservoir] < spread[Reservoir] / 3
