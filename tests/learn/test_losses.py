import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cuter.learn.losses import asymmetric_loss


def by_hand(logits: torch.Tensor, labels: torch.Tensor, known: torch.Tensor) -> float:
    """Eq. 1 with the shift of the original, entry by entry in Python's doubles."""
    rows = []
    for row in range(len(logits)):
        terms = []
        for column in range(logits.shape[1]):
            if not known[row, column]:
                continue
            p = 1 / (1 + math.exp(-float(logits[row, column])))
            if labels[row, column]:
                terms.append(-math.log(max(p, 1e-8)))
            else:
                shifted = max(p - 0.05, 0)
                terms.append(-(shifted**4) * math.log(max(1 - shifted, 1e-8)))
        if terms:
            rows.append(sum(terms) / len(terms))
    return sum(rows) / len(rows) if rows else 0.0


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 6))
def test_equal_to_the_formula(seed: int, rows: int, columns: int) -> None:
    torch.manual_seed(seed)
    logits = torch.randn(rows, columns) * 4
    known = torch.rand(rows, columns) < 0.6
    labels = (torch.rand(rows, columns) < 0.4) & known
    assert float(asymmetric_loss(logits, labels, known)) == pytest.approx(
        by_hand(logits, labels, known), rel=1e-4, abs=1e-6
    )


def test_unknown_labels_get_no_gradient() -> None:
    logits = torch.randn(4, 5, requires_grad=True)
    known = torch.rand(4, 5) < 0.5
    asymmetric_loss(logits, known & (torch.rand(4, 5) < 0.5), known).backward()
    assert logits.grad is not None
    assert (logits.grad[~known] == 0).all()


def test_no_gradient_through_the_focusing_weight() -> None:
    """With the weight held constant, d/dz of −w·log(1−p+0.05) is w·p(1−p)/(1.05−p)."""
    z = torch.tensor([[0.7]], requires_grad=True)
    asymmetric_loss(z, torch.zeros(1, 1, dtype=torch.bool), torch.ones(1, 1, dtype=torch.bool)).backward()
    p = 1 / (1 + math.exp(-0.7))
    assert float(z.grad) == pytest.approx((p - 0.05) ** 4 * p * (1 - p) / (1.05 - p), rel=1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_extreme_half_precision_logits_stay_finite(dtype: torch.dtype) -> None:
    logits = torch.tensor([[60.0, -60.0, 60.0, -60.0]], dtype=dtype, requires_grad=True)
    labels = torch.tensor([[True, True, False, False]])
    loss = asymmetric_loss(logits, labels, torch.ones_like(labels))
    loss.backward()
    assert loss.dtype == torch.float32
    assert torch.isfinite(loss)
    assert torch.isfinite(logits.grad).all()


def test_nothing_known_costs_nothing() -> None:
    logits = torch.randn(2, 3, requires_grad=True)
    nothing = torch.zeros(2, 3, dtype=torch.bool)
    loss = asymmetric_loss(logits, nothing, nothing)
    loss.backward()
    assert loss.item() == 0
    assert (logits.grad == 0).all()
    assert float(asymmetric_loss(torch.randn(2, 0), nothing[:, :0], nothing[:, :0])) == 0


@pytest.mark.parametrize(
    ("score", "probability"), [(0.5, 0.036), (0.55, 0.064), (0.7, 0.263), (0.8, 0.503), (0.9, 0.757)]
)
def test_what_a_score_means(score: float, probability: float) -> None:
    """The score at which the loss is minimal for a class with this probability (docs/explanation/cuter.md)."""
    logit = torch.logit(torch.tensor([[score]], dtype=torch.float64)).requires_grad_()
    known = torch.ones(1, 1, dtype=torch.bool)
    there, absent = (asymmetric_loss(logit, torch.tensor([[answer]]), known) for answer in (True, False))
    (pull,) = torch.autograd.grad(there, logit)
    (push,) = torch.autograd.grad(absent, logit)
    assert float(push / (push - pull)) == pytest.approx(probability, abs=1e-3)


def test_the_sum_over_known_classes_is_their_mean_times_their_number() -> None:
    generator = torch.Generator().manual_seed(0)
    logits, labels = torch.randn(1, 5, generator=generator), torch.rand(1, 5, generator=generator) < 0.5
    known = torch.tensor([[True, True, False, True, False]])
    mean, total = (asymmetric_loss(logits, labels, known, reduction=how) for how in ("mean", "sum"))
    torch.testing.assert_close(total, 3 * mean)
    twice = [torch.cat([tensor, tensor]) for tensor in (logits, labels, known)]
    torch.testing.assert_close(asymmetric_loss(*twice, reduction="sum"), total)  # images are averaged in both
