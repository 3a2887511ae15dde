"""Whose opinion is asked: the model as it was just before new classes came."""

import pytest
import torch

from cuter.backbone import Backbone
from cuter.learn.learner import Learner
from cuter.learn.recipe import METHODS
from cuter.learn.settings import LearnerSettings
from cuter.learn.teachers import TEACHERS
from cuter.stream.batch import Batch

asking = pytest.mark.parametrize("method", ["icarl", "krt", "apple", "agcn", "agcn++"])


def batch(names: list[str], seed: int = 0) -> Batch:
    images = torch.randint(256, (4, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(seed))
    return Batch.of(images, [names[:1], names[-1:]] * 2, ids=[f"{seed} {n}" for n in range(4)])


def logits(model: torch.nn.Module) -> torch.Tensor:
    with torch.no_grad():
        return model.eval()(batch(["x"], 99).images).logits.clone()


def test_every_teacher_is_asked_for_by_a_method() -> None:
    assert {LearnerSettings(method=name).teacher.kind for name in METHODS} == set(TEACHERS)


@asking
def test_the_model_of_the_task_before_stays_until_new_classes_come(tiny: Backbone, method: str) -> None:
    one = Learner.create(method, backbone=tiny, device="cpu", lr=1e-2, memory={"images": 8}, replay={"size": 2})
    one.observe(batch(["a", "b"]))
    one.observe(batch(["b", "a"], 1))
    assert one.teacher.earlier is None, "there was no task before"
    before = logits(one.model)
    one.model.train()
    for seed in (2, 3, 4):
        one.observe(batch(["c"], seed))
        assert one.teacher.earlier is not None
        assert torch.equal(logits(one.teacher.earlier), before)
    assert not torch.equal(logits(one.model)[:, :2], before)
    one.model.train()
    one.observe(batch(["a", "c"], 5))
    assert torch.equal(logits(one.teacher.earlier), before), "classes that were seen do not begin a task"
    now = logits(one.model)
    one.model.train()
    one.observe(batch(["d", "a"], 6))
    assert torch.equal(logits(one.teacher.earlier), now)


def test_who_asks_nobody_keeps_nothing(tiny: Backbone) -> None:
    one = Learner.create("rs", backbone=tiny, device="cpu")
    for seed, names in enumerate([["a"], ["b"], ["c"]]):
        one.observe(batch(names, seed))
    assert one.teacher.earlier is None
    assert one.teacher.state_dict() == {"earlier": {}}


@asking
def test_what_the_earlier_model_says_changes_what_is_learned(tiny: Backbone, method: str) -> None:
    """Two learners that differ in nothing but their teacher are the same in the first task, and not in the second."""
    start = {name: value.clone() for name, value in tiny.state_dict().items()}
    without_tokens = {"teacher.token_weight": 0} if method == "krt" else {}
    seen = []
    for given in (without_tokens, {"teacher": "none"}):
        tiny.load_state_dict(start)
        one = Learner.create(method, backbone=tiny, device="cpu", **given)
        one.observe(batch(["a", "b"]))
        first = logits(one.model)
        one.model.train()
        for seed in (1, 2, 3):
            one.observe(batch(["c", "d"], seed))
        seen.append((first, logits(one.model)))
    assert torch.equal(seen[0][0], seen[1][0])
    assert not torch.equal(seen[0][1], seen[1][1])
