import numpy as np
import torch

from cuter.memory import Item
from cuter.memory.reservoir import Reservoir


def test_every_item_of_the_stream_is_kept_equally_often() -> None:
    """The published baseline enters with 1/n instead of M/n and freezes; this one must not."""
    stream, capacity, repeats = 100, 10, 3000
    nothing = torch.zeros(1, dtype=torch.bool)
    items = [Item(torch.zeros(3, 4, 4, dtype=torch.uint8), nothing, nothing, str(n)) for n in range(stream)]
    counts = np.zeros(stream)
    for seed in range(repeats):
        memory = Reservoir(capacity * 16, torch.Generator().manual_seed(seed))
        memory.offer(items)
        for kept in memory.items:
            counts[int(kept.id)] += 1
    share = capacity / stream
    deviation = np.sqrt(repeats * share * (1 - share))
    assert np.abs(counts - repeats * share).max() < 4.5 * deviation
    thirds = [counts[:33].sum(), counts[33:66].sum(), counts[66:99].sum()]
    assert max(thirds) / min(thirds) < 1.05
