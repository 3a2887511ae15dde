"""GSS against autograd, and against its rule written out once more."""

import math
from collections import Counter

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from cuter.learn.heads import LinearHead
from cuter.learn.keepers.base import logit_grads
from cuter.learn.losses import asymmetric_loss
from cuter.memory import Item
from cuter.memory.gradient import FIRST_SCORE, GradientDiversity, HeadGradients


def item(embedding: Tensor, logit_grad: Tensor, name: str = "", pixels: int = 1) -> Item:
    labels = torch.ones(len(logit_grad), dtype=torch.bool)
    return Item(
        torch.zeros(3, 1, pixels, dtype=torch.uint8), labels, labels, name, embedding=embedding, logit_grad=logit_grad
    )


def pointing(angle: float, name: str = "", pixels: int = 1) -> Item:
    """Return an item whose gradient has this direction in a plane."""
    direction = torch.tensor([math.cos(math.radians(angle)), math.sin(math.radians(angle))])
    return item(torch.ones(1), direction, name, pixels)


def make(budget: int, seed: int = 0) -> GradientDiversity:
    return GradientDiversity(budget, torch.Generator().manual_seed(seed))


def weight_gradient(head: LinearHead, embedding: Tensor, labels: Tensor, known: Tensor) -> Tensor:
    """Return the gradient of the weights of a head by autograd, as one vector."""
    loss = asymmetric_loss(head.logits(embedding), labels, known)
    return torch.cat([part.flatten() for part in torch.autograd.grad(loss, list(head.weights), allow_unused=True)])


@pytest.fixture
def head() -> LinearHead:
    torch.manual_seed(0)
    head = LinearHead(8)
    for count in (3, 2):
        head.grow(["class"] * count)
    for parameter in head.parameters():
        torch.nn.init.normal_(parameter)
    return head


def test_closed_form_gradients_are_those_of_autograd(head: LinearHead) -> None:
    embedding = torch.randn(6, 8)
    labels, known = torch.rand(6, 5) < 0.4, torch.rand(6, 5) < 0.7
    known[4] = False  # nothing is known of one of them
    logit_grad = logit_grads(asymmetric_loss, head.logits(embedding), labels, known)
    items = [item(e, r) for e, r in zip(embedding, logit_grad, strict=True)]
    exact = torch.stack([weight_gradient(head, embedding[[n]], labels[[n]], known[[n]]) for n in range(6)])
    closed = HeadGradients(items, columns=5)
    torch.testing.assert_close(closed.products(closed).float(), exact @ exact.T)
    torch.testing.assert_close(closed.lengths().float(), exact.norm(dim=1))
    built = logit_grad.unsqueeze(2) * embedding.unsqueeze(1)
    torch.testing.assert_close(built.flatten(1), exact)
    assert exact[4].norm() == 0


def test_the_score_is_the_largest_cosine_with_a_batch_of_memory(head: LinearHead) -> None:
    """Thirty items are three batches of ten; the cosines come from autograd on whole batches."""
    embedding = torch.randn(34, 8)
    labels, known = torch.rand(34, 5) < 0.4, torch.ones(34, 5, dtype=torch.bool)
    logit_grad = logit_grads(asymmetric_loss, head.logits(embedding), labels, known)
    items = [item(e, r, str(n)) for n, (e, r) in enumerate(zip(embedding, logit_grad, strict=True))]
    memory = make(30)
    memory.offer(items[:30])
    order = torch.randperm(30, generator=torch.Generator().manual_seed(5)).split(10)

    def gradient(numbers: Tensor) -> Tensor:
        return weight_gradient(head, embedding[numbers], labels[numbers], known[numbers])

    batches = torch.stack([gradient(numbers) for numbers in order])
    new = torch.stack([gradient(torch.arange(30, 34)), *(gradient(torch.tensor([n])) for n in range(30, 34))])
    expected = F.cosine_similarity(new[:, None], batches[None], dim=-1).amax(dim=1)
    memory.generator.manual_seed(5)
    memory.columns = 5
    batch_score, scores = memory._score(items[30:])
    torch.testing.assert_close(torch.tensor([batch_score, *scores]), expected, rtol=1e-4, atol=1e-5)


def test_a_residual_from_before_the_label_space_grew_says_nothing_of_later_classes() -> None:
    old, new = item(torch.tensor([1.0, 2.0]), torch.tensor([3.0])), item(torch.tensor([2.0, 0.0]), torch.ones(4))
    gradients = HeadGradients([old, new], columns=4)
    assert gradients.products(gradients).tolist() == [[45, 6], [6, 16]]


def test_the_first_items_have_the_same_score_and_later_ones_are_compared() -> None:
    memory = make(10)
    memory.offer([pointing(0), pointing(90)])
    assert list(memory.scores) == [FIRST_SCORE] * 2
    memory.offer([pointing(45), pointing(225)])
    assert list(memory.scores)[2:] == pytest.approx([1, -1])


def test_a_full_memory_takes_only_from_batches_that_pull_against_it() -> None:
    memory = make(20)
    memory.offer([pointing(angle) for angle in range(-10, 10)])
    before = list(memory.items)
    memory.offer([pointing(85)] * 30)  # not across yet
    memory.offer([pointing(170), *[pointing(0)] * 10])  # across alone, but not as a batch
    assert memory.items == before
    memory.offer([pointing(180, "against")] * 4)
    assert any(kept.id == "against" for kept in memory.items)
    assert len(memory) == 20


def test_a_gradient_of_nothing_neither_enters_nor_divides_by_zero() -> None:
    memory = make(3)
    memory.offer([item(torch.ones(1), torch.zeros(2), str(number)) for number in range(3)])
    memory.offer([item(torch.ones(1), torch.zeros(2), "late"), pointing(0, "late")])
    assert {kept.id for kept in memory.items} == {"0", "1", "2"}
    assert not any(map(math.isnan, memory.scores))


def test_who_leaves_is_drawn_by_scores() -> None:
    memory = make(4)
    memory.offer([pointing(0, str(number)) for number in range(4)])
    memory.scores[:] = type(memory.scores)("d", [-0.5, 0.0, 0.25, 0.5])
    drawn = Counter(memory.choose_eviction() for _ in range(4000))
    weights = [(score + 0.5) / 1.01 for score in memory.scores]
    for slot, weight in enumerate(weights):
        share = weight / sum(weights)
        assert abs(drawn[slot] - 4000 * share) <= 4.5 * math.sqrt(4000 * share * (1 - share))


def test_where_all_scores_are_equal_anyone_may_leave() -> None:
    memory = make(4)
    memory.offer([pointing(0, str(number)) for number in range(4)])
    assert {memory.choose_eviction() for _ in range(100)} == {0, 1, 2, 3}


@pytest.mark.parametrize(("held", "new"), [(0.5, -0.5), (0.0, 0.0), (-0.8, 0.2)])
def test_how_often_an_item_gives_way(held: float, new: float) -> None:
    memory = make(4)
    expected = (held + 1) / (held + new + 2)
    given = sum(memory._gives_way(held, new) for _ in range(3000)) / 3000
    assert given == pytest.approx(expected, abs=4.5 * 0.5 / math.sqrt(3000))


def test_scores_stay_with_their_items() -> None:
    memory = make(30)
    generator = torch.Generator().manual_seed(1)
    scores: dict[str, float] = {}
    for number in range(200):
        angle = float(torch.rand((), generator=generator)) * 360
        memory.offer([pointing(angle, str(number), pixels=1 + number % 3)])
        if memory.items[-1].id == str(number):
            scores[str(number)] = memory.scores[-1]
        assert list(memory.scores) == [scores[kept.id] for kept in memory.items]
    assert any(int(kept.id) > 100 for kept in memory.items)


def test_memory_spreads_over_directions_that_a_reservoir_would_drown() -> None:
    """Nineteen of twenty items pull one way: the few that pull against it are worth more places than their share."""
    generator = torch.Generator().manual_seed(0)
    memory = make(20)
    for _ in range(60):
        turned = torch.rand(10, generator=generator) < 0.05
        noise = 40 * torch.randn(10, generator=generator)
        for angle, other in zip(noise.tolist(), turned.tolist(), strict=True):
            memory.offer([pointing(angle + 180 * other, "other" if other else "usual")])
    assert sum(kept.id == "other" for kept in memory.items) >= 4
