"""Tokens that ask: against a transformer block written out for one token at a time."""

import math

import pytest
import torch
import torch.nn.functional as F

from cuter.backbone.features import Features
from cuter.learn.heads.class_attention import Attention, ClassAttention

by_what = pytest.mark.parametrize("by_class", [False, True])


def seen(count: int, dim: int = 16, seed: int = 0) -> Features:
    tokens = torch.randn(count, 9, dim, generator=torch.Generator().manual_seed(seed))
    return Features(tokens.mean(dim=1), tokens, (3, 3), tokens)


def head(by_class: bool, *blocks: int, sees_image: bool = True) -> ClassAttention:
    generator = torch.Generator().manual_seed(0)
    one = ClassAttention(16, by_class, generator, sees_image=sees_image)
    for count in blocks:
        one.grow(["class"] * count, generator=generator)
    for parameter in one.parameters():
        parameter.data += 0.3 * torch.randn(parameter.shape, generator=generator)
    return one


def answer(block: Attention, asking: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """One query over a list of tokens, one attention head after the other."""
    dim = len(asking)
    query = block.query(block.norm(asking))
    keys, values = block.key_value(block.norm(others)).split(dim, dim=1)
    wide = dim // block.heads
    parts = []
    for number in range(block.heads):
        own = slice(number * wide, (number + 1) * wide)
        weights = torch.softmax(keys[:, own] @ query[own] / math.sqrt(wide), dim=0)
        parts.append(weights @ values[:, own])
    result = asking + block.out(torch.cat(parts))
    return result + block.narrow(F.gelu(block.widen(block.mlp_norm(result))))


@by_what
@pytest.mark.parametrize("sees_image", [False, True])
def test_scores_are_those_of_a_block_of_attention(by_class: bool, sees_image: bool) -> None:
    one, features = head(by_class, 2, 3, sees_image=sees_image), seen(4)
    found = one(features)
    assert found.states is not None
    tokens = torch.cat(list(one.tokens))
    for image in range(4):
        patches = features.tokens[image]
        if by_class:
            answers = [answer(one.attention, token, torch.cat([token[None], patches])) for token in tokens]
        else:
            shared = one.shared[0]
            answers = [
                answer(one.attention, shared, torch.cat([shared[None], token[None], patches])) for token in tokens
            ]
        torch.testing.assert_close(found.states[image], torch.stack(answers))
        for column in range(5):
            block, row = (0, column) if column < 2 else (1, column - 2)
            behind = answers[column] if by_class else answers[block]
            if sees_image:
                embedding = features.embedding[image]
                behind = behind + (embedding - embedding.mean()) / (embedding.var(correction=0) + 1e-5).sqrt()
            logit = one.norms[block](behind) @ one.weights[block][row] + one.biases[block][row]
            torch.testing.assert_close(found.logits[image, column], logit)


def test_old_tokens_and_rows_are_frozen_but_what_tasks_share_is_not() -> None:
    """KRT: old_task_tokens and old_heads. The shared token and the attention go on learning."""
    one = head(False, 2, 3)
    one(seen(4)).logits.square().sum().backward()
    moved = {name for name, parameter in one.named_parameters() if parameter.grad is not None}
    assert not moved & {"tokens.0", "norms.0.weight", "norms.0.bias", "weights.0", "biases.0"}
    assert {"shared", "tokens.1", "norms.1.weight", "weights.1", "biases.1", "attention.query.weight"} <= moved


def test_with_tokens_by_class_all_go_on_learning() -> None:
    one = head(True, 2, 3)
    one(seen(4)).logits.square().sum().backward()
    assert {name for name, parameter in one.named_parameters() if parameter.grad is None} == {"shared"}


@by_what
def test_new_classes_begin_undecided_and_leave_old_scores_alone(by_class: bool) -> None:
    one, features = head(by_class, 2), seen(3)
    before = one(features).logits
    one.grow(["class"] * 4)
    after = one(features).logits
    torch.testing.assert_close(after[:, :2], before)
    assert (after[:, 2:] == 0).all()
    assert one.blocks == [2, 4]


@by_what
def test_the_start_comes_from_the_generator_alone(by_class: bool) -> None:
    torch.manual_seed(3)
    expected = torch.rand(3)
    torch.manual_seed(3)
    first, second = head(by_class, 2), head(by_class, 2)
    assert torch.equal(torch.rand(3), expected)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


def test_features_that_eight_heads_do_not_divide() -> None:
    one = ClassAttention(12, True)
    one.grow(["class"] * 2)
    assert one(seen(2, dim=12)).logits.shape == (2, 2)


@by_what
def test_without_a_class_there_is_no_score(by_class: bool) -> None:
    assert ClassAttention(16, by_class)(seen(2)).logits.shape == (2, 0)
