import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cuter.backbone import Backbone
from cuter.pretrain.dino import (
    Head,
    Health,
    Network,
    collapse,
    dino_loss,
    follow,
    health,
    koleo,
    make_teacher,
    moved_centre,
    teacher_targets,
)


def softmax(values: np.ndarray) -> np.ndarray:
    powers = np.exp(values - values.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


@given(st.integers(0, 10_000), st.integers(0, 3), st.integers(1, 4), st.integers(2, 6), st.floats(0.02, 0.2))
def test_the_loss_is_the_printed_sum(seed: int, small: int, images: int, prototypes: int, temperature: float) -> None:
    rng = np.random.default_rng(seed)
    answers = rng.uniform(-1, 1, (2, images, prototypes))
    guesses = rng.uniform(-1, 1, (2 + small, images, prototypes))
    centre = rng.uniform(-0.5, 0.5, prototypes)
    terms = []
    for i in range(2):
        for j in range(2 + small):
            if i != j:
                likely = softmax((answers[i] - centre) / temperature)
                terms += list(-(likely * np.log(softmax(guesses[j] / 0.1))).sum(axis=1))
    targets = teacher_targets(torch.tensor(answers), torch.tensor(centre), temperature)
    assert float(dino_loss(list(torch.tensor(guesses)), list(targets))) == pytest.approx(np.mean(terms), rel=1e-9)


def test_the_centre_is_a_running_mean_that_forgets() -> None:
    batches = [torch.randn(7, 5, generator=torch.Generator().manual_seed(seed)) for seed in range(30)]
    centre = torch.zeros(5)
    for batch in batches:
        centre = moved_centre(centre, batch)
    weights = [0.5 ** (30 - place) for place in range(30)]
    expected = sum(weight * batch.double().mean(0).numpy() for weight, batch in zip(weights, batches, strict=True))
    assert centre.numpy() == pytest.approx(expected, abs=1e-6)


def test_centring_takes_away_what_all_images_have_in_common() -> None:
    answers = torch.randn(6, 4)
    shift = torch.tensor([5.0, 0, -3, 1])
    assert torch.allclose(teacher_targets(answers + shift, shift, 0.04), teacher_targets(answers, 0 * shift, 0.04))


def test_the_teacher_follows_and_no_gradient_reaches_it(tiny: Backbone) -> None:
    student = Network(tiny, Head(32, 16, seed=1))
    teacher = make_teacher(student)
    images = torch.randint(256, (3, 3, 32, 32), dtype=torch.uint8)
    before = [parameter.clone() for parameter in teacher.parameters()]
    targets = teacher_targets(teacher(images).logits, torch.zeros(16), 0.04)
    dino_loss([student(images).logits] * 2, [targets]).backward()
    assert not targets.requires_grad
    assert all(parameter.grad is None for parameter in teacher.parameters())
    with torch.no_grad():
        for parameter in student.parameters():
            parameter.add_(torch.randn_like(parameter))
    follow(teacher, student, 0.9)
    moved = list(zip(before, student.parameters(), teacher.parameters(), strict=True))
    assert all(torch.allclose(slow, 0.9 * old + 0.1 * fast, atol=1e-6) for old, fast, slow in moved)
    assert not any(torch.equal(old, slow) for old, _, slow in moved)


def test_the_head_gives_cosines_with_its_prototypes() -> None:
    head = Head(8, 20, seed=0)
    embeddings = 100 * torch.randn(50, 8)
    directions, logits = head(embeddings)
    assert torch.allclose(directions.norm(dim=1), torch.ones(50))
    points = head.layers(embeddings).double()
    expected = torch.nn.functional.cosine_similarity(points[:, None], head.prototypes[None].double(), dim=2)
    assert torch.allclose(logits.double(), expected, atol=1e-5)


def test_the_head_depends_on_its_seed_alone() -> None:
    before = torch.get_rng_state()
    same = [torch.equal(a, b) for a, b in zip(Head(8, 4, 1).parameters(), Head(8, 4, 1).parameters(), strict=True)]
    assert all(same)
    assert not torch.equal(Head(8, 4, 1).prototypes, Head(8, 4, 2).prototypes)
    assert torch.equal(torch.get_rng_state(), before)


@given(st.integers(0, 10_000), st.integers(2, 8), st.integers(2, 5))
def test_koleo_is_the_log_distance_to_the_nearest(seed: int, images: int, dim: int) -> None:
    embeddings = torch.randn(images, dim, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    points = (embeddings / embeddings.norm(dim=1, keepdim=True)).numpy()
    distances = np.linalg.norm(points[:, None] - points[None], axis=2) + 9 * np.eye(images)
    assert koleo(embeddings).item() == pytest.approx(-np.log(distances.min(axis=1).clip(min=1e-6)).mean(), abs=1e-6)


def test_koleo_pushes_embeddings_apart() -> None:
    embeddings = (
        torch.ones(20, 6) + 0.01 * torch.randn(20, 6, generator=torch.Generator().manual_seed(0))
    ).requires_grad_()
    before = health(torch.ones(20, 4) / 4, embeddings.detach()).spread
    for _ in range(50):
        (gradient,) = torch.autograd.grad(koleo(embeddings), embeddings)
        embeddings = (embeddings - 0.1 * gradient).detach().requires_grad_()
    assert health(torch.ones(20, 4) / 4, embeddings.detach()).spread > 10 * before


def test_health_tells_both_kinds_of_collapse() -> None:
    scattered = torch.randn(4000, 64, generator=torch.Generator().manual_seed(0))
    every_other = torch.eye(8).repeat(500, 1)
    good = health(every_other, scattered)
    assert good.entropy == pytest.approx(0, abs=1e-6)
    assert good.diversity == pytest.approx(math.log(8))
    assert good.spread == pytest.approx(1, abs=0.01)
    assert collapse(good, 8) is None

    same = scattered[:1].expand(4000, -1)
    assert health(every_other, same).spread == pytest.approx(0, abs=1e-5)
    assert "nearly the same" in str(collapse(health(every_other, same), 8))
    assert "same prototype" in str(collapse(health(torch.eye(8)[:1].expand(9, -1), scattered), 8))
    assert "equally likely" in str(collapse(health(torch.full((9, 8), 1 / 8), scattered), 8))


def test_entropy_is_that_of_each_answer_and_diversity_that_of_their_mean() -> None:
    answers = softmax(np.random.default_rng(0).normal(0, 2, (5, 7)))
    found = health(torch.tensor(answers), torch.randn(5, 4))
    assert found.entropy == pytest.approx(-(answers * np.log(answers)).sum(axis=1).mean())
    mean = answers.mean(axis=0)
    assert found.diversity == pytest.approx(-(mean * np.log(mean)).sum())
    assert isinstance(found, Health)
