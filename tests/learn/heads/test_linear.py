import torch

from cuter.backbone.features import Features
from cuter.learn.heads import LinearHead


def features(count: int, dim: int) -> Features:
    tokens = torch.randn(count, 4, dim)
    return Features(torch.randn(count, dim), tokens, (2, 2), tokens)


def test_growing_keeps_the_old_classes() -> None:
    head = LinearHead(4)
    seen = features(3, 4)
    assert head(seen).logits.shape == (3, 0)
    head.grow(["class"] * 2)
    torch.nn.init.normal_(head.weights[0])
    before = head(seen).logits
    head.grow(["class"] * 5)
    after = head(seen).logits
    assert after.shape == (3, 7)
    torch.testing.assert_close(after[:, :2], before)
    assert (after[:, 2:] == 0).all(), "a new class begins undecided"
    assert head.blocks == [2, 5]


def test_ten_thousand_classes() -> None:
    head = LinearHead(8)
    head.grow(["class"] * 10_000)
    assert head(features(2, 8)).logits.shape == (2, 10_000)
