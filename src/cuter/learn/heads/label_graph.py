"""Label graph: classes are nodes that learn from each other (AGCN, Du et al. 2022; after AGCN++, Du et al. 2023)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import torch
import torch.nn.functional as F
from pydantic import Field, ValidationInfo, model_validator
from torch import Tensor, nn

from cuter.backbone.features import Features
from cuter.learn.heads.base import HEADS, Head, HeadSettings, Scores, SharingHeadSettings
from cuter.learn.heads.correlation import Correlation
from cuter.learn.words import check_word_vectors, vectors_of_names
from cuter.settings import SAVED, Role
from cuter.stream.batch import Batch

HIDDEN = 1024  # between the two graph convolutions (AGCN's code)
SLOPE = 0.2  # of the leaky ReLU between them (AGCN's code)
WORD_SPREAD = 0.35  # of learned embeddings at the start: about that of GloVe's numbers


class LabelGraphSettings(SharingHeadSettings):
    """Settings of a label graph."""

    nodes: Literal["labels", "images"] = Field(
        "labels", description="Nodes of labels, as in AGCN, or of labels as they show in images (AGCN++)."
    )
    word_vectors: Annotated[Path | None, Role.PLACE] = Field(
        None,
        description="File of word vectors for class names, GloVe's text format; without one label embeddings are "
        "learned.",
    )
    word_dim: int = Field(300, ge=1, le=10_000, description="Numbers in a label embedding or word vector.")

    @model_validator(mode="after")
    def _file_has_such_vectors(self, info: ValidationInfo) -> LabelGraphSettings:
        if self.word_vectors is not None and info.context != SAVED:  # a saved learner does not need the file
            check_word_vectors(self.word_vectors, self.word_dim)
        return self


@HEADS.register("label-graph")
class LabelGraph(Head):
    """Two graph convolutions over label embeddings X give a node for each class; logits = embedding · node.

        H = A · leaky(A · X · W1) · W2, with A the correlation matrix

    X are word vectors, which stay as they are, or learned. With `by_image` (AGCN++), what each class finds in the
    patches of an image is added to its embedding, so that every image has nodes of its own. The states are the nodes:
    (C, D), or (B, C, D). W2 starts at zero, so that the first classes begin undecided.
    """

    Settings: ClassVar[type[HeadSettings]] = LabelGraphSettings

    def __init__(
        self,
        dim: int,
        word_dim: int,
        by_image: bool,
        generator: torch.Generator | None = None,
        word_vectors: Path | None = None,
    ):
        super().__init__()
        self.word_vectors = word_vectors
        self.prepared: Tensor | None = None  # word vectors of the classes that are about to be added
        self.word_dim = word_dim
        self.correlation = Correlation()
        self.embeddings = nn.ParameterList()
        self.first = nn.Parameter(_uniform(word_dim, HIDDEN, generator))
        self.second = nn.Parameter(torch.zeros(HIDDEN, dim))
        self.look = LookForLabels(dim, word_dim, generator) if by_image else None

    def grow(
        self, names: Sequence[str], device: torch.device | None = None, generator: torch.Generator | None = None
    ) -> list[nn.Parameter]:
        """Add classes with the word vectors of their names; a name without one gets a random embedding."""
        start = WORD_SPREAD * torch.randn(len(names), self.word_dim, generator=generator)
        if self.prepared is not None:
            start = torch.where(self.prepared.isnan(), start, self.prepared)
        self.prepared = None
        self.correlation.grow(len(names))
        self.embeddings.append(nn.Parameter(start.to(device), requires_grad=self.word_vectors is None))
        return [self.embeddings[-1]]

    def prepare(self, names: Sequence[str]) -> None:
        """Read the word vectors of the names; a learner that is loaded has them already and needs no file."""
        if self.word_vectors is not None:
            self.prepared = vectors_of_names(self.word_vectors, self.word_dim, names)

    @classmethod
    def create(cls, settings: HeadSettings, dim: int, generator: torch.Generator) -> Head:
        """Make a head for embeddings of `dim` numbers."""
        assert isinstance(settings, LabelGraphSettings)
        return cls(dim, settings.word_dim, settings.nodes == "images", generator, settings.word_vectors)

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

    def update_statistics(self, batch: Batch, embedding: Tensor, old_logits: Tensor | None) -> None:
        """Count which labels came together. Only the stream counts: what is replayed was counted when it came."""
        new = slice(sum(self.blocks[:-1]), None)
        soft = None if old_logits is None else F.softmax(old_logits.float(), dim=1)
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
