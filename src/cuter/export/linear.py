"""A head as one linear layer, if it is one."""

import copy

import torch
from torch import Tensor

from cuter.backbone import Features
from cuter.learn.heads import Head

PROBES = 32
TOLERANCE = 1e-4  # between logits in single precision
STEP = 1024.0  # long, so that a large bias does not round off what a weight adds to it


def as_linear(head: Head, dim: int) -> tuple[Tensor, Tensor] | None:
    """Return weights (C, D) and biases (C,) that give the logits of a head for every embedding; None if none do.

    What a head does is looked at from outside, so that this also holds for heads of other packages: a label graph is a
    linear layer once it is learned, and class means behind a cosine are not.
    """
    head = copy.deepcopy(head).cpu().eval()
    draws = torch.Generator().manual_seed(0)
    with torch.no_grad():
        bias = _logits(head, torch.zeros(1, dim), draws)[0]
        weight = (_logits(head, STEP * torch.eye(dim), draws) - bias).T / STEP
        probes = torch.randn(PROBES, dim, generator=draws)
        exact = _logits(head, probes, draws)
    guess = probes @ weight.T + bias
    return (weight, bias) if torch.allclose(guess, exact, rtol=TOLERANCE, atol=TOLERANCE) else None


def _logits(head: Head, embeddings: Tensor, draws: torch.Generator) -> Tensor:
    """Return logits of embeddings whose patches say something else every time: a linear head does not look at them."""
    tokens = torch.randn(len(embeddings), 4, embeddings.shape[1], generator=draws)
    return head.predict_logits(Features(embeddings, tokens, (2, 2), tokens))
