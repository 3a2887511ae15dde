import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from cuter.pretrain.contrast import contrast_loss


def directions(rng: np.random.Generator, views: int, images: int) -> list[torch.Tensor]:
    return [F.normalize(torch.tensor(rng.normal(size=(images, 5))), dim=1) for _ in range(views)]


@given(st.integers(0, 10_000), st.integers(0, 3), st.integers(1, 5))
def test_the_loss_is_that_of_a_view_against_the_images_of_the_batch(seed: int, small: int, images: int) -> None:
    rng = np.random.default_rng(seed)
    student, teacher = directions(rng, 2 + small, images), directions(rng, 2, images)
    losses, right = [], []
    for i, other in enumerate(teacher):
        for j, view in enumerate(student):
            for k in range(images if i != j else 0):
                powers = [np.exp(float(view[k] @ other[m]) / 0.2) for m in range(images)]
                losses.append(-np.log(powers[k] / sum(powers)))
                right.append(np.argmax(powers) == k)
    loss, matched = contrast_loss(student, teacher)
    assert loss.item() == pytest.approx(np.mean(losses), rel=1e-6)
    assert matched.item() == pytest.approx(np.mean(right))


def test_views_go_where_the_teacher_sees_their_image() -> None:
    rng = np.random.default_rng(0)
    teacher = directions(rng, 2, 8)
    teacher[1] = teacher[0]
    views = [view.requires_grad_() for view in directions(rng, 3, 8)]
    before = contrast_loss(views, teacher)
    for _ in range(30):
        gradients = torch.autograd.grad(contrast_loss(views, teacher)[0], views)
        moved = [view - 5 * gradient for view, gradient in zip(views, gradients, strict=True)]
        views = [F.normalize(view.detach(), dim=1).requires_grad_() for view in moved]
    after = contrast_loss(views, teacher)
    assert after[0] < before[0] - 1
    assert after[1] == 1 > before[1]
