"""A backbone from a few real photos, without labels."""

import io
import math
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from cuter.cut import Localiser
from cuter.pretrain import pretraining
from cuter.pretrain.display import PretrainDisplay
from cuter.pretrain.settings import PretrainSettings
from cuter.runs.stopping import Interrupted, StopRequest

PHOTOS = 64


@pytest.fixture(scope="module")
def pretrained(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, float]]]:
    """The folder of a training that was stopped and went on, and its scores."""
    folder, photos = tmp_path_factory.mktemp("pretrained"), tmp_path_factory.mktemp("photos")
    for photo in sorted((shared / "data" / "VOCdevkit" / "VOC2007" / "JPEGImages").glob("*.jpg"))[:PHOTOS]:
        shutil.copy(photo, photos)
    settings = PretrainSettings(
        images=photos, image_size=64, dim=64, depth=3, heads=2, steps=40, batch_size=12, scores=2, device="cpu",
        momentum=0.9, colour=0.3, probe_images=32,
    )  # fmt: skip

    class Impatient(StopRequest):
        looks = 0

        @property
        def asked(self) -> bool:
            self.looks += 1
            return self.looks == 25

        @asked.setter
        def asked(self, value: bool) -> None: ...

    @contextmanager
    def impatient() -> Any:
        yield Impatient()

    display = PretrainDisplay(Console(file=io.StringIO()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pretraining, "stop_on_signals", impatient)
        with pytest.raises(Interrupted):
            pretraining.start(settings, folder / "out", display)
    summary = pretraining.resume(folder / "out", display)
    return folder / "out", summary["scores"]


def test_a_few_photos_make_a_backbone_though_it_was_stopped(pretrained: tuple[Path, list[dict[str, float]]]) -> None:
    folder, scores = pretrained
    last = scores[-1]
    assert last["loss"] < 0.7 * math.log(PretrainSettings().prototypes), "views of a photo are told alike"
    assert last["diversity"] > 1.5, "and photos apart"
    assert Localiser.load(folder / "backbone").backbone.image_size == 64


def test_a_few_photos_make_patches_easier_to_cut_apart(pretrained: tuple[Path, list[dict[str, float]]]) -> None:
    _, scores = pretrained
    assert scores[-1]["fiedler"] < scores[0]["fiedler"]
