"""How much embeddings tell of labels, without training anything on them: k nearest neighbours vote."""

import torch
import torch.nn.functional as F
from torch import Tensor

from cuter.errors import BatchError
from cuter.measure.metrics import multilabel_scores

NEIGHBOURS = 20
TEMPERATURE = 0.07  # Wu et al. 2018, and DINO


def knn_scores(
    queries: Tensor,
    bank: Tensor,
    labels: Tensor,
    known: Tensor | None = None,
    *,
    neighbours: int = NEIGHBOURS,
    temperature: float = TEMPERATURE,
) -> Tensor:
    """Return for each query (Q, D) and class the share of its neighbours' votes that are for the class: (Q, C).

    The neighbours are the nearest rows of `bank` (N, D) by cosine, all if there are fewer; a vote weighs
    exp(cosine / temperature). `labels` (N, C) are bool; a neighbour has no vote on a class where `known` is False, and
    a class on which nobody votes scores 0.
    """
    if not len(bank) or len(bank) != len(labels):
        raise BatchError(f"k-NN needs labels for each embedding, and at least one: {len(bank)} and {len(labels)}")
    cosines = F.normalize(queries.double(), dim=1) @ F.normalize(bank.double(), dim=1).T
    nearest, places = cosines.topk(min(neighbours, len(bank)), dim=1)
    weights = torch.exp((nearest - nearest[:, :1]) / temperature).unsqueeze(2)  # shares stay, and nothing overflows
    voting = torch.ones_like(labels) if known is None else known
    for_class, all_votes = (weights * (labels & voting)[places]).sum(dim=1), (weights * voting[places]).sum(dim=1)
    return torch.where(all_votes > 0, for_class / all_votes, 0.0).clamp(max=1)


def knn_map(
    queries: tuple[Tensor, Tensor, Tensor], bank: tuple[Tensor, Tensor, Tensor], neighbours: int = NEIGHBOURS
) -> float | None:
    """Return the mAP in percent of k-NN scores; both sides are embeddings, labels and what is known of the labels."""
    embeddings, labels, known = queries
    return multilabel_scores(knn_scores(embeddings, *bank, neighbours=neighbours), labels, known)["map"]
