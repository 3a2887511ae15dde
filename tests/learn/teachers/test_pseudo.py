"""Pseudo-labels: what is said of whom, and KRT's token loss."""

import math

import pytest
import torch
import torch.nn.functional as F

from cuter.backbone import Backbone
from cuter.learn.learner import Learner
from cuter.learn.model import View
from cuter.learn.teachers.pseudo import PseudoLabels, PseudoSettings, token_loss
from cuter.stream.batch import Batch


def view(logits: torch.Tensor, states: torch.Tensor | None = None) -> View:
    return View(logits, torch.zeros(len(logits), 4), torch.zeros(len(logits), 4, 4), (2, 2), states=states)


def images(count: int) -> torch.Tensor:
    return torch.zeros(count, 3, 8, 8, dtype=torch.uint8)


def test_old_classes_are_present_above_the_threshold_else_absent_but_never_against_what_is_known() -> None:
    teacher = PseudoLabels(PseudoSettings(token_weight=0))
    batch = Batch.of(images(2), [["new"], ["new"]], known=[["new"], ["new", "old"]]).aligned(("old", "older", "new"))
    high, low = math.log(0.9 / 0.1), math.log(0.7 / 0.3)  # either side of 0.8
    lesson = teacher.teach(view(torch.tensor([[high, low], [high, high]])), view(torch.zeros(2, 3)), batch)
    assert lesson.batch.labels.tolist() == [[True, False, True], [False, True, True]]
    assert lesson.batch.known.all()
    assert lesson.loss == 0
    assert batch.labels.tolist() == [[False, False, True], [False, False, True]], "the batch itself stays as it came"


def test_the_token_loss_is_krts() -> None:
    """KRT's loss is a sum over 64 · C labels + λ √(C / C_new) (1 - cos); ours is that, divided by 64 · C."""
    generator = torch.Generator().manual_seed(0)
    old, new = torch.randn(5, 2, 7, generator=generator), torch.randn(5, 3, 7, generator=generator)
    flat_old, flat_new = torch.cat([old[:, 0], old[:, 1]], dim=1), torch.cat([new[:, 0], new[:, 1]], dim=1)
    krt = math.sqrt(12 / 4) * F.cosine_embedding_loss(flat_new, flat_old, torch.ones(5))
    torch.testing.assert_close(token_loss(old, new, 12, old_classes=8), krt / (64 * 12))


def test_the_token_loss_has_its_weight() -> None:
    old, new = torch.randn(3, 1, 6), torch.randn(3, 2, 6)
    batch = Batch.of(images(3), [["b"]] * 3).aligned(("a", "b"))
    losses = [
        PseudoLabels(PseudoSettings(token_weight=weight))
        .teach(view(torch.zeros(3, 1), old), view(torch.zeros(3, 2), new), batch)
        .loss
        for weight in (0, 80, 160)
    ]
    assert losses[0] == 0
    torch.testing.assert_close(losses[2], 2 * losses[1])
    torch.testing.assert_close(losses[1], 80 * token_loss(old, new, 2, 1))


def test_guesses_do_not_enter_memory(tiny: Backbone) -> None:
    one = Learner.create("krt", backbone=tiny, device="cpu", memory={"images": 50}, augment="none")
    pixels = torch.randint(256, (4, 3, 32, 32), dtype=torch.uint8)
    one.observe(Batch.of(pixels, [["a"]] * 4, ids=[f"a{i}" for i in range(4)]))
    with torch.no_grad():
        one.model.head.biases[0].fill_(9)  # everything looks like a
    told = []
    one.criterion = lambda logits, labels, known: told.append(labels) or logits.sum()
    one.observe(Batch.of(pixels, [["b"]] * 4, ids=[f"b{i}" for i in range(4)]))
    assert told[0].tolist() == [[True, True]] * 4
    kept = [item for item in one.memory.items if item.id.startswith("b")]
    assert [item.labels.tolist() for item in kept] == [[False, True]] * 4
    assert [item.known.tolist() for item in kept] == [[False, True]] * 4


@pytest.mark.parametrize("threshold", ["running", "by-class"])
def test_the_teacher_decides_before_the_model_rules_anything_out(tiny: Backbone, threshold: str) -> None:
    """With absent-if-sure the model calls an old class absent; the earlier model, which still knows it, has its way."""
    one = Learner.create(
        "cuter-krt",
        backbone=tiny,
        device="cpu",
        teacher={"threshold": threshold, "token_weight": 0},
        head="linear",
        replay={"size": 0},
    )
    pixels = torch.randint(256, (4, 3, 32, 32), dtype=torch.uint8)
    one.observe(Batch.of(pixels, [["a"]] * 4))
    with torch.no_grad():
        one.model.head.biases[0].fill_(9)
    one.observe(Batch.of(pixels, [["b"]] * 4))
    with torch.no_grad():
        one.model.head.biases[0].fill_(-9)  # it has forgotten
    told = []
    one.criterion = lambda logits, labels, known: told.append(labels) or logits.sum()
    one.observe(Batch.of(pixels, [["b"]] * 4))
    assert told[0].tolist() == [[True, True]] * 4
