"""Which classes are taken for each other, and what is replayed then."""

import torch

from cuter.backbone import Backbone
from cuter.learn.confusion import Confusion, confused_pairs
from cuter.learn.learner import Learner
from cuter.memory import MEMORIES, Item
from cuter.stream.batch import Batch


def by_loops(labels: torch.Tensor, known: torch.Tensor, taken: torch.Tensor) -> list[tuple[int, int]]:
    """Rate of predicting j on items with i and without j."""
    pairs = []
    for i in range(labels.shape[1]):
        for j in range(labels.shape[1]):
            rows = [n for n in range(len(labels)) if labels[n, i] and known[n, j] and not labels[n, j]]
            if rows and sum(bool(taken[n, j]) for n in rows) > 0.2 * len(rows):
                pairs.append((i, j))
    return pairs


def test_pairs_are_those_of_the_definition() -> None:
    generator = torch.Generator().manual_seed(0)
    for _ in range(30):
        known = torch.rand(40, 6, generator=generator) < 0.8
        labels = known & (torch.rand(40, 6, generator=generator) < 0.3)
        taken = torch.rand(40, 6, generator=generator) < 0.2
        assert confused_pairs(labels, known, taken) == by_loops(labels, known, taken)


def test_ten_thousand_classes_need_no_table_of_all_pairs() -> None:
    labels = torch.zeros(3, 10_000, dtype=torch.bool)
    labels[:, 9_999] = True
    taken = torch.zeros_like(labels)
    taken[:2, 5] = True
    assert confused_pairs(labels, torch.ones_like(labels), taken) == [(9_999, 5)]


def memory() -> tuple[Confusion, list[int]]:
    """Ninety items of class 0, five of 1, five of 2, and 1 is taken for 2; and a list of how many were looked at."""
    one = MEMORIES["reservoir"](100 * 4, torch.Generator().manual_seed(0))
    classes = torch.tensor([0] * 90 + [1] * 5 + [2] * 5)
    labels = torch.nn.functional.one_hot(classes, 3).bool()
    pixels = torch.zeros(3, 2, 2, dtype=torch.uint8)
    one.offer([Item(pixels, row, torch.ones(3, dtype=torch.bool), str(n)) for n, row in enumerate(labels)])
    looked: list[int] = []

    def look(items: list[Item]) -> tuple[Batch, torch.Tensor]:
        looked.append(len(items))
        rows = torch.stack([item.labels for item in items])
        images = torch.stack([item.image for item in items])
        batch = Batch(images, rows, torch.ones_like(rows), ("a", "b", "c"), tuple(item.id for item in items))
        scores = rows.float()
        scores[rows[:, 1], 2] = 0.8
        return batch, scores

    return Confusion(one, look, every=10), looked  # type: ignore[arg-type]


def test_confused_classes_are_replayed() -> None:
    one, looked = memory()
    drawn = [item for _ in range(50) for item in one.sample(3, step=10)]
    assert one.pairs == [(1, 2)]
    assert looked[:2] == [64, 36]
    kinds = [int(item.labels.int().argmax()) for item in drawn]
    assert kinds.count(0) < 30, "only in place of items that were drawn twice"
    assert 30 < kinds.count(1) < 90
    assert 30 < kinds.count(2) < 90


def test_all_different_and_as_many_as_there_are() -> None:
    one, _ = memory()
    for count in (0, 6, 20, 100, 500):
        drawn = [item.id for item in one.sample(count, step=10)]
        assert len(drawn) == len(set(drawn)) == min(count, 100)


def test_memory_is_looked_through_only_now_and_then() -> None:
    one, looked = memory()
    for step in range(1, 10):
        one.sample(4, step)
    assert looked == []
    assert one.pairs == []
    for step in range(10, 21):
        one.sample(4, step)
    assert sum(looked) == 200


def test_classes_that_have_left_memory_are_passed_over() -> None:
    one, _ = memory()
    one.pairs = [(7, 8)]
    assert len(one.sample(5, step=1)) == 5


def test_a_learner_looks_with_what_it_predicts_by(tiny: Backbone) -> None:
    """Every image looks like both classes to rows that score all images high."""
    one = Learner.create("nsce", backbone=tiny, device="cpu", replay={"steps": 2}, memory={"images": 20})
    pixels = torch.randint(256, (6, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    labels = [["a"]] * 3 + [["b"]] * 3
    one.observe(Batch.of(pixels, labels, ids=[f"0 {n}" for n in range(6)]))
    one.observe(Batch.of(pixels, labels, ids=[f"1 {n}" for n in range(6)]))
    with torch.no_grad():
        one.model.head.biases[0].fill_(9.0)  # type: ignore[index]
    one.observe(Batch.of(pixels, labels, ids=[f"2 {n}" for n in range(6)]))
    assert one.draw.confusion.pairs == [(0, 1), (1, 0)]
    with torch.no_grad():
        one.model.head.biases[0][0] = -9.0  # type: ignore[index]
    one.observe(Batch.of(pixels, labels, ids=[f"3 {n}" for n in range(6)]))
    one.observe(Batch.of(pixels, labels, ids=[f"4 {n}" for n in range(6)]))
    assert one.draw.confusion.pairs == [(0, 1)], "nothing looks like a any more"


def test_vectors_of_what_is_drawn_are_renewed() -> None:
    one, _ = memory()
    drawn = one.sample(4, step=0)
    rows = torch.rand(4, 5)
    one.memory.refresh(drawn, {"embedding": rows})
    renewed = {kept.id: kept.embedding for kept in one.memory.items if kept.embedding is not None}
    assert renewed.keys() == {item.id for item in drawn}
    for item, row in zip(drawn, rows, strict=True):
        assert torch.equal(renewed[item.id], row)
