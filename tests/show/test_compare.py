"""Runs told apart, with numbers that can be checked by hand."""

import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console
from typer.testing import CliRunner

from cuter.backbone import untrained_vit
from cuter.cli import app
from cuter.errors import ConfigError
from cuter.learn.learner import Learner
from cuter.memory import Item
from cuter.show.compare import Comparison, compare_runs
from cuter.show.compare_tables import MOST_CLASSES, MOST_COUNTS, compare_tables
from cuter.storage import save_states
from made_up_runs import write_run

FIGURES = ("map", "cf1_mean@0.8", "of1@0.8")
STEPS = 10  # of a made-up run with two tasks


def write(
    folder: Path,
    *,
    tests: Sequence[dict[str, Any]] = (),
    held: dict[str, int] | None = None,
    items: int | None = None,
    **settings: Any,
) -> Path:
    """Write a made-up run with these results of its tests, and this memory at last."""
    summary = write_run(folder, **settings)
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    noted = [line for line in lines if "test" in line]
    for saved, test, line in zip(summary["tasks"], tests, noted, strict=bool(tests)):
        saved["scores"] |= {name: test.pop(name) for name in (*FIGURES, "ap") if name in test}
        saved.update(test)
        line["test"] = saved
    if held is not None:
        noted[-1]["classes"] = held
    if items is not None:
        [line for line in lines if "test" not in line][-1]["memory"] = items
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    if (folder / "summary.json").exists():
        (folder / "summary.json").write_text(json.dumps(summary))
    return folder


def save_memory(folder: Path, items: Sequence[tuple[str, bool]], steps: int = STEPS) -> None:
    """Write a checkpoint with a memory of such items: the id of an image, and whether only a part of it is kept."""
    learner = Learner.create("rs", backbone=untrained_vit(), memory={"images": len(items)}, device="cpu")
    label = torch.tensor([True])
    image = torch.zeros(3, 8, 8, dtype=torch.uint8)
    learner.memory.offer([Item(image, label, label, id, (0, 0, 8, 8) if is_part else None) for id, is_part in items])
    learner.steps = steps
    save_states(folder / "checkpoints" / f"step-{steps:08d}", {"learner": learner.state_dict()})


def printed(found: Comparison, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(*compare_tables(found), sep="\n")
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def sentence(found: Comparison) -> str:
    return " ".join(printed(found, width=300).split())


def rows_below(text: str, heading: str) -> list[list[str]]:
    """Return the words of the rows of the table below a heading, up to the next empty line."""
    lines = text[text.index(heading) :].splitlines()[2:]
    rule = next(place for place, line in enumerate(lines) if "───" in line)
    end = next((place for place, line in enumerate(lines) if place > rule and not line.strip()), len(lines))
    return [line.split() for line in lines[rule + 1 : end]]


def test_settings_are_those_that_differ_and_those_that_follow_from_the_method(tmp_path: Path) -> None:
    write(tmp_path / "rs")
    write(tmp_path / "cuter", method="cuter", keeper="cut-outs", memory="balanced", lr=0.5)
    found = compare_runs([tmp_path / "rs", tmp_path / "cuter"])
    assert set(found.settings) == {
        "method", "keeper", "keeper.shape", "keeper.rim", "keeper.selection", "keeper.fallback", "memory", "targets",
        "targets.below", "targets.train", "lr",
    }  # fmt: skip
    assert found.settings["keeper.selection"] == {"cuter": "relative"}, "whole images have none"
    assert ["lr", "2e-05", "0.5"] in rows_below(printed(found), "Settings that differ")
    assert found.surroundings == {}


def test_seed_paths_and_device_are_settings_if_they_differ(tmp_path: Path) -> None:
    write(tmp_path / "a")
    write(tmp_path / "b", seed=3, data_root="/elsewhere", device="cuda", setting_to_come=7)
    (tmp_path / "b" / "environment.json").write_text('{"python": "3.13.1", "libraries": {"torch": "2.6.0"}}')
    found = compare_runs([tmp_path / "a", tmp_path / "b"])
    assert {name: list(values.values()) for name, values in found.settings.items()} == {
        "seed": [0, 3],
        "data_root": ["/nowhere", "/elsewhere"],
        "device": ["auto", "cuda"],
        "setting_to_come": [7],
    }
    assert ["setting_to_come", "–", "7"] in rows_below(printed(found), "Settings that differ")
    assert found.surroundings["python"] == {"rs, seed 0": "3.11.7", "rs, setting_to_come 7, seed 3": "3.13.1"}
    assert "torch" not in found.surroundings
    assert found.notes["rs, seed 0"][0].startswith("usual values are taken for settings that its config.yaml lacks: ")
    assert "memory.codec" in found.notes["rs, seed 0"][0]


def test_figures_and_their_differences_to_the_first_run(tmp_path: Path) -> None:
    first = [{"map": 80.0, "of1@0.8": 50.0, "ap": [90.0, 70.0]}, {"map": 60.0, "ap": [75.0, 80.0, 1.0, 2.0]}]
    second = [{"map": 90.0, "of1@0.8": None, "ap": [80.0, 60.0]}, {"map": 50.0, "ap": [50.0, 60.0, 1.0, 2.0]}]
    write(tmp_path / "rs", tests=first)
    write(tmp_path / "cuter", tests=second, method="cuter")
    summary = json.loads((tmp_path / "cuter" / "summary.json").read_text())
    (tmp_path / "cuter" / "summary.json").write_text(json.dumps(summary | {"train_images_per_second": 5.25}))
    found = compare_runs([tmp_path / "rs", tmp_path / "cuter"])
    assert list(found.differences) == ["cuter"]
    told = found.differences["cuter"]
    assert (told["average.map"], told["last.map"]) == (0.0, -10.0)
    assert (found.figures["rs"]["forgetting"], found.figures["cuter"]["forgetting"]) == (2.5, 15.0)
    assert (told["forgetting"], told["images/s"]) == (12.5, -2.25)
    assert "items" not in told
    rows = {" ".join(row[:-8]): row[-8:] for row in rows_below(printed(found), "Figures")}
    assert [rows["rs"][place] for place in (0, 1, 6, 7)] == ["70.0", "60.0", "2.5", "7.5"]
    assert [rows["to first"][place] for place in (0, 1, 6, 7)] == ["0.0", "−10.0", "+12.5", "−2.2"]
    assert "CF1, mean of per-class F1, threshold 0.8" in sentence(found)
    definitions = found.as_dict()["metrics"]["definitions"]
    assert definitions["map"] == "mAP, classes without a positive left out"


def test_what_one_run_has_not_measured_is_not_subtracted(tmp_path: Path) -> None:
    write(tmp_path / "a", tests=[{"map": 80.0}, {"map": None}])
    write(tmp_path / "b", method="cuter", tests=[{"map": 70.0}, {"map": 30.0}])
    told = compare_runs([tmp_path / "a", tmp_path / "b"]).differences["cuter"]
    assert (told["average.map"], told["last.map"]) == (-30.0, None)


def test_classes_come_with_the_largest_difference_first(tmp_path: Path) -> None:
    last = {"rs": [50.0, 60.0, 20.0, None], "cuter": [51.0, 30.0, 25.0, None], "prs": [50.0, 60.0, 60.0, None]}
    for name, ap in last.items():
        write(tmp_path / name, method=name, tests=[{}, {"ap": ap}])
    found = compare_runs([tmp_path / name for name in last])
    assert [(one.name, one.difference) for one in found.classes] == [
        ("class 2", {"cuter": 5.0, "prs": 40.0}),
        ("class 1", {"cuter": -30.0, "prs": 0.0}),
        ("class 0", {"cuter": 1.0, "prs": 0.0}),
        ("class 3", {"cuter": None, "prs": None}),
    ]
    assert found.classes[0].ap == {"rs": 20.0, "cuter": 25.0, "prs": 60.0}
    assert [" ".join(row) for row in rows_below(printed(found), "AP by class")][:4] == [
        "class 2 task 2 20.0 +5.0 +40.0",
        "class 1 task 1 60.0 −30.0 0.0",
        "class 0 task 1 50.0 +1.0 0.0",
        "class 3 task 2 – – –",
    ]


def test_of_many_classes_the_rest_is_summed_up(tmp_path: Path) -> None:
    count = MOST_CLASSES + 2
    sizes = {"tasks": 1, "new_classes": count}
    write(tmp_path / "a", tests=[{"ap": [50.0] * count}], held=dict.fromkeys(map(str, range(40)), 1), **sizes)
    higher = [50.0 + number for number in range(count)]
    held = {str(number): number + 1 for number in range(40)}
    write(tmp_path / "b", method="cuter", tests=[{"ap": higher}], held=held, **sizes)
    found = compare_runs([tmp_path / "a", tmp_path / "b"])
    assert len(found.as_dict()["classes"]) == count
    rows = rows_below(printed(found), "AP by class")
    assert [row[1] for row in rows[:2]] == [str(count - 1), str(count - 2)]
    assert "the largest difference first. The other 2 classes differ by at most 1.0." in sentence(found)
    rows = rows_below(printed(found), "Items in memory by class")
    assert rows[0] == ["39", "1", "40"]
    assert len(rows) == MOST_COUNTS + 1
    assert " ".join(rows[-1]) == "29 more classes differ by as much or less."


def test_runs_tested_on_other_classes_are_not_subtracted(tmp_path: Path) -> None:
    write(tmp_path / "rs")
    write(tmp_path / "more", method="cuter", new_classes=3)
    write(tmp_path / "half", method="prs", tasks=1, finished=False)
    found = compare_runs([tmp_path / "rs", tmp_path / "more", tmp_path / "half"])
    told = found.differences["cuter"]
    assert told.pop("images/s") == 0.0, "how fast it was has nothing to do with its tests"
    assert set(told.values()) == {None}
    assert (found.obstacles["cuter"].only_here, found.obstacles["cuter"].only_there) == (("class 4", "class 5"), ())
    assert (found.obstacles["prs"].only_here, found.obstacles["prs"].only_there) == ((), ("class 2", "class 3"))
    assert found.classes == []
    text = sentence(found)
    assert (
        "cuter: no figure but speed is compared with the first run's, because its last test was on other classes. "
        "Only it was tested on class 4, class 5." in text
    )
    assert "Only the first run was tested on class 2, class 3." in text
    assert "no run had the same last test as the first" in text
    assert "prs (unfinished, 1 task tested)" in text


def test_the_first_run_is_what_others_are_compared_with_even_if_it_is_the_odd_one(tmp_path: Path) -> None:
    write(tmp_path / "odd", new_classes=3)
    write(tmp_path / "b", method="cuter")
    write(tmp_path / "c", method="prs")
    text = sentence(compare_runs([tmp_path / name for name in ("odd", "b", "c")]))
    assert "cuter (other classes or test images)" in text
    assert "prs (other classes or test images)" in text
    assert "rs (other" not in text.replace("prs (other", "")


def test_other_tasks_with_the_same_last_test_compare_at_the_end(tmp_path: Path) -> None:
    write(tmp_path / "two", tests=[{}, {"map": 60.0, "ap": [1.0, 2.0, 3.0, 4.0]}])
    four = [{}, {}, {}, {"map": 50.0, "ap": [1.0, 2.5, 3.0, 4.0], "images": 20}]
    write(tmp_path / "four", method="cuter", tests=four, new_classes=1, **{"tasks": 4})
    found = compare_runs([tmp_path / "two", tmp_path / "four"])
    told = found.differences["cuter"]
    assert (told["last.map"], told["average.map"], told["forgetting"]) == (-10.0, None, None)
    assert "cuter: averages and forgetting are not compared" in sentence(found)
    assert (found.classes[0].name, found.classes[0].difference) == ("class 1", {"cuter": 0.5})
    assert found.classes[0].task == {"rs": "task 1", "cuter": "task 2"}
    assert "task 1 / task 2" in sentence(found)


@pytest.mark.parametrize(
    ("settings", "tests", "reason"),
    [
        ({}, [{}, {"images": 21}], "its last test was on 21 images, the first run's on 20"),
        ({"dataset": "voc"}, [], "it has another data set"),
    ],
)
def test_other_images_are_not_compared(settings: dict[str, Any], tests: Any, reason: str, tmp_path: Path) -> None:
    write(tmp_path / "a")
    write(tmp_path / "b", method="cuter", tests=tests, **settings)
    found = compare_runs([tmp_path / "a", tmp_path / "b"])
    assert found.obstacles["cuter"].reason == reason
    assert found.differences["cuter"]["last.map"] is None
    assert found.classes == []


def test_that_images_may_be_others_is_said(tmp_path: Path) -> None:
    write(tmp_path / "a")
    write(tmp_path / "b", method="cuter", data_root="/elsewhere")
    found = compare_runs([tmp_path / "a", tmp_path / "b"])
    assert found.differences["cuter"]["last.map"] is not None
    assert "it has another data_root: that its test images are those of rs is not certain" in found.notes["cuter"]


def test_a_run_that_is_not_tested_yet(tmp_path: Path) -> None:
    write(tmp_path / "rs")
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "config.yaml").write_text("{method: cuter, dataset: folder, data_root: /nowhere}")
    found = compare_runs([tmp_path / "rs", tmp_path / "begun"])
    assert found.obstacles["cuter"].reason == "it is not tested yet"
    assert found.memory.runs["cuter"].note == "nothing is noted of it yet"
    assert "cuter (not tested yet)" in sentence(found)
    assert "to first –" not in sentence(found), "a row without a single difference is left out"
    found = compare_runs([tmp_path / "begun", tmp_path / "rs"])
    assert found.obstacles["rs"].reason == "the first run is not tested yet"


def test_runs_that_are_the_same(tmp_path: Path) -> None:
    folders = [write(tmp_path / place / "rs") for place in ("a", "b")]
    for folder in folders:
        save_memory(folder, [("1.jpg", False), ("2.jpg", True)])
    found = compare_runs(folders)
    assert [run.label for run in found.runs] == ["rs, a/rs", "rs, b/rs"], "copies have names of their own"
    assert (found.settings, found.surroundings, found.obstacles, found.memory.classes) == ({}, {}, {}, {})
    assert set(found.differences["rs, b/rs"].values()) == {0.0}
    assert found.memory.runs["rs, b/rs"].shared == 2
    text = sentence(found)
    assert text.startswith("No setting differs.")
    assert "The same for all 4 classes" in text
    assert "Memory holds as many items of each class" in text


def test_what_memory_holds(tmp_path: Path) -> None:
    write(tmp_path / "none", method="finetune", items=0, held=dict.fromkeys("abcd", 0))
    write(tmp_path / "rs", items=4, held={"a": 1, "b": 5, "c": 2, "d": 2})
    write(tmp_path / "cuter", method="cuter", items=5, held={"a": 4, "b": 1, "c": 2, "e": 9})
    save_memory(tmp_path / "none", [("1", False)])
    save_memory(tmp_path / "rs", [("1", False), ("2", False), ("3", False), ("3", False)])
    save_memory(tmp_path / "cuter", [("3", True), ("3", True), ("4", True), ("2", False), ("5", False)])
    found = compare_runs([tmp_path / name for name in ("none", "rs", "cuter")])
    held = {label: (one.items, one.cut_outs, one.whole_images, one.images, one.shared, one.note)
            for label, one in found.memory.runs.items()}  # fmt: skip
    assert held == {
        "finetune": (0, None, None, None, None, "it keeps nothing"),
        "rs": (4, 0, 4, 3, None, ""),
        "cuter": (5, 3, 2, 4, 2, ""),
    }
    assert found.memory.reference == "rs"
    assert list(found.memory.classes.items()) == [("b", {"rs": 5, "cuter": 1}), ("a", {"rs": 1, "cuter": 4})]
    assert "cuter 5 3 (60 %) 2 (40 %) 4 2" in sentence(found)
    assert rows_below(printed(found), "Items in memory by class") == [["b", "5", "1"], ["a", "1", "4"]]


def test_memories_of_other_images_share_none_that_can_be_told(tmp_path: Path) -> None:
    write(tmp_path / "a")
    write(tmp_path / "b", method="cuter", dataset_options={"seed": "1"})
    for name in ("a", "b"):
        save_memory(tmp_path / name, [("1", False)])
    held = compare_runs([tmp_path / "a", tmp_path / "b"]).memory.runs["cuter"]
    assert held.shared is None
    assert held.note == "it has another dataset_options than rs: a name may be another image's there"


def test_without_checkpoints_memory_is_still_counted(tmp_path: Path) -> None:
    write(tmp_path / "a", held={"a": 1, "b": 2})
    write(tmp_path / "b", method="cuter", held={"a": 2, "b": 2})
    found = compare_runs([tmp_path / "a", tmp_path / "b"])
    assert found.memory.reference is None
    assert found.memory.runs["rs"].note == "it has no checkpoint yet"
    assert found.memory.runs["rs"].items == 30
    assert found.memory.classes == {"a": {"rs": 1, "cuter": 2}}
    assert "also in" not in sentence(found)
    write(tmp_path / "c", method="finetune", held={"a": 0}, items=0)
    assert "less than two runs keep items" in sentence(compare_runs([tmp_path / "a", tmp_path / "c"]))


def test_an_older_or_damaged_checkpoint_is_told_and_left_alone(tmp_path: Path) -> None:
    write(tmp_path / "a")
    write(tmp_path / "b", method="cuter")
    save_memory(tmp_path / "a", [("1", False)], steps=7)
    save_memory(tmp_path / "b", [("1", False)])
    (newest,) = (tmp_path / "b" / "checkpoints").iterdir()
    (newest / "learner.json").write_text("{")
    before = sorted(tmp_path.rglob("*"))
    held = compare_runs([tmp_path / "a", tmp_path / "b"]).memory.runs
    assert held["rs"].note == "its checkpoint is of step 7, its items of step 10"
    assert "learner.json is damaged" in held["cuter"].note
    assert held["cuter"].images is None
    assert sorted(tmp_path.rglob("*")) == before


def test_names_are_no_markup_and_long_ones_are_not_lost(tmp_path: Path) -> None:
    write(tmp_path / "a", method="[bold]")
    write(tmp_path / "b", method="x" * 50, tests=[{}, {"classes": ["class 0", "class 1", "[red]c", "class 3"]}])
    found = compare_runs([tmp_path / "b", tmp_path / "a"])
    assert "Only the first run was tested on [red]c." in sentence(found)
    assert "[bold] (other classes or test images)" in sentence(found)
    assert "…" not in printed(found), "what is too long for a column goes on below"


def test_two_runs_are_needed(tmp_path: Path) -> None:
    write(tmp_path / "a")
    with pytest.raises(ConfigError, match=r"two runs or more are needed to compare, not 1$"):
        compare_runs([tmp_path / "a"])
    with pytest.raises(ConfigError, match="given twice counts once"):
        compare_runs([tmp_path / "a", tmp_path / "a"])
    with pytest.raises(ConfigError, match="gone holds no run"):
        compare_runs([tmp_path / "a", tmp_path / "gone"])


def test_the_command_puts_tables_on_stderr_and_json_on_stdout(tmp_path: Path) -> None:
    write(tmp_path / "rs", tests=[{}, {"map": 60.0, "ap": [50.0, 60.0, 20.0, None]}])
    write(tmp_path / "cuter", method="cuter", tests=[{}, {"map": 64.5, "ap": [50.0, 30.0, 25.0, None]}])
    folders = [str(tmp_path / "rs"), str(tmp_path / "cuter")]
    done = CliRunner().invoke(app, ["compare", *folders])
    assert done.exit_code == 0, done.output
    assert done.stdout == ""
    headings = ["Settings that differ", "Figures", "AP by class at the end", "Memory", "Items in memory by class"]
    places = [done.stderr.index(f"\n{heading}") for heading in headings]
    assert places == sorted(places)

    told = CliRunner().invoke(app, ["compare", *folders, "--json"])
    assert told.stderr == done.stderr
    facts = json.loads(told.stdout)
    assert facts == json.loads(json.dumps(compare_runs([Path(folder) for folder in folders]).as_dict()))
    assert facts["runs"]["cuter"] == {"folder": folders[1], "is_finished": True, "tasks_tested": 2}
    assert facts["settings"]["method"] == {"rs": "rs", "cuter": "cuter"}
    assert facts["metrics"]["differences"]["cuter"]["last.map"] == 4.5
    assert facts["classes"][0] == {
        "name": "class 1",
        "task": {"rs": "task 1", "cuter": "task 1"},
        "ap": {"rs": 60.0, "cuter": 30.0},
        "difference": {"cuter": -30.0},
    }
    assert facts["memory"]["runs"]["rs"]["items"] == 30
    assert facts["not_compared"] == {}


@pytest.mark.parametrize("width", [40, 60])
def test_narrow_terminals_cut_no_digit_and_no_name(width: int, tmp_path: Path) -> None:
    for name, figure in (("rs", 60.0), ("cuter", 64.5), ("cutrep", 61.25)):
        write(tmp_path / name, method=name, tests=[{}, {"map": figure, "ap": [50.0, figure, 20.0, None]}])
    found = compare_runs([tmp_path / name for name in ("rs", "cuter", "cutrep")])
    wide, narrow = printed(found, 300), printed(found, width)
    assert max(map(len, narrow.splitlines())) <= width
    assert set(re.findall(r"[-+]?\d[\d.,]*", wide)) <= set(re.findall(r"[-+]?\d[\d.,]*", narrow))
    assert "…" not in narrow
