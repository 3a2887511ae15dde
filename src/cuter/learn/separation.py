"""NsCE's loss terms: a classifier that is not sparse, features that are far apart (Wang et al. 2024, Sec. 4)."""

import torch
from torch import Tensor

from cuter.learn.heads.prototypes import Prototypes
from cuter.stream.batch import Batch


def non_sparse_separation(head: Prototypes, embedding: Tensor, targets: Batch) -> Tensor:
    """Return reg + sep, which NsCE adds to its loss with a weight λ."""
    return non_sparseness(list(head.weights)[:-1]) + separation(head.cosines(embedding), head.means, targets)


def non_sparseness(old_rows: list[Tensor]) -> Tensor:
    """Return reg = -(‖W_old‖₁ / ‖W_old‖₂) / d of all rows of old classes as one long vector; 0 without any.

    The ratio is largest where all numbers are equally large, and smallest where only one is not 0.
    """
    if not old_rows:
        return torch.zeros(())
    rows = torch.cat(old_rows)
    ratio: Tensor = rows.abs().sum() / torch.linalg.vector_norm(rows).clamp(min=1e-12)
    return -ratio / rows.shape[1]


def separation(cosines: Tensor, means: Tensor, targets: Batch) -> Tensor:
    """Return sep: the mean of (cos(f, prototype) - target)², target 1 for own classes and -1 / (K - 1) for the others.

    That is where K prototypes are as far from each other as they can be. NsCE has one label an image; here it may have
    several own classes, and a class that nobody looked for is neither own nor other. Means as in the loss: over the
    classes of an image, then over images. Classes without a prototype yet are left out.
    """
    wanted = torch.where(targets.labels, 1.0, -1 / max(1, cosines.shape[1] - 1))
    counts = targets.known & (means != 0).any(dim=1)
    number = counts.sum(dim=1)
    errors = ((cosines - wanted).square() * counts).sum(dim=1) / number.clamp(min=1)
    return errors.sum() / (number > 0).sum().clamp(min=1)
