"""Pre-training that survives anything, on images small enough for a test."""

import io
import json
import logging
import math
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from rich.console import Console
from safetensors.torch import load_file

from cuter.backbone import load_backbone
from cuter.errors import ConfigError, CuterError, DataError
from cuter.pretrain import pretraining
from cuter.pretrain.display import PretrainDisplay
from cuter.pretrain.images import ImageFiles, Supply
from cuter.pretrain.judge import Judge
from cuter.pretrain.pretraining import pretrain, resume, start
from cuter.pretrain.settings import PretrainSettings
from cuter.pretrain.trainer import Trainer, falling, rising_then_falling
from cuter.runs.stopping import Interrupted, StopRequest
from cuter.storage import load_state
from cuter.stream.datasets import load_dataset
from cuter.stream.images import read_images

TINY: dict[str, Any] = {
    "image_size": 32,
    "dim": 16,
    "depth": 2,
    "heads": 2,
    "batch_size": 8,
    "prototypes": 32,
    "local_crops": 2,
    "scores": 3,
    "probe_images": 6,
    "knn_images": 20,
    "workers": 0,
    "device": "cpu",
}


def settings(**more: Any) -> PretrainSettings:
    return PretrainSettings(**(TINY | more))


def silent() -> PretrainDisplay:
    return PretrainDisplay(Console(file=io.StringIO(), width=120))


def photos(count: int = 40, seed: int = 0) -> torch.Tensor:
    return torch.randint(256, (count, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(seed))


@pytest.fixture(autouse=True)
def _no_pictures(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Spare the tests the time of drawing, but for the one that looks for the picture."""
    if request.node.name != "test_everything_is_in_the_folder":
        monkeypatch.setattr(pretraining, "draw_curves", lambda *_: None)


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def outcome(folder: Path) -> dict[str, Any]:
    """All that must be equal: every line of the metrics, every weight, the exported file."""
    summary = json.loads((folder / "summary.json").read_text())
    tensors = load_file(max((folder / "checkpoints").glob("step-*")) / "trainer.safetensors")
    return {
        "summary": {key: value for key, value in summary.items() if "second" not in key},
        "metrics": (folder / "metrics.jsonl").read_text(),
        "weights": {name: tensor.numpy().tobytes() for name, tensor in tensors.items()},
        "backbone": (folder / "backbone" / "model.safetensors").read_bytes(),
    }


class Renderer:
    """Images by number, all of one brightness; some can't be rendered. It counts how often it is asked."""

    def __init__(self, count: int, broken: Container[int] = ()):
        self.count, self.broken, self.asked = count, broken, 0

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: int) -> torch.Tensor:
        self.asked += 1
        if number in self.broken:
            raise DataError(f"image {number} can't be rendered")
        return torch.full((3, 32, 32), number, dtype=torch.uint8)


@contextmanager
def impatient(monkeypatch: pytest.MonkeyPatch, every: int) -> Iterator[None]:
    """Ask to stop at each so-many-th look."""

    class Stop(StopRequest):
        looks = 0

        @property
        def asked(self) -> bool:
            Stop.looks += 1
            return Stop.looks % every == 0

        @asked.setter
        def asked(self, value: bool) -> None: ...

    @contextmanager
    def restless() -> Iterator[Stop]:
        yield Stop()

    with monkeypatch.context() as patch:
        patch.setattr(pretraining, "stop_on_signals", restless)
        yield


def test_everything_is_in_the_folder(tmp_path: Path) -> None:
    summary = pretrain(photos(), settings(epochs=2), tmp_path / "out", silent())
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {
        "backbone",
        "metrics.jsonl",
        "config.yaml",
        "environment.json",
        "run.log",
        "checkpoints",
        "curves.png",
    } <= names
    assert summary == json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (summary["steps"], summary["images"], summary["skipped"]) == (10, 40, {})
    trained = [line for line in lines(tmp_path / "out") if "loss" in line]
    assert [line["step"] for line in trained] == list(range(1, 11))
    assert [line["epoch"] for line in trained] == [0] * 5 + [1] * 5
    assert all(0 < line["entropy"] <= math.log(32) + 1e-5 and line["spread"] > 0 for line in trained)
    assert [score["step"] for score in summary["scores"]] == [0, 3, 7, 10]
    assert [line["score"] for line in lines(tmp_path / "out") if "score" in line] == summary["scores"]
    assert resume(tmp_path / "out", silent()) == summary, "what is finished stays as it is"


def test_the_backbone_is_the_teacher_up_to_half_precision(tmp_path: Path) -> None:
    chosen = settings(steps=6, momentum=0.5)  # a teacher that moves at once
    pretrain(photos(), chosen, tmp_path / "out", silent())
    trainer = Trainer(chosen, 6)
    trainer.load_state_dict(load_state(tmp_path / "out" / "checkpoints" / "step-00000006", "trainer"))
    exported = load_backbone(tmp_path / "out" / "backbone")
    assert (exported.image_size, exported.patch_size, exported.blocks) == (32, 8, 2)
    with torch.no_grad():
        expected, found = trainer.backbone(photos()), exported.eval()(photos())
    assert torch.allclose(found.embedding, expected.embedding, atol=2e-2)
    assert torch.allclose(found.patches, expected.patches, atol=2e-2)
    assert not torch.allclose(Trainer(settings(), 6).backbone(photos()).embedding, expected.embedding, atol=2e-2)
    tensors = load_file(tmp_path / "out" / "backbone" / "model.safetensors").values()
    assert {tensor.dtype for tensor in tensors} == {torch.float16}


@pytest.mark.parametrize("cache", [4.0, 0.0])
def test_stopped_again_and_again_it_comes_to_the_same_bits(
    shapes: Path, cache: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = settings(images=shapes, steps=13, cache_gigabytes=cache)
    start(chosen, tmp_path / "whole", silent())
    with impatient(monkeypatch, every=4):
        with pytest.raises(Interrupted):
            start(chosen, tmp_path / "broken", silent())
        stops = 1
        while not (tmp_path / "broken" / "summary.json").exists():
            try:
                resume(tmp_path / "broken", silent())
            except Interrupted:
                stops += 1
    assert stops >= 3
    assert outcome(tmp_path / "broken") == outcome(tmp_path / "whole")


def test_a_damaged_checkpoint_costs_time_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pretrain(photos(), settings(steps=8), tmp_path / "whole", silent())
    with impatient(monkeypatch, every=5), pytest.raises(Interrupted):
        pretrain(photos(), settings(steps=8), tmp_path / "broken", silent())
    file = tmp_path / "broken" / "checkpoints" / "step-00000004" / "trainer.safetensors"
    file.write_bytes(file.read_bytes()[:-10])
    resume(tmp_path / "broken", silent(), images=photos())
    assert "is damaged" in caplog.text
    assert outcome(tmp_path / "broken") == outcome(tmp_path / "whole")


def test_the_seed_decides(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        pretrain(photos(), settings(steps=3, seed=seed), tmp_path / name, silent())
    a, b, c = ((tmp_path / name / "metrics.jsonl").read_text() for name in "abc")
    assert a == b
    assert a != c


def test_held_images_and_images_read_in_each_epoch_give_the_same(shapes: Path, tmp_path: Path) -> None:
    for name, cache in (("held", 4.0), ("read", 0.0)):
        start(settings(images=shapes / "images", steps=4, cache_gigabytes=cache), tmp_path / name, silent())
    held, read = ((tmp_path / name / "metrics.jsonl").read_text() for name in ("held", "read"))
    assert held == read


def test_an_epoch_brings_each_image_once_in_an_order_of_its_own() -> None:
    images = torch.arange(40, dtype=torch.uint8).view(-1, 1, 1, 1).expand(40, 3, 32, 32)
    supply = Supply(images, settings(epochs=3))
    orders = [[int(image[0, 0, 0]) for batch in supply.batches(epoch) for image in batch] for epoch in range(2)]
    assert [sorted(order) for order in orders] == [list(range(40))] * 2
    assert orders[0] != orders[1]
    assert [int(image[0, 0, 0]) for batch in supply.batches(0, start=3) for image in batch] == orders[0][24:]
    assert (supply.epoch_steps, supply.total_steps) == (5, 15)


@pytest.mark.parametrize("cache", [4.0, 0.0])
def test_unreadable_images_are_skipped_and_named(
    cache: float, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "photos" / "deep").mkdir(parents=True)
    for number, photo in enumerate(photos(10)):
        image = Image.fromarray(photo.permute(1, 2, 0).numpy())
        image.save(tmp_path / "photos" / ("deep" if number % 2 else "") / f"{number}.png")
    (tmp_path / "photos" / "deep" / "bad.jpg").write_bytes(b"?")
    (tmp_path / "photos" / "notes.txt").write_text("not an image, and not taken for one")
    chosen = settings(images=tmp_path / "photos", batch_size=11, epochs=2, cache_gigabytes=cache)
    summary = start(chosen, tmp_path / "out", silent())
    bad = str(tmp_path / "photos" / "deep" / "bad.jpg")
    assert list(summary["skipped"]) == [bad]
    assert caplog.text.count("skipped an unreadable image") == 1
    assert f"{bad}: cannot read the image" in caplog.text
    assert summary["images"] == (10 if cache else 11)


def test_readable_images_are_held_in_their_order() -> None:
    broken = {0, 63, 64, 129}
    supply = Supply(Renderer(130, broken), settings())
    assert supply.held is not None
    assert supply.held[:, 0, 0, 0].tolist() == [number for number in range(130) if number not in broken]
    assert set(supply.skipped) == {f"image {number}" for number in broken}


def test_the_first_and_the_last_image_may_be_unreadable_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = Renderer(20, broken=(0, 19))
    with impatient(monkeypatch, every=3), pytest.raises(Interrupted):
        pretrain(images, settings(steps=4), tmp_path / "out", silent())
    with pytest.raises(ConfigError, match="are not those it began with"):
        resume(tmp_path / "out", silent(), images=Renderer(20, broken=(1, 19)))
    assert resume(tmp_path / "out", silent(), images=images)["images"] == 18


def test_a_batch_of_which_too_little_is_left_is_told() -> None:
    supply = Supply(Renderer(8, broken=range(1, 8)), settings(cache_gigabytes=0))
    with pytest.raises(DataError, match=r"of a batch of 8 images only 1 can be read: image \d can't be rendered"):
        list(supply.batches(0))


@pytest.mark.parametrize("cache", [4.0, 0.0])
def test_nothing_readable_is_an_error_and_leaves_nothing(cache: float, tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.png").write_bytes(b"?")
    with pytest.raises(DataError, match=r"none of the images is readable: .*\d\.png: cannot read the image"):
        start(settings(images=tmp_path, cache_gigabytes=cache), tmp_path / "out", silent())
    assert not (tmp_path / "out").exists()


def test_mistakes_are_named_before_anything_is_written(tmp_path: Path, shapes: Path) -> None:
    mistakes: list[tuple[dict[str, Any], type[CuterError], str]] = [
        ({}, ConfigError, "either a folder"),
        ({"images": shapes, "dataset": "folder"}, ConfigError, "either a folder"),
        ({"dataset": "folder"}, ConfigError, "needs --data-root"),
        ({"images": tmp_path / "gone"}, DataError, "no such folder"),
        ({"images": shapes / "train.csv"}, DataError, "a file, not a folder"),
        ({"images": tmp_path}, DataError, "holds no image"),
    ]
    for fields, kind, message in mistakes:
        with pytest.raises(kind, match=message):
            start(settings(**fields), tmp_path / "out", silent())
    with pytest.raises(DataError, match=r"must be uint8 \(3, H, W\) each, not torch.float32"):
        pretrain(torch.rand(4, 3, 8, 8), settings(), tmp_path / "out", silent())
    with pytest.raises(DataError, match="no image to learn from"):
        pretrain(photos(0), settings(), tmp_path / "out", silent())
    for only_one in (photos(1), Renderer(3, broken=(0, 2))):
        with pytest.raises(DataError, match="one image is not enough"):
            pretrain(only_one, settings(), tmp_path / "out", silent())
    assert not (tmp_path / "out").exists()


def test_a_wrong_device_is_told_before_images_are_read(tmp_path: Path) -> None:
    images = Renderer(8)
    for device in ("tpu", "cpu:first"):
        with pytest.raises(ConfigError, match=f"device '{device}'"):
            pretrain(images, settings(device=device), tmp_path / "out", silent())
    assert images.asked == 0


def test_a_folder_of_another_command_is_not_continued(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("method: rs")
    (tmp_path / "summary.json").write_text('{"tasks": []}')
    with pytest.raises(ConfigError, match=r"config\.yaml: unknown setting method"):
        resume(tmp_path, silent())


@pytest.mark.parametrize("place", ["cuter.pretrain.pretraining.save_backbone", "cuter.runs.directory.save_states"])
def test_a_full_disk_costs_no_more_than_the_time_since_the_checkpoint(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(place, full)
        with pytest.raises(CuterError, match=r"no space left on device.*go on with: cuter pretrain --resume .*out"):
            pretrain(photos(), settings(steps=3), tmp_path / "out", silent())
    assert not (tmp_path / "out" / "summary.json").exists()
    with pytest.raises(ConfigError, match="was started in Python with images of its own"):
        resume(tmp_path / "out", silent())
    pretrain(photos(), settings(steps=3), tmp_path / "whole", silent())
    resume(tmp_path / "out", silent(), images=photos())
    assert outcome(tmp_path / "out") == outcome(tmp_path / "whole")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"image_size": 30}, "image_size must be a multiple of patch_size 8, not 30"),
        ({"patch_size": 12, "image_size": 24}, "patch_size must be a power of 2 .* not 12; --no-conv-stem takes any"),
        ({"local_size": 12}, "local_size must be a multiple of patch_size 8, not 12"),
        ({"heads": 3}, "dim must be a multiple of heads 3, not 16"),
        ({"dataset": "vok"}, "Did you mean 'voc'"),
        ({"momentum": 1.5}, "momentum"),
    ],
)
def test_settings_that_do_not_fit_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, CuterError), match=message):
        settings(**fields)


def test_it_does_not_go_on_with_other_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with impatient(monkeypatch, every=3), pytest.raises(Interrupted):
        pretrain(photos(), settings(), tmp_path / "out", silent())
    with pytest.raises(ConfigError, match="are not those it began with"):
        resume(tmp_path / "out", silent(), images=photos(seed=1))
    with pytest.raises(ConfigError, match=r"Continue it with 'cuter pretrain --resume .*out'"):
        pretrain(photos(), settings(), tmp_path / "out", silent())


def test_a_data_set_is_scored_by_its_labels_and_a_folder_without(shapes: Path, tmp_path: Path) -> None:
    dataset = start(settings(dataset="folder", data_root=shapes, steps=2), tmp_path / "dataset", silent())
    assert dataset["images"] == 60, "the training images alone"
    assert {"fiedler", "knn_map"} <= set(dataset["scores"][0])
    folder = start(settings(images=shapes, steps=2), tmp_path / "folder", silent())
    assert folder["images"] == 90
    assert "knn_map" not in folder["scores"][0]
    assert 0 < folder["scores"][0]["fiedler"] < 1


def test_an_untrained_backbone_is_judged_as_by_hand(shapes: Path) -> None:
    from cuter.measure.knn import knn_map

    dataset, chosen = load_dataset("folder", shapes), settings(knn_images=1000)
    backbone = Trainer(chosen, 1).backbone
    sides = []
    for samples in (dataset.test, dataset.train):
        labels = torch.tensor([[name in sample.labels for name in dataset.classes] for sample in samples])
        with torch.no_grad():
            embeddings = backbone(read_images([sample.path for sample in samples], 32)).embedding
        sides.append((embeddings, labels, torch.ones_like(labels)))
    assert Judge.of(dataset, chosen).measure(backbone)["knn_map"] == pytest.approx(knn_map(*sides), rel=1e-4)


def test_collapse_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    flat = torch.full((16, 3, 32, 32), 90, dtype=torch.uint8)
    with caplog.at_level(logging.WARNING, "cuter"):
        pretrain(flat, settings(steps=3, colour=0, warmup=0), tmp_path / "out", silent())
    assert "features have collapsed: the embeddings of all images are nearly the same" in caplog.text


def test_embeddings_that_collapse_are_told_without_prototypes_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    flat = torch.full((16, 3, 32, 32), 90, dtype=torch.uint8)
    with caplog.at_level(logging.WARNING, "cuter"):
        pretrain(flat, settings(steps=3, colour=0, warmup=0, distil=0, contrast=1), tmp_path / "out", silent())
    assert "the embeddings of all images are nearly the same" in caplog.text
    assert "prototype" not in caplog.text


def test_it_learns_what_images_have_in_common(shapes: Path, tmp_path: Path) -> None:
    images = read_images(sorted((shapes / "images").glob("*.png")), 32)
    chosen = settings(steps=100, batch_size=16, momentum=0.9, colour=0, scores=1)
    pretrain(images, chosen, tmp_path / "out", silent())
    last = [line for line in lines(tmp_path / "out") if "loss" in line][-10:]
    loss, diversity = (sum(line[key] for line in last) / 10 for key in ("loss", "diversity"))
    assert loss < 0.5 * math.log(32), "views of an image are told alike"
    assert diversity > 2 * loss, "and images apart: one answer for all would be no less probable"


def test_a_step_that_is_not_finite_changes_nothing() -> None:
    trainer = Trainer(settings(), 10)
    with torch.no_grad():
        trainer.student.head.prototypes.fill_(math.nan)
    before = [parameter.clone() for parameter in trainer.student.backbone.parameters()]
    with pytest.raises(CuterError, match="the loss is nan at step 0"):
        trainer.step(photos(8))
    assert all(map(torch.equal, before, trainer.student.backbone.parameters()))


def test_prototypes_are_frozen_in_the_beginning() -> None:
    trainer = Trainer(settings(warmup=0), 150)
    first = trainer.student.head.prototypes.clone()
    trainer.step(photos(8))
    trainer.step(photos(8))
    assert torch.equal(trainer.student.head.prototypes, first)
    trainer.step(photos(8))
    assert not torch.equal(trainer.student.head.prototypes, first)


def test_schedules() -> None:
    assert [falling(share) for share in (0, 0.5, 1)] == pytest.approx([1, 0.5, 0])
    rates = [rising_then_falling(share, 0.2) for share in (0, 0.1, 0.2, 0.6, 1)]
    assert rates == pytest.approx([0, 0.5, 1, 0.505, 0.01])
    assert rising_then_falling(0, 0) == 1


def test_files_are_read_when_they_are_asked_for(shapes: Path) -> None:
    paths = sorted((shapes / "images").glob("*.png"))[:3]
    files = ImageFiles(paths, 32)
    assert len(files) == 3
    assert torch.equal(files[1], read_images([paths[1]], 32)[0])
