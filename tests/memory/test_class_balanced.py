"""Class-balancing reservoir sampling: against its rules, and by its distribution."""

import numpy as np
import pytest
import torch
from scipy.stats import chi2

from cuter.memory import Item
from cuter.memory.class_balanced import ClassBalancedReservoir


def item(name: str, *labels: int, classes: int = 3) -> Item:
    given = torch.zeros(classes, dtype=torch.bool)
    given[list(labels)] = True
    return Item(torch.zeros(3, 1, 1, dtype=torch.uint8), given, torch.ones(classes, dtype=torch.bool), name)


def memory(capacity: int, seed: int = 0) -> ClassBalancedReservoir:
    return ClassBalancedReservoir(capacity, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("seed", range(5))
def test_a_class_below_its_share_is_kept_whole(seed: int) -> None:
    kept = memory(12, seed)
    stream = [item(f"a{n}", 0) for n in range(60)] + [item(f"b{n}", 1) for n in range(3)]
    order = torch.randperm(len(stream), generator=torch.Generator().manual_seed(seed)).tolist()
    for number in order:
        kept.offer([stream[number]])
    kept.offer([item(f"c{n}", 2) for n in range(40)])
    assert {one.id for one in kept.items if one.labels[1]} == {"b0", "b1", "b2"}
    counts = kept.counts().tolist()
    assert counts[1] == 3
    assert abs(counts[0] - counts[2]) <= 1


def test_a_full_class_is_a_uniform_sample_of_all_its_items() -> None:
    repeats, stream, capacity = 1500, 30, 6
    times = np.zeros(stream)
    items = [item(str(n), 0) for n in range(stream)]
    for seed in range(repeats):
        kept = memory(capacity, seed)
        kept.offer(items)
        times[[int(one.id) for one in kept.items]] += 1
    # a draw without replacement has n - 1 degrees of freedom, and counts vary less than a multinomial's by 1 - M/n
    deviation = (times - times.mean()) ** 2 / (times.mean() * (1 - capacity / stream))
    assert chi2.sf(deviation.sum() * (stream - 1) / stream, df=stream - 1) > 1e-3


def test_an_item_with_several_labels_counts_for_its_rarest() -> None:
    kept = memory(4)
    kept.offer([item(f"a{n}", 0) for n in range(4)])
    kept.offer([item("ab", 0, 1)])
    assert "ab" in {one.id for one in kept.items}
