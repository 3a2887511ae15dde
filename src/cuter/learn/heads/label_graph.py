"""Label graph: classes are nodes that learn from each other (AGCN, Du et al. 2022; after AGCN++, Du et al. 2023)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cuter.backbone.features import Features
from cuter.learn.heads.base import HEADS, Head, Scores
from cuter.learn.heads.correlation import Correlation
from cuter.stream.batch import Batch

if TYPE_CHECKING:
    from cuter.learn.settings import LearnerSettings

HIDDEN = 1024  # between the two graph convolutions (AGCN's code)
SLOPE = 0.2  # of the leaky ReLU between them (AGCN's code)
WORD_SPREAD = 0.35  # of learned embeddings at the start: about that of GloVe's numbers


class LabelGraph(Head):
    """Two graph convolutions over label embeddings X give a node for each class; logits = embedding · node.

        H = A · leaky(A · X · W1) · W2, with A the correlation matrix

    X are word vectors, which stay as they are, or learned. With `by_image` (AGCN++), what each class finds in the
    patches of an image is added to its embedding, so that every image has nodes of its own. The states are the nodes:
    (C, D), or (B, C, D). W2 starts at zero, so that the first classes begin undecided.
    """

    def __init__(
        self, dim: int, word_dim: int, has_words: bool, by_image: bool, generator: torch.Generator | None = None
    ):
        super().__init__()
        self.has_words = has_words
        self.word_dim = word_dim
        self.correlation = Correlation()
        self.embeddings = nn.ParameterList()
        self.first = nn.Parameter(_uniform(word_dim, HIDDEN, generator))
        self.second = nn.Parameter(torch.zeros(HIDDEN, dim))
        self.look = LookForLabels(dim, word_dim, generator) if by_image else None

    def grow(
        self, count: int, device: torch.device | None = None, generator: torch.Generator | None = None
    ) -> list[nn.Parameter]:
        """Add `count` classes with random embeddings; they are learned unless `take_words` replaces them."""
        self.correlation.grow(count)
        start = WORD_SPREAD * torch.randn(count, self.word_dim, generator=generator)
        self.embeddings.append(nn.Parameter(start.to(device), requires_grad=not self.has_words))
        return [self.embeddings[-1]]

    @torch.no_grad()
    def take_words(self, vectors: Tensor) -> None:
        """Put word vectors in the place of the newest embeddings; a row of NaN, a name without one, stays random."""
        newest = self.embeddings[-1]
        newest.copy_(torch.where(vectors.isnan().to(newest.device), newest, vectors.to(newest)))

    @property
    def blocks(self) -> list[int]:
        """Sizes of the blocks, in the order in which they were added."""
        return [len(block) for block in self.embeddings]

    def forward(self, features: Features) -> Scores:
        """Compare the images with the nodes."""
        if not len(self.embeddings):
            return Scores(features.embedding[:, :0])
        labels = torch.cat(list(self.embeddings))
        if self.look is not None:
            labels = labels + self.look(labels, features.tokens, features.visible)
        matrix = self.correlation.matrix()
        hidden = F.leaky_relu(matrix @ labels @ self.first, SLOPE)
        nodes = matrix @ hidden @ self.second
        return Scores((nodes @ features.embedding.unsqueeze(2)).squeeze(2), nodes)

    def follow(self, batch: Batch, embedding: Tensor, opinion: Tensor | None) -> None:
        """Count which labels came together. Only the stream counts: what is replayed was counted when it came."""
        new = slice(sum(self.blocks[:-1]), None)
        soft = None if opinion is None else F.softmax(opinion.float(), dim=1)
        if self.blocks:
            self.correlation.count(batch.labels[:, new], batch.known[:, new], soft)


class LookForLabels(nn.Module):
    """What each class finds in an image, as one vector: attention from label embeddings to patches.

    AGCN++ calls it a partial label encoder; how it is built is not published. What is found counts for nothing at the
    start: attention is uniform then, the same vector for every class, and would drown the label embeddings.
    """

    def __init__(self, dim: int, word_dim: int, generator: torch.Generator | None):
        super().__init__()
        self.asks = nn.Parameter(_uniform(word_dim, dim, generator))
        self.brings = nn.Parameter(torch.zeros(dim, word_dim))

    def forward(self, labels: Tensor, patches: Tensor, visible: Tensor | None = None) -> Tensor:
        """Return (B, C, word_dim) for label embeddings (C, word_dim) and patches (B, n, D), or its visible ones.

        visible: (B, n); None: all.
        """
        patches = F.layer_norm(patches, patches.shape[2:])  # so that what is found does not outweigh the label itself
        fit = (labels @ self.asks) @ patches.transpose(1, 2) / math.sqrt(patches.shape[2])  # (B, C, n)
        if visible is not None:
            fit = fit.masked_fill(~visible.unsqueeze(1), -math.inf)
        return F.softmax(fit, dim=-1) @ patches @ self.brings


def _uniform(rows: int, columns: int, generator: torch.Generator | None) -> Tensor:
    """Draw weights as AGCN's graph convolutions do."""
    return (2 * torch.rand(rows, columns, generator=generator) - 1) / math.sqrt(columns)


@HEADS.register("label-graph")
def label_graph(settings: LearnerSettings, dim: int, generator: torch.Generator) -> Head:
    """Make a head of label nodes."""
    has_words, by_image = settings.word_vectors is not None, settings.graph_nodes == "images"
    return LabelGraph(dim, settings.word_dim, has_words, by_image, generator)
