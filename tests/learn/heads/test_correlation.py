"""AGCN's four blocks, by hand."""

import math

import torch
from hypothesis import given
from hypothesis import strategies as st

from cuter.learn.heads.correlation import Correlation, rescaled


def given_labels(*rows: str) -> torch.Tensor:
    """'110' has the first two of three classes."""
    return torch.tensor([[sign == "1" for sign in row] for row in rows])


def everything(labels: torch.Tensor) -> torch.Tensor:
    return torch.ones_like(labels)


def count_often(counts: Correlation, labels: torch.Tensor, known: torch.Tensor, soft: torch.Tensor | None) -> None:
    """Count the same images so often that what shares begin with does not matter."""
    counts.count(labels.repeat(1000, 1), known.repeat(1000, 1), None if soft is None else soft.repeat(1000, 1))


def test_new_classes_by_hand() -> None:
    """Five images: a in four, b in two of them, c alone once.

    P(a | b) = 2/2, P(b | a) = 2/4, both at least 0.4; c comes with nobody. A column's neighbours weigh 0.25 together:
    A = [[1, .25, 0], [.25, 1, 0], [0, 0, 1]], rows sum to 1.25, 1.25, 1.
    """
    counts = Correlation()
    counts.grow(3)
    labels = given_labels("110", "110", "100", "100", "001")
    count_often(counts, labels, everything(labels), None)
    expected = [[1 / 1.25, 0.25 / 1.25, 0], [0.25 / 1.25, 1 / 1.25, 0], [0, 0, 1]]
    torch.testing.assert_close(counts.matrix(), torch.tensor(expected))


def test_a_relation_may_hold_in_one_direction_only() -> None:
    """A surfboard comes with a person, P(person | surfboard) = 1; P(surfboard | person) = 1/4 is too little.

    So the person takes from the surfboard: A = [[1, .25], [0, 1]], rows sum to 1.25 and 1.
    """
    counts = Correlation()
    counts.grow(2)
    labels = given_labels("11", "10", "10", "10")
    count_often(counts, labels, everything(labels), None)
    expected = [[1 / 1.25, 0.25 / math.sqrt(1.25)], [0, 1]]
    torch.testing.assert_close(counts.matrix(), torch.tensor(expected))


def test_four_blocks_by_hand() -> None:
    """Two old classes o, p that came together; then two new ones n, m in three images, with soft labels of o and p.

    P(o | n) = (0.9 + 0.6) / 2 = 0.75, P(p | n) = 0.25, P(o | m) = 0.2, P(p | m) = 0.8; at least 0.3 counts.
    By Bayes, halved: P(n | o) = 1.5 / 1.7 / 2, P(m | o) = 0.2 / 1.7 / 2, P(n | p) = 0.5 / 1.3 / 2, too little, and
    P(m | p) = 0.8 / 1.3 / 2.
    """
    counts = Correlation()
    counts.grow(2)
    first = given_labels("11", "11", "11")
    count_often(counts, first, everything(first), None)
    old = counts.matrix()
    torch.testing.assert_close(old, torch.tensor([[0.8, 0.2], [0.2, 0.8]]))
    counts.grow(2)
    labels = given_labels("10", "10", "01")
    soft = torch.tensor([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    count_often(counts, labels, everything(labels), soft)
    expected = [
        [0.8, 0.2, 0.25, 0],
        [0.2, 0.8, 0, 0.25],
        [0.25, 0, 1, 0],
        [0, 0.25, 0, 1],
    ]
    torch.testing.assert_close(counts.matrix(), torch.tensor(expected))


def test_counting_in_batches_is_counting_at_once() -> None:
    generator = torch.Generator().manual_seed(0)
    labels = torch.rand(40, 5, generator=generator) < 0.4
    soft = torch.softmax(torch.randn(40, 3, generator=generator), dim=1)
    matrices = []
    for size in (40, 7, 1):
        counts = Correlation()
        counts.grow(3)
        counts.grow(5)
        for some, opinion in zip(labels.split(size), soft.split(size), strict=True):
            counts.count(some, everything(some), opinion)
        matrices.append(counts.matrix())
    torch.testing.assert_close(matrices[0], matrices[1])
    torch.testing.assert_close(matrices[0], matrices[2])


def test_what_nobody_looked_for_counts_neither_way() -> None:
    """b is in two of the three images with a in which somebody looked for b: P(b | a) = 2/3, not 2/6."""
    counts = Correlation()
    counts.grow(2)
    labels = given_labels("11", "11", "10", "10", "10", "10")
    known = given_labels("11", "11", "11", "10", "10", "10")
    count_often(counts, labels, known, None)
    assert counts.matrix()[1, 0] > 0


def test_a_few_images_make_no_edge() -> None:
    """Always together: an edge by six images, 6 / 16, or by seven, 7 / 17, which is more than 0.4?"""
    for images, are_connected in ((6, False), (7, True)):
        counts = Correlation()
        counts.grow(2)
        labels = given_labels(*["11"] * images)
        counts.count(labels, everything(labels), None)
        assert (counts.matrix()[0, 1] > 0) == are_connected


def test_nothing_counted_yet_is_everybody_for_itself() -> None:
    counts = Correlation()
    assert counts.matrix().shape == (0, 0)
    counts.grow(2)
    counts.grow(1)
    torch.testing.assert_close(counts.matrix(), torch.eye(3))


@given(st.integers(1, 6), st.integers(0, 2**20))
def test_neighbours_weigh_a_quarter_together(classes: int, seed: int) -> None:
    shares = torch.rand(classes, classes, generator=torch.Generator().manual_seed(seed))
    sums = rescaled(shares, 0.4).sum(dim=0)
    has_any = (shares >= 0.4).any(dim=0)
    torch.testing.assert_close(sums, torch.where(has_any, 0.25, 0.0))
