"""A forward over some of the patches of each image: the others are not black, they are not there.

A transformer takes any set of tokens. What comes before the patches (class, distillation and register tokens) always
goes through; each patch keeps the position that it has in the image.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

SIMILAR = 0.75  # images go together as long as the shortest has this share of the longest's patches


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Images with a similar number of visible patches.

    images: (G,), which of the batch they are; patches: (G, L), which patches of each are visible, padded with 0;
    is_real: (G, L), False where it is padding.
    """

    images: Tensor
    patches: Tensor
    is_real: Tensor


def group_by_length(visible: Tensor) -> list[Group]:
    """Put images into groups that are padded little, given their visible patches (B, n)."""
    lengths, order = visible.sum(dim=1).sort(descending=True, stable=True)
    groups: list[Group] = []
    counts = lengths.tolist()
    start = 0
    while start < len(counts):
        end = start
        while end < len(counts) and counts[end] >= SIMILAR * counts[start]:
            end += 1
        images = order[start:end]
        # A stable sort puts the visible patches first and leaves them in their order.
        patches = visible[images].int().sort(dim=1, descending=True, stable=True).indices[:, : counts[start]]
        is_real = torch.arange(counts[start], device=visible.device) < lengths[start:end].unsqueeze(1)
        groups.append(Group(images, patches * is_real, is_real))
        start = end
    return groups


@contextmanager
def only(encoder: nn.Module, group: Group, before: int) -> Iterator[None]:
    """Let the encoder go on after its embeddings with the visible patches of a group, and the tokens before them."""

    def gather(_: nn.Module, __: Any, tokens: Tensor) -> Tensor:
        chosen = group.patches.unsqueeze(2).expand(-1, -1, tokens.shape[2])
        return torch.cat([tokens[:, :before], tokens[:, before:].gather(1, chosen)], dim=1)

    def gather_rotations(_: nn.Module, __: Any, rotations: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        cos, sin = (part[group.patches].unsqueeze(1) for part in rotations)
        return cos, sin

    embeddings: Any = encoder.embeddings
    hooks = [embeddings.register_forward_hook(gather)]
    if hasattr(encoder, "rope_embeddings"):  # positions that turn queries and keys, in place of being added to tokens
        rope: Any = encoder.rope_embeddings
        hooks.append(rope.register_forward_hook(gather_rotations))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def padding_mask(group: Group, before: int, dtype: torch.dtype) -> Tensor | None:
    """Return what is added to attention, (G, 1, 1, before + L), so that no token looks at padding; None without any."""
    if group.is_real.all():
        return None
    hidden = ~F.pad(group.is_real, (before, 0), value=True)
    return torch.zeros_like(hidden, dtype=dtype).masked_fill_(hidden, torch.finfo(dtype).min)[:, None, None]


def scattered(parts: Sequence[Tensor], groups: Sequence[Group], shape: torch.Size) -> Tensor:
    """Return the vectors of all groups' patches, (G, L, D) each, where the patches lie: (B, n, D), else zeros."""
    whole = parts[0].new_zeros(*shape, parts[0].shape[2])
    for part, group in zip(parts, groups, strict=True):
        images = group.images.unsqueeze(1).expand_as(group.patches)
        whole[images[group.is_real], group.patches[group.is_real]] = part[group.is_real]
    return whole
