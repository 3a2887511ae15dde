import hashlib
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from PIL import Image
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cuter.toybox.scene as scene_module
from cuter.toybox import CLASSES, SIZE, Scene, draw_scene
from cuter.toybox.__main__ import main
from cuter.toybox.paint import Sprite, paint
from cuter.toybox.pools import PATTERNS, pattern
from cuter.toybox.scene import MIN_VISIBLE, render_scene
from cuter.toybox.sketch import Sketch
from cuter.toybox.things import KINDS
from cuter.toybox.world import BY_FREQUENCY, THEMES, Plan, plan_close_up, plan_scene, scene_generator


def digest(scene: Scene) -> str:
    return hashlib.sha256(scene.image.tobytes() + scene.numbers.tobytes() + repr(scene.things).encode()).hexdigest()


IN_ANOTHER_PROCESS = """
import hashlib, json
from cuter.toybox import draw_scene
def digest(s):
    return hashlib.sha256(s.image.tobytes() + s.numbers.tobytes() + repr(s.things).encode()).hexdigest()
print(json.dumps([digest(draw_scene(split, number, 3)) for number in (7, 2, 4) for split in ("test", "train")][::-1]))
"""


def test_a_scene_is_the_same_in_any_process_and_order():
    there = subprocess.run([sys.executable, "-c", IN_ANOTHER_PROCESS], capture_output=True, text=True, check=True)
    here = [digest(draw_scene(split, number, 3)) for number in (4, 2, 7) for split in ("train", "test")]
    assert json.loads(there.stdout) == here


def test_no_two_scenes_are_the_same():
    scenes = [
        digest(draw_scene(s, n, seed)) for s in ("train", "test", "unlabelled") for n in range(4) for seed in (0, 1)
    ]
    assert len(set(scenes)) == len(scenes)


@pytest.fixture(scope="module")
def scenes() -> list[Scene]:
    return [draw_scene("test", number) for number in range(160)]


def test_scenes_have_one_to_five_things_of_which_enough_is_visible(scenes: list[Scene]):
    counts = Counter(len(scene.things) for scene in scenes)
    assert set(counts) == {1, 2, 3, 4, 5}
    visible = [thing.visible for scene in scenes for thing in scene.things]
    assert min(visible) >= MIN_VISIBLE
    assert max(visible) == 1
    assert 0.1 < np.mean(np.array(visible) < 0.9) < 0.5  # things do hide each other
    assert {scene.image.size for scene in scenes} == {(SIZE, SIZE)}
    assert {scene.image.mode for scene in scenes} == {"RGB"}


def test_boxes_are_tight_around_masks(scenes: list[Scene]):
    for scene in scenes:
        assert set(np.unique(scene.numbers)) - {0} == set(range(1, len(scene.things) + 1))
        for thing, mask in zip(scene.things, scene.masks, strict=True):
            rows, columns = np.nonzero(mask)
            assert thing.box == (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)


def test_things_are_a_quarter_to_four_fifths_of_the_side(scenes: list[Scene]):
    whole = [thing.box for scene in scenes for thing in scene.things if thing.visible == 1]
    sides = np.array([max(x2 - x1, y2 - y1) for x1, y1, x2, y2 in whole]) / SIZE
    # an outline makes a thing larger, rounding and stubby ends smaller
    assert sides.min() > 0.17
    assert sides.max() < 0.9
    assert np.quantile(sides, 0.9) - np.quantile(sides, 0.1) > 0.2


def test_a_scene_shows_what_its_plan_says(scenes: list[Scene]):
    plans = [plan_scene(scene_generator("test", number)) for number in range(len(scenes))]
    shown = [Counter(thing.label for thing in scene.things) for scene in scenes]
    missing = [Counter(plan.labels) - labels for plan, labels in zip(plans, shown, strict=True)]
    assert all(labels <= Counter(plan.labels) for plan, labels in zip(plans, shown, strict=True))
    assert sum(map(len, missing)) <= 5  # left out because it found no place


@pytest.mark.parametrize("theme", ["hall", "sea"])
def test_a_crowd_is_arranged_so_that_each_is_seen(theme: str):
    for number in range(12):
        scene = render_scene(np.random.default_rng(number), Plan(theme, ("ball", "ball", "clock", "house", "ball")))
        assert len(scene.things) >= 4
        assert all(thing.visible >= MIN_VISIBLE for thing in scene.things)


def test_masks_and_visible_shares_are_those_of_the_pixels(monkeypatch: pytest.MonkeyPatch):
    """Each thing is given a colour of its own, hard edges and no shadow: then the picture itself tells where it is."""
    solid: list[Sprite] = []

    def flat(*arguments: Any) -> Sprite:
        sprite = paint(*arguments)
        colour = (250, 5, 50 + len(solid))
        layers = [Image.new("L", sprite.image.size, channel) for channel in colour]
        layers.append(Image.fromarray(sprite.mask).convert("L"))
        solid.append(Sprite(Image.merge("RGBA", layers), sprite.mask))
        return solid[-1]

    monkeypatch.setattr(scene_module, "paint", flat)
    monkeypatch.setattr(scene_module, "light_and_shoot", lambda image, rng: image)
    monkeypatch.setattr(scene_module, "cast_shadow", lambda *_: None)
    hidden = 0
    for number in range(30):
        solid.clear()
        scene = draw_scene("test", number)
        pixels = np.asarray(scene.image)
        for thing, mask in zip(scene.things, scene.masks, strict=True):
            blue = pixels[mask][:, 2]
            which = np.bincount(blue).argmax() - 50
            found = (pixels == (250, 5, 50 + which)).all(axis=-1)
            assert not (found & ~mask).any()
            assert (mask & ~found).sum() <= 0.1 * mask.sum()  # clutter in front has soft edges
            assert thing.visible == mask.sum() / solid[which].mask.sum()
            hidden += thing.visible < 0.9
    assert hidden > 5


# Statistics, from plans alone: drawing them one after the other from one generator is quicker.


@pytest.fixture(scope="module")
def plans() -> list[Plan]:
    rng = np.random.default_rng(0)
    return [plan_scene(rng) for _ in range(20_000)]


def test_classes_are_long_tailed_and_every_one_appears(plans: list[Plan]):
    images = Counter(name for plan in plans for name in set(plan.labels))
    assert set(images) == set(CLASSES)
    assert CLASSES == tuple(sorted(KINDS)) == tuple(sorted(BY_FREQUENCY))
    assert len(CLASSES) == 25
    assert 20 <= max(images.values()) / min(images.values()) <= 40
    assert 1.8 < sum(images.values()) / len(plans) < 2.5
    ranks = [images[name] for name in BY_FREQUENCY]
    assert np.corrcoef(np.arange(25), np.log(ranks))[0, 1] < -0.99  # geometric


def test_every_fifth_of_the_alphabet_mixes_frequent_and_rare(plans: list[Plan]):
    for start in range(0, 25, 5):
        assert {CLASSES.index(name) // 5 for name in BY_FREQUENCY[start : start + 5]} == set(range(5))


def lift(plans: Sequence[Plan], one: str, other: str) -> float:
    shows = np.array([[one in plan.labels, other in plan.labels] for plan in plans])
    return float(shows.all(axis=1).mean() / shows.mean(axis=0).prod())


def test_what_belongs_together_comes_together(plans: list[Plan]):
    for one, other in (("boat", "fish"), ("car", "house"), ("flower", "leaf"), ("hat", "shoe")):
        assert lift(plans, one, other) > 2
    assert lift(plans, "cup", "spoon") > 1.5
    assert lift(plans, "cup", "tree") < 0.5
    for theme in THEMES:  # head classes come everywhere
        labels = {name for plan in plans if plan.theme == theme for name in plan.labels}
        assert set(BY_FREQUENCY[:10]) <= labels


# What gives a class away: its shape, not its colours.


@pytest.fixture(scope="module")
def sprites() -> list[tuple[int, Sprite]]:
    drawn = []
    for number, name in enumerate(CLASSES):
        for variant in range(30):
            rng = np.random.default_rng([number, variant])
            sketch = Sketch()
            KINDS[name].draw(sketch, rng)
            drawn.append((number, paint(sketch, rng, 48, surface=KINDS[name].draw_surface(rng))))
    return drawn


def accuracy(features: np.ndarray, classes: np.ndarray) -> float:
    learn = np.arange(len(classes)) % 2 == 0
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=200))
    return float(model.fit(features[learn], classes[learn]).score(features[~learn], classes[~learn]))


def test_colour_does_not_give_the_class_away_but_shape_does(sprites: list[tuple[int, Sprite]]):
    classes = np.array([number for number, _ in sprites])
    colours = [np.asarray(sprite.image)[sprite.mask][:, :3].astype(int) for _, sprite in sprites]
    means = np.array([pixels.mean(axis=0) for pixels in colours])
    boxes = [pixels // 64 @ np.array([16, 4, 1]) for pixels in colours]  # 4 × 4 × 4 boxes of colour
    histograms = np.array([np.bincount(numbers, minlength=64) / len(numbers) for numbers in boxes])
    shapes = [np.asarray(Image.fromarray(sprite.mask).convert("L").resize((12, 12))) for _, sprite in sprites]
    chance = 1 / len(CLASSES)
    assert accuracy(means, classes) < 2.5 * chance
    assert accuracy(histograms, classes) < 2.5 * chance
    assert accuracy(np.array(shapes).reshape(len(classes), -1).astype(float), classes) > 10 * chance


def test_every_class_has_a_surface_of_its_own_that_is_usual_but_not_certain():
    assert len({kind.surface for kind in KINDS.values()}) == len(CLASSES)
    rng = np.random.default_rng(0)
    for kind in KINDS.values():
        share = np.mean([kind.draw_surface(rng) == kind.surface for _ in range(400)])
        assert 0.75 < share < 0.95


@pytest.mark.parametrize("kind", PATTERNS)
def test_patterns_repeat_and_have_both_colours(kind: str):
    fine, wide = (pattern(kind, period, 0).astype(float) for period in (10, 20))
    for texture in (fine, wide):
        assert texture.min() == 0
        assert texture.max() == 7
        assert 0.1 < texture.mean() / 7 < 0.9
    across = [abs(np.diff(texture, axis=axis)).mean() for texture in (fine, wide) for axis in (0, 1)]
    assert sum(across[:2]) > 1.3 * sum(across[2:]), "the fine one changes more often"


def test_a_mask_holds_what_is_at_least_half_solid(sprites: list[tuple[int, Sprite]]):
    for _, sprite in sprites[::7]:
        alpha = np.asarray(sprite.image.getchannel("A"))
        np.testing.assert_array_equal(sprite.mask, alpha >= 127)


def test_variants_of_a_class_differ_in_shape(sprites: list[tuple[int, Sprite]]):
    for number in range(len(CLASSES)):
        shapes = {sprite.mask.tobytes() for one, sprite in sprites if one == number}
        assert len(shapes) >= 29


def test_the_sheet_and_the_statistics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(sys, "argv", ["toybox", "--sheet", str(tmp_path / "sheet.png")])
    main()
    sheet = np.asarray(Image.open(tmp_path / "sheet.png"))
    first = np.asarray(draw_scene("train", 0).image)
    assert any((sheet[y : y + SIZE, x : x + SIZE] == first).all() for y in range(20) for x in range(20))
    monkeypatch.setattr(sys, "argv", ["toybox", "--scenes", "400"])
    main()
    told = capsys.readouterr().out
    assert "400 scenes" in told
    trees = sum("tree" in plan_scene(scene_generator("train", number)).labels for number in range(400))
    assert re.search(rf"tree +│ +{trees} ", told)


def test_unlabelled_scenes_are_close_ups_of_all_classes_alike() -> None:
    scenes = [draw_scene("unlabelled", number) for number in range(150)]
    assert {len(scene.things) for scene in scenes} == {1}
    longest = [max(x2 - x1, y2 - y1) / SIZE for scene in scenes for x1, y1, x2, y2 in [scene.things[0].box]]
    assert min(longest) > 0.3  # at most a part of one that is 0.55 lies outside
    assert np.median(longest) > 0.6
    plans = [plan_close_up(scene_generator("unlabelled", number)) for number in range(10_000)]
    counts = Counter(plan.labels[0] for plan in plans)
    assert scipy.stats.chisquare(list(counts.values())).pvalue > 0.01
    assert len(counts) == len(CLASSES)
    assert all(plan.labels[0] in THEMES[plan.theme] for plan in plans)
