"""Herding (iCaRL, Rebuffi et al. 2017, Algorithm 4): exemplars whose mean stays near the mean of their class."""

import numpy as np

from cuter.memory.base import MEMORIES
from cuter.memory.exemplars import Array, Exemplars


@MEMORIES.register("herding")
class Herding(Exemplars):
    """Exemplar k is the item that brings the mean of the first k nearest to the mean of the class."""

    def pick(self, features: Array, count: int) -> list[int]:
        """Take, by turns, argmin ‖μ - (φ + Σ of those taken)/k‖.

        All φ have length 1, so that this is the largest inner product with what is missing, kμ - Σ.
        """
        mean, total = features.mean(axis=0), np.zeros(features.shape[1])
        taken: list[int] = []
        for number in range(1, count + 1):
            gain = features @ (number * mean - total)
            gain[taken] = -np.inf
            taken.append(int(gain.argmax()))
            total += features[taken[-1]]
        return taken
