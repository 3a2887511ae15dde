from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuter.runs.record import RunRecord
from cuter.show.run_labels import full_settings, named, shortened, value_text
from made_up_runs import CONFIG


def run_with(folder: str = "run", **settings: Any) -> RunRecord:
    return RunRecord(Path(folder), {**CONFIG, **settings}, finished={})


def labels(*runs: RunRecord) -> list[str]:
    return [run.label for run in named(runs)]


def test_a_method_is_name_enough_where_nothing_else_differs() -> None:
    assert labels(run_with()) == ["rs"]
    assert labels(run_with(), run_with(method="cuter", lr=0.5)) == ["rs", "cuter"]
    alike = run_with(workers=3, track=["mlflow"], data_root="/elsewhere", folder="b")
    assert labels(run_with(), alike) == ["rs, run", "rs, b"]


def test_copies_of_a_run_are_told_apart_by_where_they_are() -> None:
    assert labels(run_with("/x/rs"), run_with("/y/rs"), run_with("/y/other")) == ["rs, x/rs", "rs, y/rs", "rs, other"]
    assert labels(run_with("/rs"), run_with("/y/rs")) == ["rs, /rs", "rs, y/rs"]
    assert labels(run_with("/x/a/rs"), run_with("/y/a/rs")) == ["rs, x/a/rs", "rs, y/a/rs"]
    assert labels(run_with("/x/rs"), run_with("/y/rs", method="cuter")) == ["rs", "cuter"]


def test_seeds_share_their_group_and_colour() -> None:
    first, second, other = named([run_with(seed=0), run_with(seed=1), run_with(method="cuter", seed=1)])
    assert [first.label, second.label, other.label] == ["rs, seed 0", "rs, seed 1", "cuter, seed 1"]
    assert first.group == second.group == "rs"
    assert first.colour == second.colour != other.colour
    assert len({first.shape, second.shape, other.shape}) == 3


def test_only_what_is_unusual_is_told() -> None:
    usual, other = run_with(), run_with(memory="balanced")
    assert labels(usual, other) == ["rs", "rs, memory balanced"]
    many = run_with(memory="balanced", replay="by-class", augment="none", lr=0.25)
    _, _, one = named([usual, other, many])
    assert (one.label, one.untold) == ("rs, memory balanced +3", 3)
    assert labels(run_with(backbone="/a/tiny"), run_with(backbone="/a/small/")) == [
        "rs, backbone tiny",
        "rs, backbone small",
    ]


def test_settings_that_an_older_version_did_not_have_count_as_usual() -> None:
    older = run_with(method="cuter")
    for name in ("memory", "keeper"):
        del older.config[name]  # type: ignore[attr-defined]
    newer = run_with(method="cuter", keeper="cut-outs", memory="balanced", seed=1)
    assert labels(older, newer) == ["cuter, seed 0", "cuter, seed 1"]
    assert named([older, newer])[0].group == "cuter"
    assert full_settings({"method": "from a plugin"})["seed"] == 0


settings = st.fixed_dictionaries(
    {},
    optional={
        "method": st.sampled_from(["rs", "cuter", "unheard of"]),
        "seed": st.integers(0, 2),
        "lr": st.sampled_from([1e-3, 2e-5]),
        "tasks": st.sampled_from(["2x2", [["cat", "dog"], ["x" * 40]]]),
        "memory": st.sampled_from(["balanced", "reservoir"]),
    },
)


@given(st.lists(settings, min_size=1, max_size=12))
def test_no_two_runs_have_the_same_name(configs: list[dict[str, Any]]) -> None:
    runs = named([run_with(f"folder {number}", **config) for number, config in enumerate(configs)])
    assert len({run.label for run in runs}) == len(runs)
    for run, config in zip(runs, configs, strict=True):
        assert run.label.startswith(config.get("method", "rs"))
        assert len(run.group) < 60


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "none"), (True, "yes"), (2e-5, "2e-05"), (0.001, "0.001"), (12, "12"), ({}, "none"),
        ({"year": "2007"}, "year=2007"), ([["cat", "dog"], ["car"]], "cat, dog; car"),
    ],
)  # fmt: skip
def test_values_are_spelled_for_people(value: Any, text: str) -> None:
    assert value_text(value) == text


@given(st.text(), st.integers(3, 30))
def test_a_short_text_keeps_both_ends(text: str, longest: int) -> None:
    short = shortened(text, longest)
    assert len(short) <= longest
    assert short == text or (text.startswith(short.split("…")[0]) and len(short) == longest)
