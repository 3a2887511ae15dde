import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import cuter.toybox.cache as toybox_cache
from cuter.errors import ConfigError, DataError
from cuter.stream.datasets import detect, load_dataset
from cuter.stream.images import read_squashed
from cuter.stream.samples import Box
from cuter.toybox import CLASSES, SIZE, VERSION, draw_scene
from cuter.toybox.cache import render_toybox


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("toybox") / "world"
    render_toybox(root, train=12, test=5, seed=4)
    return root


def files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def test_what_is_read_is_what_was_drawn(tmp_path: Path):
    data = load_dataset("toybox", tmp_path, train="12", test="5", seed="4")  # text, as from the command line
    assert (data.name, data.classes, len(data.train), len(data.test)) == ("toybox", CLASSES, 12, 5)
    for split, samples in (("train", data.train), ("test", data.test)):
        for number, sample in enumerate(samples):
            scene = draw_scene(split, number, seed=4)
            assert sample.labels == scene.labels
            assert sample.boxes == tuple(Box(thing.label, *thing.box) for thing in scene.things)
            seen = read_squashed(sample.path, SIZE).permute(1, 2, 0).numpy().astype(int)
            assert np.abs(seen - np.asarray(scene.image)).mean() < 5  # JPEG
            masks = Image.open(str(sample.path).replace("images", "masks").replace(".jpg", ".png"))
            np.testing.assert_array_equal(np.asarray(masks), scene.numbers)


def test_a_rendered_folder_is_read_like_anybodys_own(rendered: Path):
    assert detect(rendered) == "folder"
    assert load_dataset("folder", rendered).test[0].id == "images/test/000000.jpg"


def test_more_scenes_change_no_earlier_ones(tmp_path: Path, rendered: Path):
    render_toybox(tmp_path / "more", train=14, test=6, seed=4)
    few, more = files(rendered), files(tmp_path / "more")
    assert all(more[name] == few[name] for name in few if not name.endswith(".jsonl"))
    assert more["train.jsonl"].startswith(few["train.jsonl"])


def test_progress_counts_to_the_end(tmp_path: Path):
    told: list[tuple[int, int]] = []
    render_toybox(tmp_path / "world", 2, 1, 0, lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_it_is_rendered_once_into_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CUTER_CACHE", str(tmp_path))
    first = load_dataset("toybox", train=3, test=2)
    assert first.train[0].path.parents[2] == tmp_path / "toybox" / f"v{VERSION}-train3-test2-seed0"
    with monkeypatch.context() as patched:
        patched.setattr(toybox_cache, "draw_scene", lambda *_: pytest.fail("rendered again"))
        assert load_dataset("toybox", train=3, test=2) == first
    other = load_dataset("toybox", train=3, test=2, seed=1)  # beside it, not over it
    assert other.train[0].path.read_bytes() != first.train[0].path.read_bytes()


def test_close_ups_to_train_on_and_scenes_to_test_with(tmp_path: Path):
    world = load_dataset("toybox", tmp_path, train=8, test=8, close_ups=True)
    assert {len(sample.labels) for sample in world.train} == {1}
    plain = load_dataset("toybox", tmp_path, train=1, test=8)
    assert [sample.labels for sample in world.test] == [sample.labels for sample in plain.test]


KILLED = """
import os, sys
from pathlib import Path
from cuter.toybox.cache import render_toybox
render_toybox(Path(sys.argv[1]), 12, 5, 4, lambda done, total: os._exit(9) if done == 9 else None)
"""


def test_a_killed_rendering_is_never_taken_for_a_finished_one(tmp_path: Path, rendered: Path):
    root = tmp_path / "world"
    assert subprocess.run([sys.executable, "-c", KILLED, str(root)], check=False).returncode == 9
    assert not root.exists()
    assert len(list(tmp_path.glob(".world.*.part"))) == 1
    render_toybox(root, 12, 5, 4)
    assert files(root) == files(rendered)


def test_two_that_render_at_once_do_not_hurt_each_other(tmp_path: Path, rendered: Path):
    root = tmp_path / "world"

    def another(done: int, total: int) -> None:
        if done == 8:
            render_toybox(root, 12, 5, 4)

    render_toybox(root, 12, 5, 4, another)
    assert files(root) == files(rendered)
    assert [path.name for path in tmp_path.iterdir()] == ["world"]


def test_a_stop_leaves_nothing_behind(tmp_path: Path):
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        render_toybox(tmp_path / "world", 2, 1, 0, stop)
    assert list(tmp_path.iterdir()) == []


def test_wrong_options_are_told(tmp_path: Path):
    with pytest.raises(ConfigError, match="data set 'toybox': option 'test' must be from 1 to 1000000, not 0"):
        load_dataset("toybox", tmp_path, test=0)
    with pytest.raises(ConfigError, match="option 'train' must be from 1 to 1000000, not 1000000000"):
        load_dataset("toybox", tmp_path, train=10**9)
    with pytest.raises(ConfigError, match="data set 'toybox' has no option 'seeds'"):
        load_dataset("toybox", tmp_path, seeds=1)
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be rendered into"):
        load_dataset("toybox", tmp_path / "file", train=1, test=1)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("name", ["coco", "folder", "nuswide", "voc"])
def test_other_data_sets_need_a_folder(name: str):
    with pytest.raises(ConfigError, match=f"data set '{name}' needs --data-root"):
        load_dataset(name)


def test_rows_hold_what_the_format_says(rendered: Path):
    row = json.loads((rendered / "train.jsonl").read_text().splitlines()[0])
    assert set(row) == {"path", "labels", "boxes"}
    assert sorted({box[0] for box in row["boxes"]}) == row["labels"]
