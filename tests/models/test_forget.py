"""What a person asks to be deleted is in no file of the model any more."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from command import cuter
from cuter import Batch, Learner
from cuter.errors import ConfigError, NotThereError
from cuter.models.forgetting import forget, retrain
from cuter.models.held_back import HeldBack
from cuter.models.teaching import teach
from cuter.models.versions import HELD_BACK, ModelFolder
from cuter.runs.config import RunConfig
from cuter.runs.display import Display
from cuter.runs.run import start
from cuter.storage import load_state, save_states
from months import FIRST, SECOND, copied, first_month, make_month, next_month


@pytest.fixture(scope="module")
def taught(backbone_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forget")
    teach(folder / "tagger", first_month(make_month(folder / "april", FIRST, seed=1), backbone_folder))
    teach(folder / "tagger", next_month(make_month(folder / "may", SECOND, seed=2)))
    return folder / "tagger"


@pytest.fixture
def tagger(taught: Path, tmp_path: Path) -> Path:
    return copied(taught, tmp_path / "tagger")


def held(model: Path) -> dict[int, list[str]]:
    """Return the ids of all items by version."""
    folder = ModelFolder.open(model)
    found = {}
    for version in folder.versions:
        place = folder.folder_of(version)
        found[version.number] = [item.id for item in Learner.load(place, device="cpu").memory.items]
        found[version.number] += [item.id for item in HeldBack.from_state(load_state(place, HELD_BACK)).memory.items]
    return found


def test_all_versions_forget_and_nothing_else_goes(tagger: Path) -> None:
    before = held(tagger)
    in_both = next(id for id in before[1] if id in before[2] and "train" in id)
    from_test = next(id for id in before[2] if "test" in id)
    found = forget(tagger, [in_both, from_test, "nobody.png"])
    after = held(tagger)
    gone = {in_both, from_test}
    for number, ids in before.items():
        assert sorted(after[number]) == sorted(id for id in ids if id not in gone)
    assert found.items == sum(ids.count(id) for ids in before.values() for id in gone)
    assert set(found.places) == {f"version {number}" for number in before if gone & set(before[number])}
    assert found.not_found == ("nobody.png",)
    files = [path for path in tagger.rglob("*") if path.is_file()]
    assert not [path for path in files if in_both.encode() in path.read_bytes()]
    assert len(list((tagger / "versions").iterdir())) == 2, "the old folders are gone"
    assert forget(tagger, [in_both]).items == 0


def test_weights_stay_and_the_model_goes_on(tagger: Path, tmp_path: Path) -> None:
    learner = Learner.load(tagger, device="cpu")
    images = torch.randint(256, (3, 3, 32, 32), dtype=torch.uint8)
    forget(tagger, [learner.memory.items[0].id])
    assert Learner.load(tagger, device="cpu").predict(images) == learner.predict(images)
    teach(tagger, next_month(make_month(tmp_path / "june", ("moon",), seed=3, images=12)))
    assert ModelFolder.open(tagger).current.number == 3


def test_what_is_being_learned_forgets_too(
    tagger: Path, tmp_path: Path, backbone_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    june = make_month(tmp_path / "june", ("moon",), seed=3, images=18)
    observe, calls = Learner.observe, []

    def failing(self: Learner, batch: Batch) -> Any:
        calls.append(batch)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return observe(self, batch)

    with monkeypatch.context() as patch:
        patch.setattr(Learner, "observe", failing)
        with pytest.raises(KeyboardInterrupt):
            teach(tagger, next_month(june, checkpoint_minutes=0))
    (checkpoint, *_) = sorted((tagger / "teaching" / "checkpoints").iterdir(), reverse=True)
    unwanted = [item.id for item in Learner.load(checkpoint, device="cpu").memory.items]
    (tagger / "teaching" / "checkpoints" / ".step-00000001.0123abcd.part").mkdir()  # a killed process left this
    (tagger / "teaching" / "checkpoints" / "damaged-step-00000001").mkdir()
    found = forget(tagger, unwanted)
    assert "teaching/checkpoints/damaged-step-00000001" in found.deleted
    assert any(place.startswith("teaching/") for place in found.places)
    for folder in (tagger / "teaching" / "checkpoints").iterdir():
        assert not len(Learner.load(folder, device="cpu").memory), folder
    assert teach(tagger, next_month(june, checkpoint_minutes=0)).version.number == 3


def test_a_run_and_a_saved_learner(config: RunConfig, tmp_path: Path) -> None:
    run = tmp_path / "run"
    start(config.with_fields(checkpoint_steps=2), run, Display())
    unwanted = Learner.load(run, device="cpu").memory.items[0].id
    learner = Learner.load(run, device="cpu")
    learner.save(tmp_path / "saved")
    for folder in (run, tmp_path / "saved"):
        assert forget(folder, [unwanted]).items >= 1
        again = Learner.load(folder, device="cpu")
        assert unwanted not in {item.id for item in again.memory.items}
        assert len(again.memory) < len(learner.memory)
    for checkpoint in (run / "checkpoints").iterdir():
        assert unwanted not in {item.id for item in Learner.load(checkpoint, device="cpu").memory.items}
        assert (checkpoint / "progress.json").exists()


def test_retrained_weights_have_not_seen_it(tagger: Path) -> None:
    version = retrain(tagger, passes=2)
    assert (version.number, version.parent, version.classes) == (3, 2, 4)
    old, new = (Learner.load(ModelFolder.open(tagger).folder_of(one), device="cpu") for one in
                ModelFolder.open(tagger).versions[1:])  # fmt: skip
    assert list(new.labels) == list(old.labels)
    assert [item.id for item in new.memory.items] == [item.id for item in old.memory.items]
    assert new.images == len({item.id for item in new.memory.items}), "it has seen nothing else"
    assert new.steps == 2 * len(new.memory) // 3
    one, two = (next(iter(learner.backbone.parameters())).detach().numpy() for learner in (old, new))
    assert not np.array_equal(one, two)
    for item in list(new.memory.items):
        forget(tagger, [item.id])
    with pytest.raises(ConfigError, match="there is nothing to train from"):
        retrain(tagger)


def test_retraining_needs_the_backbone(tagger: Path, backbone_folder: Path) -> None:
    folder = ModelFolder.open(tagger)
    place = folder.folder_of(folder.current)
    states = {name: load_state(place, name) for name in ("learner", HELD_BACK)}
    states["learner"]["backbone"]["name"] = "/gone/away"
    save_states(place, states)
    with pytest.raises(ConfigError, match="Name the pre-trained backbone with --backbone"):
        retrain(tagger)
    assert retrain(tagger, str(backbone_folder), passes=1).number == 3


def test_on_the_command_line(tagger: Path, tmp_path: Path) -> None:
    unwanted = held(tagger)[2][0]
    (tmp_path / "requests.txt").write_text(f"{unwanted}\n\nünknown.jpg\n", encoding="utf-8")
    done = cuter("forget", tagger, "--list", tmp_path / "requests.txt", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["not_found"] == ["ünknown.jpg"]
    assert "Weights keep what they learned" in done.stderr
    again = cuter("forget", tagger, "--id", unwanted, "--retrain")
    assert again.returncode == 0, again.stderr
    assert "Version 3" in again.stderr
    assert cuter("forget", tagger).returncode == 1
    assert cuter("forget", tagger, "--id", "x", "--backbone", "toybox").returncode == 1
    assert cuter("forget", tmp_path / "nowhere", "--id", "x").returncode == 1
    with pytest.raises(NotThereError, match="holds no model, no run"):
        forget(tmp_path, ["x"])
