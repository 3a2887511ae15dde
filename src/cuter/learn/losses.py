"""Losses on known labels only."""

from typing import Literal

import torch
from torch import Tensor

Reduction = Literal["mean", "sum"]


def asymmetric_loss(
    logits: Tensor,
    labels: Tensor,
    known: Tensor,
    *,
    reduction: Reduction = "mean",
    gamma_negative: float = 4.0,
    gamma_positive: float = 0.0,
    clip: float = 0.05,
) -> Tensor:
    """Asymmetric loss (Ridnik et al. 2021; CUTER, Eq. 1), averaged over images.

    `reduction` is over the known classes of each image: their mean, as in Eq. 1, or their sum, as in the original.

    Easy negatives are shifted by `clip` and focused away by `gamma_negative`. As in the original, no gradient flows
    through the focusing weight. Everything is computed in float32: in half precision the logarithms give NaN.
    An image without any known class adds nothing; unknown labels are not negatives, they are left out.
    """
    positive = torch.sigmoid(logits.float())
    negative = (1 - positive + clip).clamp(max=1)
    probability = torch.where(labels, positive, negative)  # of the right answer
    gamma = torch.where(labels, gamma_positive, gamma_negative)
    focus = (1 - probability.detach()).pow(gamma)
    loss = -focus * probability.clamp(min=1e-8).log() * known
    counts = known.sum(dim=1)
    by_image = loss.sum(dim=1)
    if reduction == "mean":
        by_image = by_image / counts.clamp(min=1)
    return by_image.sum() / (counts > 0).sum().clamp(min=1)
