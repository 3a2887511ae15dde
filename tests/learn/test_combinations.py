"""What goes together, and what is refused with which reason."""

import itertools
from typing import Any

import pytest

from cuter.errors import ConfigError
from cuter.learn.heads import HEADS
from cuter.learn.recipe import METHODS
from cuter.learn.settings import LearnerSettings
from cuter.learn.teachers import TEACHERS
from cuter.memory import MEMORIES
from cuter.settings import flattened, validated


def settings(**values: Any) -> LearnerSettings:
    return validated(LearnerSettings, values)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (
            {"teacher": "soft-graph"},
            "the teacher soft-graph holds label nodes in place, which only the head label-graph",
        ),
        ({"method": "krt", "head": "linear"}, "teacher.token_weight 80.0 needs the head class-attention"),
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
            {"method": "cuter", "keeper.selection.tau1": 0.3},
            "unknown setting keeper.selection.tau1 of the selection 'relative'. It is a setting of: paper.",
        ),
        ({"keeper.selection": "paper"}, "unknown setting keeper.selection of the keeper 'whole-images'"),
        ({"regulariser.weight": 0.1}, "unknown setting regulariser.weight of the regulariser 'none'"),
        (
            {"memory.power": 0.1},
            "memory.power of the memory policy 'reservoir'. It is a setting of: ocdm, prs",
        ),
        ({"replay.steps": 7}, "unknown setting replay.steps of the replay 'uniform'. It is a setting of: confused."),
        ({"head.word_vectors": "glove.txt"}, "It is a setting of: label-graph."),
        ({"method": "apple", "teacher.distil_weight": 2}, "It is a setting of: distil, soft-graph."),
        ({"method": "icarl", "teacher.rate": 0.1}, "unknown setting teacher.rate of the teacher 'distil'"),
        (
            {"memory.powr": 1, "memory": "prs"},
            "memory.powr of the memory policy 'prs'. Did you mean 'power'",
        ),
        ({"memory_images": 3}, "unknown setting memory_images: it is memory.images now"),
    ],
)
def test_a_setting_of_a_part_that_is_not_there_cannot_be_written_down(values: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError) as error:
        settings(**values)
    assert reason in str(error.value)


@pytest.mark.parametrize("method", list(METHODS))
def test_a_saved_configuration_is_read_back(method: str) -> None:
    """It holds every field, also those that have no effect: their values are nobody's choice."""
    one = settings(method=method)
    assert validated(LearnerSettings, one.model_dump(mode="json"), saved=True) == one == settings(**one.model_dump())
    mixed = settings(method=method, keeper="whole-images", seed=3)
    assert validated(LearnerSettings, mixed.model_dump(mode="json"), saved=True) == mixed


@pytest.mark.parametrize(
    "values",
    [
        {"method": "krt", "memory": "prs"},
        {"method": "krt", "teacher.token_weight": 0, "head": "linear"},
        {"method": "cuter", "keeper": "whole-images"},
        {"method": "cuter", "keeper.selection": "paper", "keeper.selection.tau1": 0.3},
        {"method": "rs", "head": "prototypes", "head.separation": 0.01, "replay": "confused", "replay.steps": 10},
        {"method": "agcn", "teacher": "pseudo", "teacher.rate": 0.1},
        {"method": "icarl", "head": "label-graph", "head.word_dim": 50},
        {"method": "agcn", "memory.images": 0, "replay.size": 0},
        {"regulariser": "fiedler", "regulariser.weight": 0.1},
    ],
)
def test_mixes_that_make_sense(values: dict[str, Any]) -> None:
    flat = flattened(settings(**values).model_dump(mode="json"))
    assert all(flat[field] == value for field, value in values.items())


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


@pytest.mark.parametrize(("field", "kind"), [("head", "head"), ("teacher", "teacher")])
def test_unknown_parts_are_told(field: str, kind: str) -> None:
    with pytest.raises(Exception, match=rf"unknown {kind} 'linnear'.*Accepted: "):
        settings(**{field: "linnear"})
