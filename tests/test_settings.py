"""Settings that are made of parts."""

from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, SerializeAsAny

from cuter.errors import ConfigError, UnknownNameError
from cuter.learn.recipe import METHODS
from cuter.learn.settings import LearnerSettings
from cuter.registry import Registry
from cuter.runs.config import RunConfig, field_names, overridden, restored_config, with_learner
from cuter.settings import (
    Part,
    PartSettings,
    Role,
    Settings,
    all_fields,
    expanded,
    flattened,
    import_modules,
    kind,
    leaves,
    mapped,
    merged,
    validated,
)

REQUIRED = {"dataset": "toybox", "backbone": "toybox", "tasks": "5x5"}


class Wheels(PartSettings):
    """What all have."""

    count: int = Field(4, ge=1, le=8, description="How many.")


class Spiked(Wheels):
    """What some have."""

    spikes: int = Field(3, description="Spikes per wheel.")


class SpikedWheels:
    """A part with settings of its own."""

    Settings = Spiked


WHEELS: Registry[Any] = Registry("wheels", "cuter.errors", settings=Wheels)
WHEELS.register("plain")(object())
WHEELS.register("spiked")(SpikedWheels)


class Car(Settings):
    """A composition; its maker chooses wheels."""

    maker: str = "a"
    wheels: Annotated[SerializeAsAny[Wheels], Part(WHEELS)] = kind("plain", "Wheels.")

    @classmethod
    def completed(cls, values: dict[str, Any]) -> dict[str, Any]:
        return merged(cls, {"wheels": {"kind": "spiked", "spikes": 9}} if values.get("maker") == "b" else {}, values)


@pytest.mark.parametrize(
    "values",
    [
        {"wheels": {"kind": "spiked", "spikes": 5, "count": 2}},
        {"wheels": "spiked", "wheels.spikes": 5, "wheels.count": 2},
        {"wheels.spikes": 5, "wheels.count": 2, "wheels": "spiked"},
        {"wheels": Spiked(kind="spiked", spikes=5, count=2)},
    ],
)
def test_a_part_is_given_by_name_as_a_mapping_or_field_by_field(values: dict[str, Any]) -> None:
    assert validated(Car, values).model_dump() == {
        "maker": "a",
        "wheels": {"kind": "spiked", "count": 2, "spikes": 5},
    }


def test_what_is_chosen_for_somebody_goes_below_what_they_choose() -> None:
    assert validated(Car, {"maker": "b"}).wheels == Spiked(kind="spiked", spikes=9)
    assert validated(Car, {"maker": "b", "wheels.count": 2}).wheels == Spiked(kind="spiked", spikes=9, count=2)
    assert validated(Car, {"maker": "b", "wheels": "plain", "wheels.count": 2}).wheels == Wheels(kind="plain", count=2)


def test_what_was_saved_is_complete_whatever_is_chosen_today() -> None:
    assert validated(Car, {"maker": "b"}, saved=True).wheels == Wheels(kind="plain")


def test_another_part_keeps_what_all_parts_have() -> None:
    below = {"wheels": {"kind": "spiked", "spikes": 9, "count": 2}}
    assert merged(Car, below, {"wheels": "plain"}) == {"wheels": {"kind": "plain", "count": 2}}
    assert merged(Car, below, {"wheels.spikes": 1}) == {"wheels": {"kind": "spiked", "spikes": 1, "count": 2}}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"wheels": {"kind": "spiked", "spiks": 1}}, r"unknown setting wheels\.spiks .*Did you mean 'spikes'"),
        ({"wheels": {"spikes": 1}}, r"wheels\.spikes of the wheels 'plain'\. It is a setting of: spiked\."),
        ({"wheels": {"count": 0}}, r"wheels\.count: .*, not 0 \(accepted: from 1 to 8\)"),
        ({"whels": "plain"}, r"unknown setting whels\. Did you mean 'wheels'"),
        ({"wheels": 3}, r"wheels: the wheels by name, or as a mapping with 'kind', not 3\. Names: plain, spiked"),
        ({"maker.name": 3}, r"maker: Input should be a valid string, not \{'name': 3\}"),
    ],
)
def test_a_mistake_names_the_field_by_its_dotted_name(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        validated(Car, values)
    with pytest.raises(UnknownNameError, match="unknown wheels 'square'"):
        validated(Car, {"wheels": "square"})


@given(st.sampled_from(sorted(METHODS)), st.integers(0, 2**32), st.sampled_from(["reservoir", "prs", "balanced"]))
def test_a_dump_comes_back_the_same(method: str, seed: int, memory: str) -> None:
    one = LearnerSettings(method=method, seed=seed, memory=memory)
    dumped = one.model_dump(mode="json")
    assert validated(LearnerSettings, dumped, saved=True) == one
    flat = flattened(dumped)
    assert validated(LearnerSettings, flat, saved=True) == one, "dotted names say the same"
    assert {name for name, _, _ in leaves(one) if not name.endswith("kind")} <= set(flat)


@given(st.sampled_from(sorted(METHODS)), st.sampled_from(sorted(METHODS)))
def test_a_run_of_another_method_is_what_it_would_have_been(old: str, new: str) -> None:
    """A saved configuration has every field; asking for another method leaves nothing of the method before."""
    saved = validated(RunConfig, REQUIRED | {"method": old}).dump()
    assert validated(RunConfig, overridden(saved, {"method": new})) == validated(RunConfig, REQUIRED | {"method": new})
    assert restored_config(saved).dump() == saved


def test_fields_of_the_learner_need_no_prefix() -> None:
    with_prefix = with_learner(REQUIRED | {"learner": {"memory": {"images": 3}}, "memory.codec": "jpeg", "seed": 2})
    config = validated(RunConfig, with_prefix)
    assert (config.learner.memory.images, config.learner.memory.codec, config.seed) == (3, "jpeg", 2)
    assert expanded(RunConfig, {"batch-size": 3}) == {"batch_size": 3}


def test_roles_of_fields_also_inside_of_parts() -> None:
    assert {"device", "workers", "track", "imports"} <= set(field_names(Role.EXECUTION))
    assert set(field_names(Role.PLACE)) == {
        "data_root", "backbone", "class_order", "head.word_vectors", "localiser.name",
    }  # fmt: skip
    config = validated(RunConfig, REQUIRED | {"localiser": {"kind": "backbone", "name": "x"}, "workers": 3})
    assert config.of_role(Role.PLACE)["localiser.name"] == "x"
    assert "workers" not in config.dump(deciding=True)
    assert "imports" not in config.dump(deciding=True)["learner"]
    upper = mapped(config, lambda field, value: value.upper() if Role.PLACE in field.metadata and value else value)
    assert (upper.backbone, upper.learner.localiser.name) == ("TOYBOX", "X")


def test_all_fields_are_there_once_and_described() -> None:
    names = [name for name, _ in all_fields(RunConfig)]
    assert len(names) == len(set(names))
    assert {"memory", "memory.power", "keeper.selection.tau1", "tasks"} <= set(names)


def test_modules_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken_parts.py").write_text("1 / 0")
    with pytest.raises(
        ConfigError, match=r"the module 'broken_parts', .* cannot be imported: ZeroDivisionError: division"
    ):
        import_modules(["broken_parts"])
    with pytest.raises(ConfigError, match="the module 'nowhere_parts'"):
        validated(LearnerSettings, {"imports": ["nowhere_parts"]})
