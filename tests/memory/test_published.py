"""The faults of the published code, one by one: without them a comparison of both worlds would say nothing."""

import torch

from cuter.memory import MEMORIES, Item
from cuter.memory.prs import PrsSettings


def item(name: str, label: int, known: int = 4) -> Item:
    labels = torch.zeros(4, dtype=torch.bool)
    labels[label] = True
    return Item(torch.zeros(3, 1, 1, dtype=torch.uint8), labels, torch.arange(4) < known, name)


def renewed(policy: str, seeds: int = 200) -> float:
    """Return how many of 10 places are taken, on average, by the 90 items that follow the first 10."""
    items = [item(str(number), number % 4) for number in range(100)]
    late = 0
    for seed in range(seeds):
        memory = MEMORIES[policy](10, torch.Generator().manual_seed(seed))
        memory.offer(items)
        late += sum(int(kept.id) >= 10 for kept in memory.items)
    return late / seeds


def test_the_published_reservoir_freezes() -> None:
    """1/11 + … + 1/100 = 2.3 items enter, some of them over each other; a reservoir has 9 of 10 places renewed."""
    assert 1.7 < renewed("reservoir-published") < 2.3
    assert 8.8 < renewed("reservoir") < 9.2


def test_the_published_prs_does_not_approach_its_shares() -> None:
    """A long tail: equal shares (power 0) need the rare class to be spared, and random eviction does not spare it."""
    rare = {}
    for policy in ("prs", "prs-published"):
        held = 0
        for seed in range(40):
            memory = MEMORIES[policy](20, torch.Generator().manual_seed(seed), PrsSettings(power=0.0))
            memory.offer([item(f"rare {number}", 1) for number in range(10)])
            memory.offer([item(str(number), 0) for number in range(200)])
            held += memory.counts()[1].item()
        rare[policy] = held / 40
    assert rare["prs"] > 7
    assert rare["prs-published"] < 4


def test_while_there_is_room_a_class_has_its_share_of_the_task_at_most() -> None:
    memory = MEMORIES["balanced-published"](8, torch.Generator().manual_seed(0))
    memory.offer([item(str(number), 0) for number in range(8)])
    assert memory.counts()[0] == 2, "a quarter of eight, since four classes are looked for"
    assert "7" in {kept.id for kept in memory.items}, "the newest takes the place of an older one"
    memory.offer([item(f"late {number}", 1, known=2) for number in range(8)])
    assert memory.counts()[1] == 4
