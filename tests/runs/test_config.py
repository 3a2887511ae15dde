from pathlib import Path
from typing import Any

import pytest
import yaml

from cuter.errors import ConfigError
from cuter.runs.config import RunConfig, dump_config, load_config, with_absolute_paths
from cuter.settings import all_fields

REQUIRED: dict[str, Any] = {"dataset": "voc", "data_root": "VOCdevkit", "backbone": "dino-vits16", "tasks": "5x4"}


def test_options_win_over_the_file_and_the_file_over_defaults(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(yaml.safe_dump(REQUIRED | {"lr": 0.5, "seed": 3, "tasks": [["cat"], ["dog"]]}))
    config = load_config(file, {"seed": 7})
    assert (config.learner.lr, config.seed, config.batch_size, config.tasks) == (0.5, 7, 12, [["cat"], ["dog"]])


def test_fields_may_be_spelled_like_options(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(
        yaml.safe_dump(REQUIRED | {"batch-size": 7, "memory": {"images": 3}, "replay.size": 2})
    )
    config = load_config(tmp_path / "x.yaml", {})
    assert (config.batch_size, config.learner.memory.images, config.learner.replay.size) == (7, 3, 2)


def test_numbers_of_yaml_are_taken_for_text_where_text_is_meant(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(yaml.safe_dump(REQUIRED | {"tasks": 20, "dataset_options": {"year": 2012}}))
    config = load_config(tmp_path / "x.yaml", {})
    assert (config.tasks, config.dataset_options) == ("20", {"year": "2012"})


def test_what_is_dumped_is_read_back_the_same(tmp_path: Path) -> None:
    config = load_config(None, REQUIRED | {"dataset_options": {"train": "train"}, "class_order": 3, "limit_train": 9})
    (tmp_path / "x.yaml").write_text(dump_config(config))
    assert load_config(tmp_path / "x.yaml", {}) == config


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batchsize": 3}, "unknown setting batchsize. Did you mean 'batch_size'?"),
        ({"batch_size": 0}, "batch_size: Input should be greater than or equal to 1, not 0"),
        ({"lr": "fast"}, "lr: Input should be a valid number, unable to parse string as a number, not 'fast'"),
        ({"blurry": 1}, "blurry: Input should be less than 1"),
        (
            {"workers": 100_000},
            "workers: Input should be less than or equal to 256, not 100000 (accepted: from 0 to 256)",
        ),
        ({"seed": 2**64}, "not 18446744073709551616 (accepted: from 0 to 18446744073709551615)"),
        ({"seed": -1}, "not -1 (accepted: from 0 to 18446744073709551615)"),
        ({"lr": float("inf")}, "lr: Input should be a finite number, not inf"),
        ({"max_unreadable": 2}, "not 2 (accepted: from 0 to 1)"),
    ],
)
def test_a_wrong_field_is_told(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        load_config(None, REQUIRED | change)
    assert message in str(error.value)


def test_a_missing_field_is_told() -> None:
    with pytest.raises(ConfigError, match="backbone is needed: Short name, hub id"):
        load_config(None, {name: value for name, value in REQUIRED.items() if name != "backbone"})


@pytest.mark.parametrize("text", ["- a\n- b", "a: [", "\x00"])
def test_a_file_that_is_no_configuration_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(ConfigError, match=r"x\.yaml"):
        load_config(tmp_path / "x.yaml", {})
    with pytest.raises(ConfigError, match=r"gone\.yaml"):
        load_config(tmp_path / "gone.yaml", {})


def test_every_field_is_described() -> None:
    assert all(field.description for _, field in all_fields(RunConfig))


def test_a_folder_does_not_change_what_the_learner_and_pretrained_mean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("learner", "pretrained", "weights"):
        (tmp_path / name).mkdir()
    for name in ("learner", "pretrained"):
        assert with_absolute_paths(RunConfig(**REQUIRED, localiser=name)).learner.localiser.kind == name
    other = RunConfig(**REQUIRED, localiser={"kind": "backbone", "name": "weights"})
    assert with_absolute_paths(other).learner.localiser.name == str(tmp_path / "weights")


def test_a_folder_does_not_change_what_a_short_name_means(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dino-vits16").mkdir()  # a backbone is looked for under its short name first
    assert with_absolute_paths(RunConfig(**REQUIRED)).backbone == "dino-vits16"


def test_a_run_on_a_data_set_that_needs_no_folder(tmp_path: Path) -> None:
    config = load_config(None, {"dataset": "toybox", "backbone": "dino-vits16", "tasks": "5x5"})
    assert with_absolute_paths(config).data_root is None
    (tmp_path / "x.yaml").write_text(dump_config(config))
    assert load_config(tmp_path / "x.yaml", {}) == config


def test_joint_learning_chooses_what_is_shown_and_has_no_borders_to_blur() -> None:
    config = load_config(None, REQUIRED | {"method": "joint", "passes": 7})
    assert (config.task_scope, config.passes, config.learner.memory.images) == ("all-tasks", 7, 0)
    assert load_config(None, REQUIRED | {"method": "rs"}).task_scope == "own-task"
    with pytest.raises(ConfigError, match=r"blurry 0\.1 would have no effect: it acts only with task_scope own-task"):
        load_config(None, REQUIRED | {"method": "joint", "blurry": 0.1})


def test_what_would_have_no_effect_is_told_with_the_file_that_asks_for_it(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(yaml.safe_dump(REQUIRED | {"method": "cuter", "keeper": {"selection": {"tau1": 0.3}}}))
    with pytest.raises(ConfigError, match=r"x\.yaml: unknown setting keeper\.selection\.tau1 of the selection"):
        load_config(file, {})


def test_word_vectors_are_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("glove.txt").write_text("cat 1 2\n")
    head = {"word_vectors": "glove.txt", "word_dim": 2}
    config = with_absolute_paths(RunConfig(**REQUIRED, method="agcn", head=head))
    assert config.learner.head.word_vectors == tmp_path / "glove.txt"


def test_trackers_are_a_list_and_an_earlier_configuration_has_tensorboard(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(dump_config(RunConfig(**REQUIRED, track=["wandb", "mlflow"])))
    assert load_config(file, {}).track == ["wandb", "mlflow"]
    assert load_config(file, {"track": ["mlflow"]}).track == ["mlflow"]
    file.write_text(yaml.safe_dump(REQUIRED))
    assert load_config(file, {}).track == ["tensorboard"]
    with pytest.raises(ConfigError, match=r"track\.1: .* 'tensorboard', 'wandb' or 'mlflow', not 'neptune'"):
        load_config(None, REQUIRED | {"track": ["wandb", "neptune"]})


def test_scarce_classes_are_not_asked_for_more(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"tau1, for classes that memory lacks, is 0\.9 and must not exceed tau2, 0\.8"
    ):
        load_config(None, REQUIRED | {"method": "cuter-paper", "keeper.selection.tau1": 0.9})


def test_another_method_brings_its_own_choices_over_a_saved_configuration(tmp_path: Path) -> None:
    """A saved configuration holds every field: what its method chose goes with it, what a person chose stays."""
    needed = {"dataset": "voc", "data_root": tmp_path, "backbone": "x", "tasks": "5x4"}
    file = tmp_path / "config.yaml"
    file.write_text(dump_config(RunConfig(**needed, method="rs", memory={"images": 7}, replay="by-class")))
    config = load_config(file, {"method": "cuter-paper"})
    learner = config.learner
    assert (learner.keeper.kind, learner.memory.kind, learner.memory.images) == ("cut-outs", "balanced", 7)
    assert learner.replay.kind == "by-class"
    assert load_config(file, {"method": "cuter", "memory": "reservoir"}).learner.memory.kind == "reservoir"
    file.write_text(dump_config(config))
    assert load_config(file, {"method": "rs"}).learner.keeper.kind == "whole-images"
    assert load_config(file, {}) == config


def test_every_whole_number_has_an_upper_bound() -> None:
    for name, field in all_fields(RunConfig):
        if field.annotation in (int, int | None):
            assert any(hasattr(bound, "le") for bound in field.metadata), name


def test_the_largest_seed_is_taken() -> None:
    assert load_config(None, REQUIRED | {"seed": 2**64 - 1}).seed == 2**64 - 1
