"""NsCE's terms, written out with self_loop_weight."""

import math

import torch
from hypothesis import given
from hypothesis import strategies as st

from cuter.learn.heads.prototypes import Prototypes
from cuter.learn.separation import non_sparse_separation, non_sparseness, separation
from cuter.stream.batch import Batch


def by_loops(head: Prototypes, embedding: torch.Tensor, told: Batch) -> float:
    """-(‖W_old‖₁ / ‖W_old‖₂) / d + mean over images of the mean over known classes with a prototype of (cos - t)²."""
    old = [number for block in list(head.weights)[:-1] for number in block.flatten().tolist()]
    total = -(sum(map(abs, old)) / math.sqrt(sum(x * x for x in old))) / embedding.shape[1] if any(old) else 0.0
    classes, images = len(head.means), []
    for feature, labels, known in zip(embedding, told.labels, told.known, strict=True):
        errors = []
        for column in range(classes):
            mean = head.means[column]
            if known[column] and mean.norm() > 0:
                cosine = float(feature @ mean / (feature.norm() * mean.norm()))
                errors.append((cosine - (1 if labels[column] else -1 / (classes - 1))) ** 2)
        if errors:
            images.append(sum(errors) / len(errors))
    return total + (sum(images) / len(images) if images else 0.0)


@given(st.integers(0, 2**20))
def test_it_is_its_formula(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    head = Prototypes(6)
    for count in (2, 1, 2):
        head.grow(["class"] * count)
    for parameter in head.weights:
        torch.nn.init.normal_(parameter, generator=generator)
    shown = torch.rand(5, 1, generator=generator) < 0.7
    head.means = torch.randn(5, 6, generator=generator) * shown
    known = torch.rand(4, 5, generator=generator) < 0.6
    labels = known & (torch.rand(4, 5, generator=generator) < 0.5)
    told = Batch(torch.zeros(4, 3, 8, 8, dtype=torch.uint8), labels, known, tuple("abcde"), tuple("wxyz"))
    embedding = torch.randn(4, 6, generator=generator)
    found = float(non_sparse_separation(head, embedding, told).detach())
    assert math.isclose(found, by_loops(head, embedding, told), rel_tol=1e-4, abs_tol=1e-5)


def test_a_classifier_is_least_sparse_where_all_numbers_are_equal() -> None:
    """‖W‖₁ / ‖W‖₂ goes from 1, one number, to √(rows · d), all equal."""
    alone, equal = torch.zeros(2, 8), torch.full((2, 8), 0.3)
    alone[0, 3] = -5
    assert math.isclose(float(non_sparseness([alone])), -1 / 8, rel_tol=1e-6)
    assert math.isclose(float(non_sparseness([equal])), -math.sqrt(16) / 8, rel_tol=1e-6)
    assert non_sparseness([]) == 0


def test_rows_that_are_still_zero_give_no_gradient() -> None:
    rows = torch.zeros(2, 4, requires_grad=True)
    non_sparseness([rows]).backward()
    assert rows.grad is not None
    assert rows.grad.isfinite().all()


def test_it_is_zero_where_classes_are_as_far_apart_as_they_can_be() -> None:
    """Three directions in a plane, 120° apart: cosines of -1/2 = -1 / (K - 1)."""
    angles = torch.tensor([0, 2 * math.pi / 3, 4 * math.pi / 3])
    means = torch.stack([angles.cos(), angles.sin()], dim=1)
    labels = torch.eye(3, dtype=torch.bool)
    images = torch.zeros(3, 3, 8, 8, dtype=torch.uint8)
    told = Batch(images, labels, torch.ones_like(labels), ("a", "b", "c"), ("x", "y", "z"))
    assert separation(means @ means.T, means, told) < 1e-10


def test_gradients_reach_features_and_old_rows_only() -> None:
    head = Prototypes(3)
    head.grow(["class"] * 1)
    head.grow(["class"] * 1)
    torch.nn.init.normal_(head.weights[0])
    head.means.fill_(1.0)
    embedding = torch.randn(2, 3, requires_grad=True)
    told = Batch.of(torch.zeros(2, 3, 8, 8, dtype=torch.uint8), [["a"], ["b"]])
    non_sparse_separation(head, embedding, told).backward()
    assert embedding.grad is not None
    assert head.weights[0].grad is not None
    assert head.weights[1].grad is None
