"""What stream images say of classes that nobody looked for."""

import torch
from torch import Tensor

from cuter.learn.targets import AbsentIfSure, AbsentIfSureSettings, Ignored
from cuter.stream.batch import Batch


def batch_of(labels: list[list[str]], known: list[str], names: tuple[str, ...] = ("cat", "dog")) -> Batch:
    images = torch.zeros(len(labels), 3, 8, 8, dtype=torch.uint8)
    return Batch.of(images, labels, known=known).aligned(names)


def logits_of(scores: list[list[float]]) -> Tensor:
    return torch.logit(torch.tensor(scores))


def test_by_default_nothing_is_said_of_them() -> None:
    batch = batch_of([["cat"]], ["cat"])
    assert Ignored()(batch, logits_of([[0.9, 0.01]])) is batch


def test_absent_where_the_score_is_low() -> None:
    told = AbsentIfSure(AbsentIfSureSettings(below=0.7))(
        batch_of([["cat"]] * 2, ["cat"]), logits_of([[0.9, 0.69], [0.1, 0.71]])
    )
    assert told.known.tolist() == [[True, True], [True, False]]
    assert told.labels.tolist() == [[True, False]] * 2
