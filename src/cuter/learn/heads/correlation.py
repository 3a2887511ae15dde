"""Which labels come together: AGCN's augmented correlation matrix, in four blocks (Du et al. 2022, Sec. 3.2)."""

import torch
from torch import Tensor, nn

TOGETHER = 0.4  # a new class counts as coming with another new one from this share on (AGCN's code)
ACROSS = 0.3  # the same between an old and a new class
HALF = 0.5  # of Bayes' rule from old to new classes (AGCN's code): an edge needs twice the share
EVIDENCE = 10  # images without the other class that every share begins with: one image alone makes no edge
NEIGHBOURS = 0.25  # what all neighbours of a class weigh together; itself it weighs 1


class Correlation(nn.Module):
    """Counts of labels of the stream, and the matrix (C, C) that label nodes are mixed by.

    Row i takes from column j where P(i | j) is high. The classes of the newest block are new, all others old:

    - old–old stays as it was when the new ones came;
    - new–new comes from given labels;
    - old–new and new–old, its reverse by Bayes' rule, come from given labels of new classes beside soft labels of old
      ones: the shares (B, old), summing to 1, that the model of the task before gives them.

    Shapes follow from the sizes of the blocks alone, so that a saved state fits a matrix that grew in the same way.
    """

    kept: Tensor
    both: Tensor
    asked: Tensor
    soft_both: Tensor
    hard: Tensor
    soft: Tensor

    def __init__(self) -> None:
        super().__init__()
        self._reset(torch.zeros(0, 0), 0)

    def grow(self, count: int) -> None:
        """Keep the matrix of the classes so far, and begin to count `count` new ones."""
        self._reset(self.matrix(), count)

    def count(self, labels: Tensor, known: Tensor, soft: Tensor | None) -> None:
        """Count what is given (B, new) and known of new classes, and soft labels of old ones, if there are any."""
        labels, known = labels.to(self.both), known.to(self.both)
        self.both += labels.T @ labels
        self.asked += known.T @ labels
        if soft is not None:
            soft = soft.to(self.both)
            self.soft_both += soft.T @ labels
            self.hard += labels.sum(dim=0)
            self.soft += soft.T @ known

    def matrix(self) -> Tensor:
        """Return the matrix (C, C) as it stands."""
        itself = torch.eye(len(self.both)).to(self.both)
        together = _share(self.both, self.asked) * (1 - itself)
        new = normalised(rescaled(together, TOGETHER) + itself)
        old_given_new = _share(self.soft_both, self.hard)
        new_given_old = HALF * _share(self.soft_both, self.soft).T
        above = torch.cat([self.kept, rescaled(old_given_new, ACROSS)], dim=1)
        below = torch.cat([rescaled(new_given_old, ACROSS), new], dim=1)
        return torch.cat([above, below])

    def _reset(self, kept: Tensor, count: int) -> None:
        old = len(kept)
        self.register_buffer("kept", kept)
        self.register_buffer("both", kept.new_zeros(count, count))  # [i, j]: images with i and j
        self.register_buffer("asked", kept.new_zeros(count, count))  # images with j in which somebody looked for i
        self.register_buffer("soft_both", kept.new_zeros(old, count))  # the same with soft labels of i
        self.register_buffer("hard", kept.new_zeros(count))
        self.register_buffer("soft", kept.new_zeros(old, count))  # soft labels of i, where somebody looked for j


def rescaled(shares: Tensor, least: float) -> Tensor:
    """Return 1 where a share reaches `least`, else 0, scaled so that each column sums to `NEIGHBOURS`, or is empty."""
    edges = (shares >= least).to(shares)
    return edges * (NEIGHBOURS / edges.sum(dim=0).clamp(min=1))


def normalised(matrix: Tensor) -> Tensor:
    """Return D^-½ A D^-½, with D the sums of the rows."""
    scale = matrix.sum(dim=1).rsqrt()
    return scale.unsqueeze(1) * matrix * scale


def _share(part: Tensor, whole: Tensor) -> Tensor:
    """Return shares that grow with what was counted.

    AGCN counts through many epochs. In one pass the first images of a task would make edges by chance, and each edge
    that comes or goes moves old nodes (docs/explanation/methods.md).
    """
    return part / (whole + EVIDENCE)
