"""Cluster sampling, in the style of APPLE (Song et al. 2024): exemplars that cover what a class looks like.

The paper's abstract names it; no formula or code is public. Here: k-means, and the item nearest to each centre.
"""

from collections.abc import Sequence

import numpy as np
import torch

from cuter.memory.base import MEMORIES
from cuter.memory.exemplars import Array, Exemplars


@MEMORIES.register("cluster")
class ClusterCentres(Exemplars):
    """As many clusters as the quota; of each stays the item nearest to its centre."""

    def pick(self, features: Array, count: int) -> Sequence[int]:
        """Return the row nearest to each centre."""
        # Not scikit-learn's: with three threads or more its result changes in the last bits from run to run.
        from scipy.cluster.vq import kmeans, vq

        centres, _ = kmeans(features, self._starts(features, count))
        cluster, distance = vq(features, centres)
        by_distance = np.argsort(distance, kind="stable")
        _, nearest = np.unique(cluster[by_distance], return_index=True)
        rows: list[int] = by_distance[nearest].tolist()
        return rows

    def _starts(self, features: Array, count: int) -> Array:
        """Draw rows that lie apart from each other (k-means++): each in proportion to its squared distance.

        They are fewer than asked if the others coincide with them.
        """
        # scipy's own would compare with all rows drawn before, each time anew
        rows = [int(torch.randint(len(features), (), generator=self.generator))]
        apart = np.full(len(features), np.inf)
        while len(rows) < count:
            apart = np.minimum(apart, ((features - features[rows[-1]]) ** 2).sum(axis=1))
            if not apart.any():
                break
            rows.append(int(torch.multinomial(torch.from_numpy(apart), 1, generator=self.generator)))
        return features[rows]
