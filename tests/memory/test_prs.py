"""PRS against its formulas, written out once more entry by entry."""

import math
from collections import Counter

import numpy as np
import pytest
import torch

from cuter.memory import Item
from cuter.memory.balanced import Balanced
from cuter.memory.prs import PartitioningReservoir, PrsSettings
from cuter.memory.reservoir import Reservoir

POWER = 0.1


def item(*labels: int, columns: int = 6, name: str = "x") -> Item:
    given = torch.zeros(columns, dtype=torch.bool)
    given[list(labels)] = True
    return Item(torch.zeros(3, 1, 1, dtype=torch.uint8), given, torch.ones(columns, dtype=torch.bool), name)


def filled(items: list[Item], seed: int = 0, power: float = 0.1) -> PartitioningReservoir:
    memory = PartitioningReservoir(len(items), torch.Generator().manual_seed(seed), PrsSettings(power=power))
    memory.offer(items)
    return memory


@pytest.mark.parametrize("labels", [(0,), (1,), (0, 1), (1, 2), (3,)])
def test_how_often_an_item_enters(labels: tuple[int, ...]) -> None:
    memory = filled([item(0)] * 30 + [item(1)] * 6 + [item(2)] * 3 + [item(0, 2)] * 2)
    memory.arrived.update({0: 200, 1: 30, 2: 5, 4: 80})  # class 4 came, but memory holds none of it
    memory.arrived.update(labels)  # as `arrive` counts before it asks
    n = memory.arrived
    total = sum(n[label] ** POWER for label in {0, 1, 2, *labels})
    weights = [math.exp(-n[label] + min(n[other] for other in labels)) for label in labels]
    expected = sum(
        w / sum(weights) * min(1, len(memory) * n[label] ** POWER / total / n[label])
        for label, w in zip(labels, weights, strict=True)
    )
    entered = np.mean([memory.accepts(item(*labels)) for _ in range(3000)])
    assert entered == pytest.approx(expected, abs=4.5 * 0.5 / math.sqrt(3000))


@pytest.mark.parametrize("power", [-0.03, 0.1, 0.5])
def test_who_leaves_by_brute_force(power: float) -> None:
    """Every class that can be drawn is drawn by softmax(δ), and then only the best of its items leave."""
    labels = [(0,)] * 9 + [(0, 1)] * 4 + [(0, 2), (1,), (3,), (0, 1, 3), (1, 2), (2,), (2, 3)] + [()] * 3
    items = [item(*some, name=str(number)) for number, some in enumerate(labels)]
    memory = filled(items, power=power)
    n = memory.arrived
    total = sum(count**power for count in n.values())
    share = {label: n[label] ** power / total for label in n}

    def counts(of: list[Item]) -> Counter[int]:
        return Counter(label for one in of for label in one.classes)

    def deviation(of: list[Item]) -> float:
        held = counts(of)
        return sum(abs(held[label] - share[label] * held.total()) for label in n)

    held = counts(items)
    delta = {label: held[label] - share[label] * held.total() for label in n}
    query = {label for label in n if delta[label] <= 0}
    expected = dict.fromkeys(range(len(items)), 0.0)  # how likely each leaves
    for label in n:
        chance = math.exp(delta[label]) / sum(map(math.exp, delta.values()))
        having = [slot for slot, one in enumerate(items) if label in one.classes]
        lacking = {slot: len(query - set(items[slot].classes)) for slot in having}
        most = [slot for slot in having if lacking[slot] == max(lacking.values())]
        left = {slot: deviation(items[:slot] + items[slot + 1 :]) for slot in most}
        best = [slot for slot in most if left[slot] < min(left.values()) + 1e-9]
        for slot in best:
            expected[slot] += chance / len(best)
    draws = Counter(memory.choose_eviction() for _ in range(1500))
    assert sum(expected.values()) == pytest.approx(1)
    for slot, chance in expected.items():
        assert abs(draws[slot] - 1500 * chance) <= 4.5 * math.sqrt(1500 * chance * (1 - chance)) + 1e-6


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_memory_approaches_its_target_partition(power: float) -> None:
    """A stationary stream of frequencies 27 : 9 : 3 : 1: the shares come to n^ρ, whatever ρ."""
    frequencies = np.array([27, 9, 3, 1])
    stream = np.random.default_rng(0).choice(4, 1200, p=frequencies / frequencies.sum())
    memory = PartitioningReservoir(80, torch.Generator().manual_seed(0), PrsSettings(power=power))
    distances = []
    for step in (80, 400, 1200):
        memory.offer([item(int(label), columns=4) for label in stream[memory.seen : step]])
        powers = np.array([memory.arrived[label] for label in range(4)]) ** power
        distances.append(np.abs(memory.counts().numpy() / 80 - powers / powers.sum()).sum())
    assert distances[-1] < 0.1
    if power < 1:  # at 1 the target is the stream itself, where memory starts
        assert distances[0] > 4 * max(distances[1:])


def test_a_long_tail_comes_nearer_to_level_than_in_a_reservoir() -> None:
    rng = np.random.default_rng(0)
    stream = [item(int(label)) for label in rng.choice(6, size=1500, p=np.array([50, 20, 10, 5, 2, 1]) / 88)]
    spread = {}
    for policy in (Reservoir, PartitioningReservoir, Balanced):
        memory = policy(80, torch.Generator().manual_seed(0))
        memory.offer(stream)
        held = memory.counts()
        spread[policy] = float(held.max() / held.min().clamp(min=1))
    assert spread[Balanced] <= spread[PartitioningReservoir] < spread[Reservoir] / 3
