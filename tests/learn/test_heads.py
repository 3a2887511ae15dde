import torch

from cuter.learn.heads import LinearHead


def test_growing_keeps_the_old_classes() -> None:
    head = LinearHead(4)
    assert head(torch.randn(3, 4)).shape == (3, 0)
    head.grow(2)
    torch.nn.init.normal_(head.weights[0])
    embedding = torch.randn(3, 4)
    before = head(embedding)
    head.grow(5)
    after = head(embedding)
    assert after.shape == (3, 7)
    torch.testing.assert_close(after[:, :2], before)
    assert (after[:, 2:] == 0).all(), "a new class begins undecided"
    assert head.blocks == [2, 5]


def test_ten_thousand_classes() -> None:
    head = LinearHead(8)
    head.grow(10_000)
    assert head(torch.randn(2, 8)).shape == (2, 10_000)
