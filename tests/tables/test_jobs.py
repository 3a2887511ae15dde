"""A run is found by what decides its result."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cuter.runs.config import RunConfig, dump_config
from cuter.settings import validated
from cuter.tables.jobs import Request, digest, parse_settings, plan_jobs
from cuter.tables.suite import load_suite

FIELDS: dict[str, Any] = {
    "dataset": "voc",
    "data_root": "/data/VOCdevkit",
    "backbone": "dino-vits16",
    "tasks": "5x4",
    "method": "cuter",
    "seed": 1,
    "memory.images": 300,
}


@given(st.permutations(list(FIELDS)))
def test_the_order_of_fields_does_not_matter(names: list[str]) -> None:
    assert digest(validated(RunConfig, {name: FIELDS[name] for name in names})) == digest(validated(RunConfig, FIELDS))


@pytest.mark.parametrize(
    "change",
    [
        {"device": "cuda"},
        {"workers": 7},
        {"checkpoint_steps": 3},
        {"checkpoint_minutes": 1.0},
        {"max_unreadable": 0.5},
        {"track": ["tensorboard", "wandb"]},
    ],
)
def test_what_cannot_change_results_does_not_count(change: dict[str, Any]) -> None:
    assert digest(validated(RunConfig, FIELDS | change)) == digest(validated(RunConfig, FIELDS))


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 2},
        {"method": "rs"},
        {"lr": 1e-4},
        {"limit_test": 5},
        {"backbone": "mae-vitb16"},
        {"data_root": "/x"},
    ],
)
def test_what_can_change_results_counts(change: dict[str, Any]) -> None:
    assert digest(validated(RunConfig, FIELDS | change)) != digest(validated(RunConfig, FIELDS))


def test_what_the_method_chooses_and_what_is_typed_are_the_same_run() -> None:
    typed = FIELDS | {"memory": "balanced", "targets.below": 0.7}
    assert digest(validated(RunConfig, typed)) == digest(validated(RunConfig, FIELDS))


def test_a_relative_path_is_the_same_run_from_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path)
    relative = digest(validated(RunConfig, FIELDS | {"data_root": "data"}))
    assert relative == digest(validated(RunConfig, FIELDS | {"data_root": tmp_path / "data"}))


def test_a_run_of_an_earlier_version_is_found_if_new_settings_are_what_it_did(tmp_path: Path) -> None:
    suite, request = load_suite("voc"), Request(tmp_path, {"": "dino-vits16"}, only=("RS",), seeds=1)
    (job,) = plan_jobs(suite, request, tmp_path)
    saved = yaml.safe_load(dump_config(job.config))
    del saved["learner"]["localiser"]  # as if this setting had come later
    earlier = tmp_path / "runs" / "rs-0123456789ab"
    earlier.mkdir(parents=True)
    (earlier / "config.yaml").write_text(yaml.safe_dump(saved))
    (found,) = plan_jobs(suite, request, tmp_path)
    assert found.folder == earlier
    (earlier / "config.yaml").write_text(yaml.safe_dump(saved | {"localiser": {"max_regions": 3}}))
    assert plan_jobs(suite, request, tmp_path)[0].folder == job.folder
    (earlier / "config.yaml").write_text(yaml.safe_dump(saved | {"gone": 1}))  # a setting that is no more
    assert plan_jobs(suite, request, tmp_path)[0].folder == job.folder


def test_settings_are_read_as_yaml_reads_them() -> None:
    read = parse_settings(["lr=1e-4", "limit-train=null", "dataset_options={train: train}", "tasks=5x4"])
    assert read["limit_train"] is None
    assert read["dataset_options"] == {"train": "train"}
    assert validated(RunConfig, FIELDS | read).learner.lr == 1e-4


def test_modules_of_ones_own_are_imported_for_all_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before rows are put together, and each run notes them: its process imports them again. They decide no result."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "of_a_table.py").write_text("open('imported.txt', 'w').close()")
    suite = load_suite("voc")
    plain = Request(tmp_path, {"": "toybox"}, "small", seeds=1, only=("RS",))
    request = Request(tmp_path, {"": "toybox"}, "small", 1, ("RS",), settings={"imports": ["of_a_table"]})
    (job,) = plan_jobs(suite, request, tmp_path)
    assert (tmp_path / "imported.txt").exists()
    assert job.config.learner.imports == ["of_a_table"]
    assert "of_a_table" in dump_config(job.config)
    assert job.folder == plan_jobs(suite, plain, tmp_path)[0].folder
