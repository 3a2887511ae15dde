"""GSS-greedy (Aljundi et al. 2019): memory keeps items whose gradients point in different directions."""

from array import array
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from cuter.memory.base import MEMORIES, Memory, MemorySettings
from cuter.memory.item import Item

BATCHES, BATCH_SIZE = 10, 10  # of memory, that a new item is compared with: n of Algorithm 2, and the authors' size
FIRST_SCORE = 0.1  # of items that come when there is nothing to compare them with
MARGIN = 0.01  # so that equal scores do not divide by zero


class GradientSettings(MemorySettings):
    """Settings of gradient-based selection."""

    def check(self, learner: Any) -> None:
        """Gradients are those of a linear layer: the head must have one."""
        if self.images and learner.head.kind not in ("linear", "prototypes"):
            raise ValueError(
                f"the memory policy gradient compares gradients of a linear layer, which the head {learner.head.kind} "
                "has not. Accepted: linear, prototypes"
            )


@MEMORIES.register("gradient")
class GradientDiversity(Memory):
    """An item's score is the largest cosine of its gradient with those of random batches of memory.

    A full memory takes in items only of batches that pull against all of these, a score below 0; items with high scores
    leave. Gradients are those of the weights of a linear head, r ⊗ e with the logit_grad r = ∂loss/∂logits and the
    embedding e, both as the model saw the item last: replay renews them, and no forward is made for this.
    """

    Settings: ClassVar[type[MemorySettings]] = GradientSettings
    required_vectors: ClassVar[frozenset[str]] = frozenset({"embedding", "logit_grad"})

    def __init__(self, budget: int, generator: torch.Generator, settings: MemorySettings | None = None):
        super().__init__(budget, generator, settings)
        self.scores = array("d")  # by slot

    def update(self, items: Sequence[Item]) -> None:
        """Score a batch against memory, and let its items take the place of others."""
        arrived = list(filter(None, map(self.register, items)))
        if not arrived:
            return
        batch_score, scores = self._score(arrived)
        for item, score in zip(arrived, scores, strict=True):
            if not self.fits(item):
                slot = self.choose_eviction() if batch_score < 0 else None
                if slot is None or not self._gives_way(self.scores[slot], score):
                    continue
                self.remove(slot)
                while not self.fits(item):
                    self.remove(self.choose_eviction())
            self.add(item)
            self.scores.append(score)

    def choose_eviction(self) -> int:
        """Draw a slot in proportion to (C - min) / (max - min + 0.01), C being its score."""
        scores = torch.frombuffer(self.scores, dtype=torch.float64)
        weights = (scores - scores.min()) / (scores.max() - scores.min() + MARGIN)
        if not weights.any():
            weights = torch.ones_like(weights)  # all are equal
        return int(torch.multinomial(weights, 1, generator=self.generator))

    def remove(self, slot: int) -> None:
        """Empty a slot; the last item moves into it."""
        super().remove(slot)
        last = self.scores.pop()
        if slot != len(self):
            self.scores[slot] = last

    def state_dict(self) -> dict[str, Any]:
        """Return all that is needed to go on exactly as before."""
        return super().state_dict() | {"scores": torch.tensor(self.scores, dtype=torch.float64)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a saved state."""
        super().load_state_dict(state)
        self.scores = array("d", state["scores"].tolist())

    def _gives_way(self, held: float, new: float) -> bool:
        """Draw whether an item gives way to a new one: with probability C / (c + C), both scores shifted to 0..1."""
        held, new = (held + 1) / 2, (new + 1) / 2
        return float(torch.rand((), generator=self.generator, dtype=torch.float64)) * (held + new) < held

    def _score(self, items: Sequence[Item]) -> tuple[float, list[float]]:
        """Return the score of a batch of items, and those of each of them."""
        if not len(self):
            return FIRST_SCORE, [FIRST_SCORE] * len(items)
        order = torch.randperm(len(self), generator=self.generator)[: BATCHES * BATCH_SIZE].tolist()
        new, drawn = HeadGradients(items, self.columns), HeadGradients([self.items[s] for s in order], self.columns)
        batches = [slice(start, start + BATCH_SIZE) for start in range(0, len(order), BATCH_SIZE)]
        among, across = drawn.products(drawn), new.products(drawn)
        lengths = torch.stack([among[batch, batch].mean() for batch in batches]).sqrt()
        directions = torch.stack([across[:, batch].mean(dim=1) for batch in batches], dim=1) / _not_zero(lengths)
        scores = directions.amax(dim=1) / _not_zero(new.lengths())
        return float(directions.mean(dim=0).max() / _not_zero(new.mean_length())), scores.tolist()


class HeadGradients:
    """The gradients r ⊗ e of the weights of a linear head, one for each item, without building any of them.

    The inner product of two is (r·r')(e·e'), and that of means of some is the mean of theirs. A logit_grad from before
    the label space grew says nothing of later classes: zeros.
    """

    def __init__(self, items: Sequence[Item], columns: int):
        vectors = [item.tensors() for item in items]
        self.embeddings = torch.stack([each["embedding"] for each in vectors]).double()
        self.logit_grads = torch.zeros(len(items), columns, dtype=torch.float64)
        for row, each in enumerate(vectors):
            self.logit_grads[row, : len(each["logit_grad"])] = each["logit_grad"]

    def products(self, others: "HeadGradients") -> Tensor:
        """Return the inner products (n, m) with other gradients."""
        products: Tensor = (self.logit_grads @ others.logit_grads.T) * (self.embeddings @ others.embeddings.T)
        return products

    def lengths(self) -> Tensor:
        """Return the lengths (n,) of the gradients."""
        lengths: Tensor = self.logit_grads.norm(dim=1) * self.embeddings.norm(dim=1)
        return lengths

    def mean_length(self) -> Tensor:
        """Return the length of the mean of all, the one matrix that is built: a batch may have many items."""
        length: Tensor = (self.logit_grads.T @ self.embeddings / len(self.logit_grads)).norm()
        return length


def _not_zero(lengths: Tensor) -> Tensor:
    """Let what has no direction have cosine 0 with everything."""
    return lengths.clamp(min=torch.finfo(lengths.dtype).tiny)
