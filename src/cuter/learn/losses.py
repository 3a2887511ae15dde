"""Losses on known labels only."""

import torch
from torch import Tensor


def asymmetric_loss(
    logits: Tensor,
    labels: Tensor,
    known: Tensor,
    *,
    gamma_negative: float = 4.0,
    gamma_positive: float = 0.0,
    clip: float = 0.05,
) -> Tensor:
    """Asymmetric loss (Ridnik et al. 2021; CUTER, Eq. 1), averaged over the known classes of each image.

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
    return (loss.sum(dim=1) / counts.clamp(min=1)).sum() / (counts > 0).sum().clamp(min=1)
