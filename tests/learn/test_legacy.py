"""Learners that were saved when settings were one flat list of fields."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from cuter.backbone import Backbone
from cuter.learn.learner import Learner
from cuter.learn.legacy import is_flat, nested
from cuter.learn.recipe import METHODS
from cuter.learn.settings import LearnerSettings
from cuter.settings import validated
from cuter.stream.batch import Batch

# What that version saved for each method, written by it.
FLAT: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("settings_of_format_3.json").read_text())


@pytest.mark.parametrize("method", FLAT)
def test_the_settings_of_a_method_are_read_as_those_of_today(method: str) -> None:
    assert is_flat(FLAT[method])
    expected = LearnerSettings(method=method)
    assert validated(LearnerSettings, nested(FLAT[method]), saved=True) == expected
    assert not is_flat(expected.model_dump(mode="json"))


def test_every_method_of_that_version_is_there() -> None:
    assert set(FLAT) <= set(METHODS)


def test_a_field_that_came_later_is_as_it_was_before_it_came() -> None:
    """Not as the method chooses it today: then CUTER's guesses trained the whole model."""
    older = {name: value for name, value in FLAT["cuter"].items() if name not in ("guesses_train", "cutout_rim")}
    settings = validated(LearnerSettings, nested(older), saved=True)
    assert settings.targets.model_dump() == {"kind": "absent-if-sure", "below": 0.7, "train": "model"}


def test_a_localiser_by_name() -> None:
    settings = validated(LearnerSettings, nested(FLAT["cuter"] | {"localiser": "dino-vits16", "rounds": 3}), saved=True)
    assert settings.localiser.model_dump() == {"kind": "backbone", "name": "dino-vits16", "max_regions": 3}


@pytest.mark.parametrize("method", ["cuter", "krt", "nsce", "agcn", "gss", "cuter-frozen"])
def test_a_saved_learner_goes_on_exactly_where_it_was(method: str, tiny: Backbone) -> None:
    images = torch.randint(0, 255, (4, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    batches = [Batch.of(images, [[name]] * 4) for name in ("cat", "dog", "cat")]
    one = Learner.create(method, backbone=tiny, device="cpu")
    one.observe(batches[0])
    one.observe(batches[1])
    state = one.state_dict()
    confusion = state.pop("replay") or {"pairs": []}
    flat = FLAT[method] | {"memory_images": 1000}
    for item in state["memory"]["tensors"].values():  # what had another name
        if "logit_grad" in item:
            item["residual"] = item.pop("logit_grad")
    if state["localiser"]:
        state["localiser"]["cut"]["loops"] = state["localiser"]["cut"].pop("self_loop_weight")
    other = Learner.from_state(state | {"format": 3, "settings": flat, "confusion": confusion}, "cpu")
    assert other.settings == one.settings
    losses = {learner.observe(batches[2]).loss for learner in (one, other)}
    assert len(losses) == 1
