"""One battery for every head: a new one is covered the moment its file exists."""

import pytest
import torch

from cuter.checks import HEAD_CHECKS, check_head
from cuter.checks.battery import Check
from cuter.learn.heads import HEADS, LinearHead


@pytest.mark.parametrize("head", list(HEADS))
@pytest.mark.parametrize("check", HEAD_CHECKS, ids=lambda check: check.__name__)
def test_it_holds_what_every_head_promises(head: str, check: Check) -> None:
    check(head)


class Loud(LinearHead):
    def logits(self, embedding: torch.Tensor) -> torch.Tensor:
        return super().logits(embedding) + 1


class OfTheBatch(LinearHead):
    def logits(self, embedding: torch.Tensor) -> torch.Tensor:
        return super().logits(embedding - embedding.mean(dim=0))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Loud, "head 'mine': the first classes do not begin with logits of 0"),
        (OfTheBatch, "the scores of an image depend on the other images of its batch"),
    ],
)
def test_what_does_not_hold_is_said(kind: type[LinearHead], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HEADS._parts, "mine", kind)
    with pytest.raises(AssertionError, match=message):
        check_head("mine")
