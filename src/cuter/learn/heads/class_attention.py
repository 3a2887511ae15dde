"""Class attention: tokens that ask the patches (KRT, Dong et al. 2023, Sec. 3.3; after APPLE, Song et al. 2024).

KRT (incremental cross-attention): a token that all tasks share asks; beside the patches it sees itself and the token of
one task, so it is asked once for each task, and what it brings back is scored by the rows of that task. Tokens and rows
of earlier tasks are frozen. APPLE's decoder is not published: here each class has a token that asks for itself, and
nothing is frozen.

Both were published with backbones whose last features are trained by pooling over patches. In a transformer that was
trained by its class token the patches of the last block carry little, so the embedding of the whole image, normalised,
is added to what each token brings back (docs/explanation/methods.md has what it brings).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from cuter.backbone.features import Features
from cuter.learn.heads.base import HEADS, Head, HeadSettings, Scores, SharingHeadSettings

ATTENTION_HEADS = 8  # KRT's configuration; as many of them as divide the features
SPREAD = 0.02  # of random weights at the start, as in vision transformers


class ClassAttentionSettings(SharingHeadSettings):
    """Settings of class attention."""

    tokens: Literal["by-task", "by-class"] = Field("by-task", description="Tokens by-task, as in KRT, or by-class.")
    sees: Literal["patches", "image"] = Field(
        "image",
        description="What is scored: what tokens find in the patches, or with the embedding of the whole image added "
        "to it.",
    )


@HEADS.register("class-attention")
class ClassAttention(Head):
    """Tokens of tasks or of classes, one block of attention, a norm and a row for each class.

    The states are what the tokens brought back: (B, tasks, D), or (B, classes, D).
    """

    Settings: ClassVar[type[HeadSettings]] = ClassAttentionSettings

    def __init__(self, dim: int, by_class: bool, generator: torch.Generator | None = None, *, sees_image: bool = True):
        super().__init__()
        self.dim = dim
        self.by_class = by_class
        self.sees_image = sees_image
        self.attention = Attention(dim, generator)
        self.shared = nn.Parameter(_random(1, dim, generator))
        self.tokens = nn.ParameterList()
        self.norms = nn.ModuleList()
        self.weights = nn.ParameterList()
        self.biases = nn.ParameterList()

    @classmethod
    def create(cls, settings: HeadSettings, dim: int, generator: torch.Generator) -> Head:
        """Make a head for embeddings of `dim` numbers."""
        assert isinstance(settings, ClassAttentionSettings)
        return cls(dim, settings.tokens == "by-class", generator, sees_image=settings.sees == "image")

    def grow(
        self, names: Sequence[str], device: torch.device | None = None, generator: torch.Generator | None = None
    ) -> list[nn.Parameter]:
        """Add a token for the task or one for each of its classes, and rows; with tokens of tasks, freeze the old."""
        if not self.by_class:
            for part in (self.tokens, self.norms, self.weights, self.biases):
                part.requires_grad_(False)
        self.tokens.append(nn.Parameter(_random(len(names) if self.by_class else 1, self.dim, generator).to(device)))
        self.norms.append(nn.LayerNorm(self.dim, device=device))
        self.weights.append(nn.Parameter(torch.zeros(len(names), self.dim, device=device)))
        self.biases.append(nn.Parameter(torch.zeros(len(names), device=device)))
        return [self.tokens[-1], *self.norms[-1].parameters(), self.weights[-1], self.biases[-1]]

    @property
    def blocks(self) -> list[int]:
        """Sizes of the blocks, in the order in which they were added."""
        return [len(bias) for bias in self.biases]

    def forward(self, features: Features) -> Scores:
        """Let the tokens ask, and score what they bring back."""
        if not len(self.tokens):
            return Scores(features.embedding[:, :0])
        tokens = torch.cat(list(self.tokens))
        shared = self.shared.expand_as(tokens)
        asking, joining = (tokens, tokens[:, None]) if self.by_class else (shared, torch.stack([shared, tokens], dim=1))
        answers = self.attention(asking, joining, features.tokens, features.visible)
        scored = answers
        if self.sees_image:
            scored = answers + F.layer_norm(features.embedding, features.embedding.shape[1:]).unsqueeze(1)
        parts = torch.split(scored, [len(block) for block in self.tokens], dim=1)  # one per task, or one per class
        rows = zip(parts, self.norms, self.weights, self.biases, strict=True)
        logits = [(norm(part) * weight).sum(dim=2) + bias for part, norm, weight, bias in rows]
        return Scores(torch.cat(logits, dim=1), answers)


class Attention(nn.Module):
    """A transformer block in which only some tokens ask; each of them sees the patches and tokens that join them."""

    def __init__(self, dim: int, generator: torch.Generator | None):
        super().__init__()
        self.heads = math.gcd(ATTENTION_HEADS, dim)
        self.norm = nn.LayerNorm(dim)
        self.query = _linear(dim, dim, generator)
        self.key_value = _linear(dim, 2 * dim, generator)
        self.out = _linear(dim, dim, generator)
        self.mlp_norm = nn.LayerNorm(dim)
        self.widen = _linear(dim, 4 * dim, generator)
        self.narrow = _linear(4 * dim, dim, generator)

    def forward(self, asking: Tensor, joining: Tensor, patches: Tensor, visible: Tensor | None = None) -> Tensor:
        """Return answers (B, q, D) to q asking tokens (q, D), each with j others (q, j, D), about patches (B, n, D).

        visible: (B, n), which patches can be asked; None: all.
        """
        queries = self._by_head(self.query(self.norm(asking)))  # (h, q, d)
        keys, values = self._by_head(self.key_value(self.norm(patches)), 2).unbind(2)  # (B, h, n, d) each
        own_keys, own_values = self._by_head(self.key_value(self.norm(joining)), 2).unbind(2)  # (q, h, j, d)
        seen = torch.einsum("hqd,bhnd->bhqn", queries, keys)
        if visible is not None:
            seen = seen.masked_fill(~visible[:, None, None], -math.inf)
        images = patches.shape[0]  # by its shape, which may be open in an exported model; len() would settle it
        own = torch.einsum("hqd,qhjd->hqj", queries, own_keys).expand(images, -1, -1, -1)
        weights = F.softmax(torch.cat([own, seen], dim=-1) / math.sqrt(queries.shape[-1]), dim=-1)
        to_own, to_seen = torch.split(weights, [own.shape[-1], seen.shape[-1]], dim=-1)
        mixed = torch.einsum("bhqj,qhjd->bqhd", to_own, own_values) + torch.einsum("bhqn,bhnd->bqhd", to_seen, values)
        answers = asking + self.out(mixed.flatten(2))
        moved: Tensor = answers + self.narrow(F.gelu(self.widen(self.mlp_norm(answers))))
        return moved

    def _by_head(self, vectors: Tensor, parts: int = 1) -> Tensor:
        """Return (..., n, parts · D) as (..., h, [parts,] n, d)."""
        split = torch.unflatten(vectors, -1, (parts, self.heads, -1)).movedim(-2, -4)  # (..., h, n, parts, d)
        return split.squeeze(-2) if parts == 1 else split.movedim(-2, -3)


def _linear(columns: int, rows: int, generator: torch.Generator | None) -> nn.Linear:
    with torch.random.fork_rng(devices=[]):  # its own start, which is not kept, would draw from the global generator
        layer = nn.Linear(columns, rows)
    layer.weight = nn.Parameter(_random(rows, columns, generator))
    nn.init.zeros_(layer.bias)
    return layer


def _random(rows: int, columns: int, generator: torch.Generator | None) -> Tensor:
    return SPREAD * torch.randn(rows, columns, generator=generator)
