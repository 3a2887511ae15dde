"""What goes together, and what is refused with which reason."""

import itertools
from typing import Any

import pytest

from cuter.errors import ConfigError
from cuter.learn.combinations import ACTS
from cuter.learn.heads import HEADS
from cuter.learn.recipe import METHODS
from cuter.learn.settings import LearnerSettings
from cuter.learn.teachers import TEACHERS
from cuter.memory import MEMORIES
from cuter.settings import validated


def settings(**values: Any) -> LearnerSettings:
    return validated(LearnerSettings, values)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (
            {"teacher": "soft-graph"},
            "the teacher soft-graph holds label nodes in place, which only the head label-graph",
        ),
        (
            {"method": "krt", "head": "linear"},
            "token_weight 80.0 needs the teacher pseudo and the head class-attention",
        ),
        ({"method": "krt", "teacher": "distil"}, "token_weight 80.0 needs the teacher pseudo"),
        ({"method": "nsce", "head": "linear"}, "separation 0.1 needs the head prototypes"),
        ({"method": "gss", "head": "label-graph"}, "gradients of a linear layer, which the head label-graph has not"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_reason(values: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError) as error:
        settings(**values)
    assert reason in str(error.value)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (
            {"method": "cuter", "tau1": 0.3},
            "tau1 0.3 would have no effect: it acts only with keeper cut-outs and selection paper, "
            "but keeper is cut-outs, selection is relative",
        ),
        ({"tau2": 0.9}, "tau2 0.9 would have no effect: it acts only with keeper cut-outs and selection paper"),
        ({"alpha": 0.1}, "alpha 0.1 would have no effect: it acts only with a regulariser, but regulariser is none"),
        ({"method": "finetune", "memory": "prs"}, "memory prs would have no effect: it acts only with memory_images"),
        ({"replay_size": 0, "replay_draw": "by-class"}, "replay_draw by-class would have no effect"),
        ({"localiser": "pretrained"}, "localiser pretrained would have no effect"),
        ({"method": "cutrep", "replay_unknown": "ignored"}, "replay_unknown ignored would have no effect"),
        ({"confusion_steps": 7}, "it acts only with replay_draw confused, but memory_images is 1000, replay_size is 6"),
        ({"word_vectors": "glove.txt"}, "it acts only with head label-graph, but head is linear"),
        (
            {"method": "apple", "distil_weight": 2},
            "it acts only with teacher distil or soft-graph, but teacher is pseudo",
        ),
        ({"method": "icarl", "pseudo_rate": 0.1}, "it acts only with teacher pseudo, but teacher is distil"),
    ],
)
def test_what_would_have_no_effect_is_refused(values: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError) as error:
        settings(**values)
    assert reason in str(error.value)


@pytest.mark.parametrize("method", list(METHODS))
def test_a_saved_configuration_is_read_back(method: str) -> None:
    """It holds every field, also those that have no effect: their values are nobody's choice."""
    one = settings(method=method)
    assert settings(**one.model_dump(mode="json")) == one
    mixed = settings(method=method, keeper="whole-images", seed=3)
    assert settings(**mixed.model_dump(mode="json")) == mixed


@pytest.mark.parametrize(
    "values",
    [
        {"method": "krt", "memory": "prs"},
        {"method": "krt", "token_weight": 0, "head": "linear"},
        {"method": "cuter", "keeper": "whole-images"},
        {"method": "cuter", "selection": "paper", "tau1": 0.3},
        {"method": "rs", "head": "prototypes", "separation": 0.01, "replay_draw": "confused", "confusion_steps": 10},
        {"method": "agcn", "teacher": "pseudo", "pseudo_rate": 0.1},
        {"method": "icarl", "head": "label-graph", "word_dim": 50},
        {"method": "agcn", "memory_images": 0, "replay_size": 0},
        {"regulariser": "fiedler", "alpha": 0.1},
    ],
)
def test_mixes_that_make_sense(values: dict[str, Any]) -> None:
    one = settings(**values)
    assert all(getattr(one, field) == value for field, value in values.items())


def test_every_head_goes_with_every_teacher_and_memory_but_for_the_reasons_named() -> None:
    refused = set()
    for head, teacher, memory in itertools.product(HEADS, TEACHERS, MEMORIES):
        try:
            settings(head=head, teacher=teacher, memory=memory)
        except ConfigError:
            refused.add((head, teacher, memory))
    expected = {
        (head, teacher, memory)
        for head, teacher, memory in itertools.product(HEADS, TEACHERS, MEMORIES)
        if (teacher == "soft-graph" and head != "label-graph")
        or (memory == "gradient" and head in ("class-attention", "label-graph"))
    }
    assert refused == expected


def test_the_rules_are_about_fields_that_exist() -> None:
    fields = set(LearnerSettings.model_fields)
    assert set(ACTS) <= fields
    assert {name for acts in ACTS.values() for name in acts.deciding} <= fields


@pytest.mark.parametrize(("field", "kind"), [("head", "head"), ("teacher", "teacher")])
def test_unknown_parts_are_told(field: str, kind: str) -> None:
    with pytest.raises(Exception, match=rf"unknown {kind} 'linnear'.*Accepted: "):
        settings(**{field: "linnear"})
