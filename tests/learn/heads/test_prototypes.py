"""Class means, and what becomes of cosines."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics.pairwise import cosine_similarity

from cuter.backbone import Backbone
from cuter.backbone.features import Features
from cuter.learn.heads.prototypes import MOMENTUM, Prototypes
from cuter.learn.learner import Learner
from cuter.stream.batch import Batch


def batch(labels: list[list[str]]) -> Batch:
    images = torch.zeros(len(labels), 3, 8, 8, dtype=torch.uint8)
    return Batch.of(images, labels, known=["a", "b", "c"]).aligned(("a", "b", "c"))


def seen(embedding: torch.Tensor) -> Features:
    return Features(embedding, embedding[:, None], (1, 1), embedding[:, None])


def test_means_are_running_means_of_directions_by_class() -> None:
    generator = torch.Generator().manual_seed(0)
    head = Prototypes(5)
    head.grow(["class"] * 3)
    expected: dict[str, np.ndarray] = {}
    for step, labels in enumerate([[["a"], ["a", "b"], []], [["b"], ["b"], ["a"]]] * 15, start=1):
        embedding = torch.randn(3, 5, generator=generator) * 7
        head.update_statistics(batch(labels), embedding, None)
        rows = embedding.double().numpy()
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        for name in "ab":
            now = np.mean([row for row, given in zip(rows, labels, strict=True) if name in given], axis=0)
            kept = min(1 - 1 / step, MOMENTUM)  # a plain mean over steps, until that is as slow as the momentum
            expected[name] = kept * expected.get(name, 0) + (1 - kept) * now
    np.testing.assert_allclose(head.means[:2].numpy(), [expected["a"], expected["b"]], rtol=1e-5)
    assert (head.means[2] == 0).all()


def test_what_is_replayed_moves_means_too() -> None:
    head = Prototypes(2)
    head.grow(["class"] * 3)
    head.update_statistics(batch([["a"]]), torch.tensor([[1.0, 0.0]]), None)
    head.update_replay_statistics(batch([["a"]]), torch.tensor([[0.0, 3.0]]))
    torch.testing.assert_close(head.means[0], torch.tensor([0.5, 0.5]))


def test_means_that_were_saved_without_a_count_of_steps_go_on_as_warm() -> None:
    head, later = Prototypes(2), Prototypes(2)
    head.grow(["class"] * 3)
    later.grow(["class"] * 3)
    head.update_statistics(batch([["a"]]), torch.tensor([[1.0, 0.0]]), None)
    saved = head.state_dict()
    del saved["steps"]
    later.load_state_dict(saved)
    later.update_statistics(batch([["a"]]), torch.tensor([[0.0, 1.0]]), None)
    torch.testing.assert_close(later.means[0], torch.tensor([MOMENTUM, 1 - MOMENTUM]))


def test_scores_pass_the_threshold_where_cosines_pass_a_half_and_have_their_order() -> None:
    generator = torch.Generator().manual_seed(1)
    head = Prototypes(4)
    head.grow(["class"] * 3)
    head.means[:2] = torch.randn(2, 4, generator=generator)
    embedding = torch.randn(200, 4, generator=generator)
    cosines = cosine_similarity(embedding.numpy(), head.means[:2].numpy())
    scores = torch.sigmoid(head.predict_logits(seen(embedding))).numpy()
    assert ((scores[:, :2] > 0.8) == (cosines > 0.5)).all()
    for column in range(2):
        assert (np.argsort(scores[:, column]) == np.argsort(cosines[:, column])).all()
    assert len(np.unique(scores[:, 0])) == 200, "no two become equal"
    never_shown = 1 / (1 + math.exp(5 - math.log(4)))
    np.testing.assert_allclose(scores[:, 2], never_shown, rtol=1e-5)


def test_rows_may_predict_too() -> None:
    head = Prototypes(3, by_means=False)
    head.grow(["class"] * 2)
    torch.nn.init.ones_(head.weights[0])
    head.means.fill_(7.0)
    embedding = torch.tensor([[1.0, 2.0, 3.0]])
    assert head.predict_logits(seen(embedding)).tolist() == [[6.0, 6.0]]


def test_what_is_trained_are_rows_not_means() -> None:
    head = Prototypes(3)
    head.grow(["class"] * 2)
    torch.nn.init.ones_(head.weights[0])
    embedding = torch.randn(4, 3)
    torch.testing.assert_close(head(seen(embedding)).logits, embedding.sum(dim=1, keepdim=True).expand(4, 2))


def test_means_of_old_classes_stay_when_new_ones_come() -> None:
    head = Prototypes(3)
    head.grow(["class"] * 2)
    head.means.fill_(2.0)
    head.grow(["class"] * 1)
    assert head.means.tolist() == [[2.0] * 3, [2.0] * 3, [0.0] * 3]


@pytest.mark.parametrize("labels", [[], [[], []]])
def test_nothing_to_follow(labels: list[list[str]]) -> None:
    head = Prototypes(3)
    head.grow(["class"] * 3)
    head.update_statistics(batch(labels), torch.randn(len(labels), 3), None)
    assert (head.means == 0).all()


def test_a_learner_predicts_by_its_means_and_replay_moves_those_of_old_classes(tiny: Backbone) -> None:
    one = Learner.create("icarl", backbone=tiny, device="cpu", memory={"images": 8}, lr=1e-2)
    pixels = torch.randint(256, (4, 3, 32, 32), dtype=torch.uint8)
    one.observe(Batch.of(pixels, [["a"]] * 4))
    head: Any = one.model.head
    before = head.means.clone()
    one.observe(Batch.of(255 - pixels, [["b"]] * 4))
    assert not torch.equal(head.means[0], before[0])
    with torch.no_grad():
        head.weights[0].fill_(100.0)  # what is trained has no say
        predicted = one.scores(pixels)
        expected = cosine_similarity(one.model.eval()(pixels).embedding.numpy(), head.means.numpy())
    logits = np.log(0.8 / 0.2) + 10 * (expected - 0.5)
    np.testing.assert_allclose(predicted.numpy(), 1 / (1 + np.exp(-logits)), rtol=1e-4)
