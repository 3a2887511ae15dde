import numpy as np
import torch
from scipy.stats import chi2

from cuter.memory import Item
from cuter.memory.reservoir import Reservoir


def test_every_item_of_the_stream_is_kept_equally_often() -> None:
    """The published baseline enters with 1/n instead of M/n and freezes; this one must not."""
    stream, capacity, repeats = 40, 5, 1500
    nothing = torch.zeros(1, dtype=torch.bool)
    items = [Item(torch.zeros(3, 1, 1, dtype=torch.uint8), nothing, nothing, str(n)) for n in range(stream)]
    counts = np.zeros(stream)
    for seed in range(repeats):
        memory = Reservoir(capacity, torch.Generator().manual_seed(seed))
        memory.offer(items)
        counts[[int(kept.id) for kept in memory.items]] += 1
    share = capacity / stream
    # A memory draws without replacement: the variance of a count is R·p(1 - p), and two counts have covariance
    # -R·p(1 - p)/(n - 1), so that this sum has the chi-square distribution of n - 1 degrees of freedom.
    deviation = (counts - repeats * share) ** 2 / (repeats * share * (1 - share))
    assert chi2.sf(deviation.sum() * (stream - 1) / stream, df=stream - 1) > 1e-3
    thirds = [counts[:13].sum(), counts[13:26].sum(), counts[26:39].sum()]
    assert max(thirds) / min(thirds) < 1.05
