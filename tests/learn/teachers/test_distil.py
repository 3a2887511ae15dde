"""Old scores stay: against PyTorch's own cross-entropy and divergence."""

import torch
import torch.nn.functional as F

from cuter.learn.teachers.distil import distillation


def test_it_is_the_divergence_of_the_old_from_the_new_scores_where_nobody_looked() -> None:
    generator = torch.Generator().manual_seed(0)
    old, new = torch.randn(5, 3, generator=generator), torch.randn(5, 6, generator=generator)
    known = torch.rand(5, 6, generator=generator) < 0.4
    q, p = (torch.sigmoid(logits).double() for logits in (old, new[:, :3]))
    both = torch.stack([q, 1 - q]).log(), torch.stack([p, 1 - p]).log()
    divergence = F.kl_div(both[1], both[0], reduction="none", log_target=True).sum(dim=0)
    torch.testing.assert_close(distillation(old, new, known).double(), divergence[~known[:, :3]].mean())


def test_its_gradient_is_that_of_icarls_cross_entropy_as_a_mean() -> None:
    old, new = torch.randn(4, 2), torch.randn(4, 2, requires_grad=True)
    nobody = torch.zeros(4, 2, dtype=torch.bool)
    (found,) = torch.autograd.grad(distillation(old, new, nobody), new)
    (expected,) = torch.autograd.grad(F.binary_cross_entropy_with_logits(new, torch.sigmoid(old)), new)
    torch.testing.assert_close(found, expected)


def test_it_is_zero_where_nothing_changed_or_everything_is_known() -> None:
    logits = torch.randn(4, 3)
    assert distillation(logits, logits, torch.zeros(4, 3, dtype=torch.bool)).abs() < 1e-6
    assert distillation(logits, logits + 1, torch.ones(4, 3, dtype=torch.bool)) == 0
