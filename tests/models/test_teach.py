"""A model is taught month after month; each version is kept, measured and calibrated."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from command import cuter
from cuter import Batch, Learner
from cuter.errors import CheckpointError, ConfigError, DataError, NotThereError
from cuter.models.description import describe
from cuter.models.teaching import import_model, outline, teach
from cuter.models.versions import ModelFolder
from cuter.storage import load_state
from months import FIRST, SECOND, copied, first_month, make_month, next_month


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("months")
    return make_month(folder / "april", FIRST, seed=1), make_month(folder / "may", SECOND, seed=2)


@pytest.fixture(scope="module")
def taught(months: tuple[Path, Path], backbone_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = tmp_path_factory.mktemp("taught") / "tagger"
    teach(model, first_month(months[0], backbone_folder))
    teach(model, next_month(months[1]))
    return model


@pytest.fixture
def tagger(taught: Path, tmp_path: Path) -> Path:
    return copied(taught, tmp_path / "tagger")


def states(model: Path) -> list[str]:
    """Return the checksums of all versions."""
    folder = ModelFolder.open(model)
    return [(folder.folder_of(version) / "manifest.json").read_text() for version in folder.versions]


def test_each_month_is_a_version(taught: Path) -> None:
    one, two = ModelFolder.open(taught).versions
    assert (one.number, one.parent, one.classes, one.images) == (1, None, 3, 24)
    assert (two.number, two.parent, two.classes, two.images) == (2, 1, 4, 48)
    assert two.origin.startswith("taught ")
    assert two.held_back == 12, "of both months"
    learner = Learner.load(taught, device="cpu")
    assert set(learner.labels) == {*FIRST, *SECOND}
    assert learner.calibration.images == 12
    before = Learner.load(ModelFolder.open(taught).folder_of(one), device="cpu")
    assert set(before.labels) == set(FIRST)
    assert not (taught / "teaching").exists()


def test_the_model_is_what_a_learner_makes_of_the_same_images(taught: Path, months: tuple[Path, Path]) -> None:
    """All that is asked of a month, and nothing else: what is not among its labels is unknown."""
    memory = Learner.load(taught, device="cpu").memory
    names = Learner.load(taught, device="cpu").labels.names
    for item in memory.items:
        asked = FIRST if item.id.startswith("photos-1") else SECOND
        known = {names[column] for column in item.known.nonzero().flatten().tolist()}
        assert known == set(asked), item.id
    assert {item.id.split("/")[0] for item in memory.items} == {"photos-1", "photos-2"}


def test_the_same_again_changes_nothing(tagger: Path, months: tuple[Path, Path]) -> None:
    before = states(tagger)
    again = teach(tagger, next_month(months[1]))
    assert (again.version.number, again.images) == (2, 0)
    assert states(tagger) == before
    once_more = teach(tagger, next_month(months[1]), restart=True)
    assert (once_more.version.number, once_more.images) == (3, 24)


def test_what_is_about_to_be_taught(tagger: Path, months: tuple[Path, Path], tmp_path: Path) -> None:
    june = make_month(tmp_path / "june", ("Star", "star", "moon"), seed=3, images=8)
    found = outline(tagger, next_month(june))
    assert set(found.new) == {"Star", "moon"}
    assert set(found.known) == {"star"}
    assert found.alike == {"Star": "star"}
    assert set(found.absent) == set(FIRST)
    assert found.before["star"] == sum(
        "star" in sample.labels for sample in outline(tagger, next_month(months[1])).train
    )
    assert outline(tagger, next_month(months[1])).again > 0
    assert len(ModelFolder.open(tagger).versions) == 2


def test_a_run_or_a_saved_learner_becomes_version_one(
    tmp_path: Path, months: tuple[Path, Path], backbone_folder: Path
) -> None:
    learner = Learner.create("rs", backbone=backbone_folder, device="cpu", memory={"images": 4})
    learner.observe(Batch.of(torch.zeros(2, 3, 32, 32, dtype=torch.uint8), [["circle"], []]))
    learner.save(tmp_path / "saved")
    done = cuter("teach", tmp_path / "saved", "--out", tmp_path / "model", "--data-root", months[1], "--workers", 0)
    assert done.returncode == 0, done.stderr
    one, two = ModelFolder.open(tmp_path / "model").versions
    assert one.origin == f"from {tmp_path / 'saved'}"
    assert (one.classes, two.classes, two.parent) == (1, 3, 1)
    with pytest.raises(ConfigError, match="has versions already"):
        import_model(ModelFolder(tmp_path / "model"), tmp_path / "saved")


def test_unreadable_images_are_named(tmp_path: Path, backbone_folder: Path) -> None:
    month = make_month(tmp_path / "month", FIRST, seed=1)
    bad = month / "photos-1" / "train-00003.png"
    bad.write_bytes(b"no image")
    done = cuter("teach", tmp_path / "tagger", "--data-root", month, "--backbone", backbone_folder, "--workers", 0,
                 "--memory.images", 4, "--json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["version"], result["learned"], list(result["skipped"])) == (1, 23, [str(bad)])
    assert "train-00003.png" in done.stderr
    for number in range(4, 9):
        (month / "photos-1" / f"train-0000{number}.png").write_bytes(b"")
    with pytest.raises(DataError, match=r"are unreadable so far, more than max_unreadable 0\.1 allows"):
        teach(tmp_path / "other", first_month(month, backbone_folder))
    assert not ModelFolder(tmp_path / "other").exists()


def test_mistakes(tagger: Path, months: tuple[Path, Path], backbone_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a new model: name its backbone with --backbone"):
        teach(tmp_path / "new", next_month(months[0]))
    with pytest.raises(ConfigError, match="has its backbone and settings already"):
        teach(tagger, next_month(months[0], memory={"images": 99}))
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "thesis.txt").write_text("mine")
    with pytest.raises(ConfigError, match="holds something else than a model"):
        teach(tmp_path / "papers", first_month(months[0], backbone_folder))
    assert (tmp_path / "papers" / "thesis.txt").exists()
    with pytest.raises(NotThereError, match="no such folder"):
        teach(tagger, next_month(tmp_path / "nowhere"))
    (tagger / "model.json").write_text('{"current": 1}')
    with pytest.raises(CheckpointError, match=r"model\.json is damaged"):
        Learner.load(tagger)
    with pytest.raises(CheckpointError, match=r"model\.json is damaged"):
        ModelFolder.open(tagger)


def test_stopped_and_gone_on(
    months: tuple[Path, Path], taught: Path, backbone_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error in mid-way stands for whatever stops it; what comes of going on is the same to the last bit."""
    config = first_month(months[0], backbone_folder, checkpoint_minutes=0)
    observe, calls = Learner.observe, []

    def failing(self: Learner, batch: Batch) -> object:
        calls.append(len(batch))
        if len(calls) in (2, 4):
            raise KeyboardInterrupt
        return observe(self, batch)

    monkeypatch.setattr(Learner, "observe", failing)
    model = tmp_path / "tagger"
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            teach(model, config)
        assert not ModelFolder(model).exists()
    with pytest.raises(ConfigError, match="is in the middle of learning"):
        teach(model, first_month(months[1], backbone_folder))
    done: list[int] = []
    teach(model, config, announce=lambda about: done.append(about.done))
    assert done == [12], "it says where it goes on"
    assert sum(calls) == 24 + 2 * 6, "only what was under way is learned again"
    first = ModelFolder.open(taught).versions[0]
    expected, found = (
        load_state(folder.folder_of(folder.versions[0]), "learner")["model"]
        for folder in (ModelFolder.open(taught), ModelFolder.open(model))
    )
    assert first.images == 24
    assert all(torch.equal(expected[name], found[name]) for name in expected)
    assert states(model)[0] == states(taught)[0]


def test_a_mistake_leaves_no_folder(months: tuple[Path, Path], tmp_path: Path) -> None:
    done = cuter("teach", tmp_path / "tagger", "--data-root", months[0], "--backbone", "toyboxx")
    assert done.returncode == 1
    assert not (tmp_path / "tagger").exists()


def test_versions_on_the_command_line(tagger: Path, months: tuple[Path, Path]) -> None:
    listed = cuter("models", tagger)
    assert "→ 2" in listed.stdout
    assert [row["current"] for row in json.loads(cuter("models", tagger, "--json").stdout)] == [False, True]
    back = cuter("models", tagger, "--rollback", 1)
    assert back.returncode == 0
    assert set(Learner.load(tagger, device="cpu").labels) == set(FIRST)
    assert cuter("models", tagger, "--rollback", 7).returncode == 1
    taught = teach(tagger, next_month(months[1]))
    assert (taught.version.number, taught.version.parent) == (3, 1)
    assert "deleted: version 1" in cuter("models", tagger, "--keep", 2).stderr
    assert [version.number for version in ModelFolder.open(tagger).versions] == [2, 3]
    ModelFolder.open(tagger).rollback(2)
    assert cuter("models", tagger, "--keep", 1).returncode == 0
    assert [version.number for version in ModelFolder.open(tagger).versions] == [2], "the current one is never deleted"
    assert len(list((tagger / "versions").iterdir())) == 1
    assert cuter("models", tagger.parent).returncode == 1


def test_show(tagger: Path, tmp_path: Path) -> None:
    shown = cuter("show", tagger, "--sheet", tmp_path / "sheet.png")
    assert shown.returncode == 0, shown.stderr
    assert "2 of " in shown.stdout
    assert (tmp_path / "sheet.png").stat().st_size > 1000
    facts = json.loads(cuter("show", tagger, "--json").stdout)
    learner = Learner.load(tagger, device="cpu")
    assert {row["name"]: row["images"] for row in facts["classes"]} == dict(learner.label_counts)
    assert sum(row["in_memory"] for row in facts["classes"]) >= facts["memory"]["items"] > 0
    assert facts["settings"] == {"memory.images": 8, "replay.size": 3}
    assert facts["versions"] == [1, 2]
    assert cuter("show", tagger, "--sheet", "memory.txt").returncode == 1
    assert describe(ModelFolder.open(tagger).folder_of(ModelFolder.open(tagger).current)).version is None
    shutil.rmtree(tagger / "versions")
    assert cuter("show", tagger).returncode == 2
