"""What stream images say of classes that nobody looked for."""

import torch
from torch import Tensor

from cuter.learn.targets import AbsentIfLowest, AbsentIfSure, StreamTarget
from cuter.stream.batch import Batch


def batch_of(labels: list[list[str]], known: list[str], names: tuple[str, ...] = ("cat", "dog")) -> Batch:
    images = torch.zeros(len(labels), 3, 8, 8, dtype=torch.uint8)
    return Batch.of(images, labels, known=known).aligned(names)


def logits_of(scores: list[list[float]]) -> Tensor:
    return torch.logit(torch.tensor(scores))


def test_by_default_nothing_is_said_of_them() -> None:
    batch = batch_of([["cat"]], ["cat"])
    assert StreamTarget()(batch, logits_of([[0.9, 0.01]])) is batch


def test_absent_where_the_score_is_low() -> None:
    told = AbsentIfSure(0.7)(batch_of([["cat"]] * 2, ["cat"]), logits_of([[0.9, 0.69], [0.1, 0.71]]))
    assert told.known.tolist() == [[True, True], [True, False]]
    assert told.labels.tolist() == [[True, False]] * 2


def test_the_threshold_of_a_class_follows_the_quantile_of_its_examples() -> None:
    target = AbsentIfLowest(0.1)
    draws = torch.randn(4000, 2, generator=torch.Generator().manual_seed(0)) + torch.tensor([3.0, -1.0])
    thresholds = []
    for start in range(0, len(draws), 4):
        part = draws[start : start + 4]
        target.update(batch_of([["cat", "dog"]] * 4, ["cat", "dog"]), part)
        thresholds.append(target.thresholds)
    settled = torch.stack(thresholds[200:]).mean(dim=0)
    torch.testing.assert_close(settled, draws.quantile(0.1, dim=0), atol=0.25, rtol=0)


def test_a_class_is_absent_below_its_own_threshold() -> None:
    target = AbsentIfLowest(0.1)
    target.thresholds = torch.tensor([2.0, -2.0])
    told = target(batch_of([["cat"]] * 2, ["cat"]), torch.tensor([[0.0, -1.0], [0.0, -3.0]]))
    assert told.known.tolist() == [[True, False], [True, True]]


def test_examples_of_one_class_do_not_move_another() -> None:
    target = AbsentIfLowest(0.1)
    target.update(batch_of([["cat"]], ["cat", "dog"]), torch.tensor([[5.0, 5.0]]))
    torch.testing.assert_close(target.thresholds, torch.tensor([0.05, 0.0]))


def test_new_classes_begin_at_a_score_of_one_half() -> None:
    target = AbsentIfLowest(0.1)
    told = target(batch_of([["cat"]] * 2, ["cat"]), logits_of([[0.9, 0.49], [0.9, 0.51]]))
    assert told.known[:, 1].tolist() == [True, False]


def test_a_saved_state_goes_on() -> None:
    target, other = AbsentIfLowest(0.1), AbsentIfLowest(0.1)
    target.update(batch_of([["cat"]], ["cat"]), torch.tensor([[1.0, 0.0]]))
    other.load_state_dict(target.state_dict())
    assert torch.equal(other.thresholds, target.thresholds)
