"""One battery for every method: a new one is covered the moment its file exists."""

import pytest

from cuter.checks import METHOD_CHECKS, check_method
from cuter.checks.battery import Check
from cuter.checks.learners import make_batch, make_learner
from cuter.errors import ConfigError
from cuter.learn.recipe import METHODS

LEARNERS = [name for name in METHODS if name != "joint"]  # which is a way of showing data to the learner of finetune
methods = pytest.mark.parametrize("method", LEARNERS)


@methods
@pytest.mark.parametrize("check", METHOD_CHECKS, ids=lambda check: check.__name__)
def test_it_holds_what_every_method_promises(method: str, check: Check) -> None:
    check(method)


def test_a_way_of_showing_data_is_no_learner() -> None:
    with pytest.raises(ConfigError, match="'joint' is a way of showing data"):
        check_method("joint")


def test_what_does_not_hold_is_said() -> None:
    with pytest.raises(AssertionError, match=r"method 'rs': shown the same eight images 15 times, its loss goes from"):
        check_method("rs", lr=1e-12, **{"head.lr": 1e-12})


@pytest.mark.parametrize("method", [name for name in LEARNERS if make_learner(name).settings.replay.kind == "confused"])
def test_confused_classes_are_looked_for_within_the_steps_of_a_check(method: str) -> None:
    assert make_learner(method).settings.replay.steps == 2


@methods
def test_thousands_of_classes(method: str) -> None:
    one = make_learner(method)
    most = 500 if one.settings.head.kind == "label-graph" else 3_000  # a graph has edges between all pairs
    names = [f"class {i}" for i in range(most)]
    shown = make_batch(2, names)
    one.observe(shown)
    one.observe(make_batch(2, names, seed=1))
    probabilities = one.scores(shown.images)
    assert probabilities.shape == (2, most)
    assert probabilities[shown.labels].mean() > probabilities[~shown.labels].mean(), "one step towards the labels"


@methods
def test_memory_is_used(method: str) -> None:
    one = make_learner(method, memory={"images": 5})
    for seed in range(4):
        one.observe(make_batch(4, ["cat", "dog"], seed))
    # others keep what the model is certain of
    if one.settings.keeper.kind == "whole-images" or method == "cuter":
        assert one.memory.fill > 0.5


@methods
def test_who_has_a_teacher_asks_it(method: str) -> None:
    one = make_learner(method)
    one.observe(make_batch(3, ["cat"]))
    one.observe(make_batch(4, ["dog"], 1))
    assert (one.teacher.earlier is None) == (one.settings.teacher.kind == "none")
