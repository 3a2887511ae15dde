import logging
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from cuter.backbone import Backbone, Features, untrained_vit
from cuter.backbone.families import build, make_config
from cuter.backbone.preprocessing import Preprocessing
from cuter.cut import Localiser, cut_settings
from cuter.errors import BatchError
from cuter.measure.probe import Probe
from cuter.show.assess import assess
from cuter.stream.images import read_squashed
from cuter.stream.samples import Box, Dataset, Sample

SIZE = 32


class RedOrNot(torch.nn.Module):
    """Stands in for a backbone: all red patches are alike, and so are all others. Notes how many images come at once.

    With `mirrored` it sees every image the wrong way round.
    """

    name, features, is_cnn, image_size, patch_size = "red-dino-vit", "keys", False, SIZE, 8

    def __init__(self, mirrored: bool = False):
        super().__init__()
        self.mirrored = mirrored
        self.batches: list[int] = []

    def set_features(self, features: str) -> None:
        self.features = features

    def forward(self, images: torch.Tensor) -> Features:
        self.batches.append(len(images))
        red = (images[:, 0] > 100).unfold(1, 8, 8).unfold(2, 8, 8).float().mean(dim=(3, 4)) > 0.5
        turned = (red.flip(2) if self.mirrored else red).flatten(1) * math.pi / 2
        patches = 7 * torch.stack([turned.cos(), turned.sin()], dim=-1)
        return Features(patches.mean(dim=1), patches, (4, 4), patches)


def vit() -> Backbone:
    return untrained_vit(image_size=SIZE, patch_size=8, dim=32, depth=3, heads=2)


def resnet() -> Backbone:
    config = {"model_type": "resnet", "embedding_size": 8, "hidden_sizes": [16, 32], "depths": [1, 1]}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Backbone(build(make_config(config, "test")), Preprocessing(SIZE), name="tiny resnet")


def photo(folder: Path, number: int, *, boxed: bool = True, width: int = 320, height: int = 80) -> Sample:
    """Paint a red dog in the third column and the upper two rows of four, on a ground that tells the image's number."""
    image = Image.new("RGB", (width, height), (0, 0, 5 * number + 1))
    box = (width // 2, 0, width * 3 // 4, height // 2)
    image.paste((200, 0, 0), box)
    path = folder / f"{number}.png"
    image.save(path)
    return Sample(str(number), path, frozenset({"dog"}), boxes=(Box("dog", *box),) if boxed else ())


def broken(folder: Path, number: int) -> Sample:
    path = folder / f"{number}.png"
    path.write_bytes(b"?")
    return Sample(str(number), path, frozenset({"dog"}), boxes=(Box("dog", 0, 0, 1, 1),))


def grounds(probe: Probe) -> list[int]:
    """Tell the drawn images by their grounds."""
    return [int(image[2, -1, -1]) // 5 for pixels, _ in probe.batches for image in pixels]


def test_figures_of_a_model_that_sees_the_object_and_of_one_that_does_not(tmp_path: Path) -> None:
    samples = [photo(tmp_path, number, width=240 + 40 * number) for number in range(4)]
    samples.append(photo(tmp_path, 4, boxed=False))  # difficult objects have no boxes; nothing found there is wrong
    probe = Probe.of(samples, 5, SIZE)
    # Two cliques of 2 and 14 patches, joined by edges of one weight: λ2 is that weight times the 16 patches.
    assert probe.measure(RedOrNot()) == pytest.approx({"fiedler": math.exp(-1), "corloc": 1, "ap50": 1})
    assert probe.measure(RedOrNot(mirrored=True)) == pytest.approx({"fiedler": math.exp(-1), "corloc": 0, "ap50": 0})


@pytest.mark.parametrize("make", [vit, resnet])
def test_figures_are_those_of_assess(
    make: Callable[[], Backbone], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    samples = []
    for number in range(20):  # more than a batch
        path = tmp_path / f"{number}.png"
        Image.fromarray(rng.integers(0, 255, (64, 96, 3), dtype=np.uint8)).save(path)
        boxes = tuple(Box("dog", 12 * i, 8 * i, 12 * i + 36, 8 * i + 40) for i in range(number % 3))
        samples.append(Sample(str(number), path, frozenset(), boxes=boxes))
    monkeypatch.setattr(Localiser, "load", lambda name, features=None: Localiser(make()))
    (row,) = assess(["any"], Dataset("some", ("dog",), [], samples), tmp_path / "out", split="test")["rows"]
    found = Probe.of(samples, 100, SIZE).measure(make().train())
    assert found == {figure: row[figure] for figure in ("fiedler", "corloc", "ap50")}


@pytest.mark.parametrize("make", [vit, resnet])
def test_the_fiedler_value_is_that_of_the_features_that_are_cut(make: Callable[[], Backbone], shapes: Path) -> None:
    samples = [Sample(path.name, path, frozenset()) for path in sorted(shapes.rglob("*.png"))[:20]]
    assert len(samples) == 20
    backbone = make().eval()
    values = []
    with torch.no_grad():
        backbone.set_features("tokens" if backbone.is_cnn else "values@2")  # 7/12 of three blocks
        for sample in samples:
            patches = backbone(read_squashed(sample.path, SIZE)[None]).patches[0].double().numpy()
            units = patches / np.linalg.norm(patches, axis=1, keepdims=True)
            kernel = np.exp(-((units[:, None] - units[None]) ** 2).sum(axis=2) / 2)
            values.append(np.linalg.eigvalsh(np.diag(kernel.sum(axis=1)) - kernel)[1] / len(patches))
    assert Probe.of(samples, 20, SIZE).measure(make()) == pytest.approx({"fiedler": np.mean(values)}, rel=1e-4)


def state_of(backbone: Backbone) -> tuple[str, dict[str, Any]]:
    return backbone.features, {
        "modes": [module.training for module in backbone.modules()],
        "weights": {name: value.clone() for name, value in backbone.state_dict().items()},
        "gradients": [value.grad.clone() for value in backbone.parameters() if value.grad is not None],
        "trainable": [value.requires_grad for value in backbone.parameters()],
        "random": torch.get_rng_state(),
    }


def assert_same(found: tuple[str, dict[str, Any]], before: tuple[str, dict[str, Any]]) -> None:
    assert found[0] == before[0]
    torch.testing.assert_close(found[1], before[1], rtol=0, atol=0)


@pytest.mark.parametrize("make", [vit, resnet])
def test_a_model_is_left_as_it_was(
    make: Callable[[], Backbone], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe = Probe.of([photo(tmp_path, number) for number in range(3)], 3, SIZE)
    backbone = make().train()
    backbone(torch.rand(2, 3, SIZE, SIZE)).patches.sum().backward()
    next(backbone.encoder.children()).eval()  # as a learner may freeze the first layers
    before = state_of(backbone)
    assert before[0] != cut_settings(backbone).features or backbone.is_cnn
    assert len(set(before[1]["modes"])) == 2
    assert before[1]["gradients"]
    first = probe.measure(backbone)
    assert_same(state_of(backbone), before)
    assert probe.measure(backbone) == first
    with monkeypatch.context() as patch:
        patch.setattr(Localiser, "cut_features", lambda *_: pytest.fail("as if interrupted"))
        with pytest.raises(pytest.fail.Exception):
            probe.measure(backbone)
    assert_same(state_of(backbone), before)


def test_features_that_are_not_finite_are_an_error(tmp_path: Path, tiny: Backbone) -> None:
    probe = Probe.of([photo(tmp_path, 0)], 1, SIZE)
    for weights in tiny.parameters():
        torch.nn.init.constant_(weights, math.nan)
    with pytest.raises(BatchError, match="not finite"):
        probe.measure(tiny)


def test_the_draw_is_fixed(tmp_path: Path) -> None:
    samples = [photo(tmp_path, number) for number in range(40)]
    drawn = grounds(Probe.of(samples, 9, SIZE))
    assert drawn == sorted(np.random.default_rng(0).permutation(40)[:9].tolist())
    torch.manual_seed(7)
    np.random.seed(7)
    assert grounds(Probe.of(samples, 9, SIZE)) == drawn
    assert set(drawn) < set(grounds(Probe.of(samples, 20, SIZE)))
    assert grounds(Probe.of(samples, 41, SIZE)) == list(range(40))


def test_boxes_are_in_squashed_pixels(tmp_path: Path) -> None:
    (batch,) = Probe.of([photo(tmp_path, 0, width=640, height=64)], 1, SIZE).batches
    pixels, (boxes,) = batch
    assert boxes.tolist() == [[16, 0, 24, 16]]
    assert (pixels[0, 0] > 100).nonzero().tolist() == [[y, x] for y in range(16) for x in range(16, 24)]


def test_images_are_held_once_and_encoded_some_at_a_time(tmp_path: Path) -> None:
    probe = Probe.of([photo(tmp_path, number) for number in range(40)], 40, SIZE)
    held = sum(pixels.untyped_storage().nbytes() for pixels, _ in probe.batches)
    assert held == 40 * 3 * SIZE * SIZE
    model = RedOrNot()
    probe.measure(model)
    assert sum(model.batches) == 40
    assert max(model.batches) <= 16


def test_without_boxes_there_is_the_fiedler_value_alone(tmp_path: Path) -> None:
    probe = Probe.of([photo(tmp_path, number, boxed=False) for number in range(3)], 3, SIZE)
    assert probe.measure(RedOrNot()) == pytest.approx({"fiedler": math.exp(-1)})


def test_unreadable_images_are_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    samples = [broken(tmp_path, 0), *(photo(tmp_path, number) for number in range(1, 4))]
    probe = Probe.of(samples, 4, SIZE)
    assert grounds(probe) == [1, 2, 3]
    assert [len(boxes) for _, boxes in probe.batches] == [3]
    assert probe.measure(RedOrNot())["corloc"] == 1
    ((_, level, text),) = caplog.record_tuples
    assert level == logging.WARNING
    assert text.startswith(f"1 of 4 images to probe are left out: {samples[0].path}")


@pytest.mark.parametrize("make", [vit, resnet])
def test_nothing_to_measure(make: Callable[[], Backbone], tmp_path: Path) -> None:
    samples = [photo(tmp_path, 0), *(broken(tmp_path, number) for number in range(1, 19))]
    backbone = make()
    assert Probe.of([], 10, SIZE).measure(backbone) == {}
    assert Probe.of(samples, 0, SIZE).measure(backbone) == {}
    assert Probe.of(samples[1:], 18, SIZE).measure(backbone) == {}
