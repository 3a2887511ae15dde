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
from cuter.experiment.stopping import Interrupted, StopRequest
from cuter.pretrain import pretraining
from cuter.pretrain.display import PretrainDisplay
from cuter.pretrain.images import ImageFiles
from cuter.pretrain.settings import PretrainSettings


def test_a_few_photos_make_a_backbone_though_it_was_stopped(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    for photo in sorted((shared / "data" / "VOCdevkit" / "VOC2007" / "JPEGImages").glob("*.jpg"))[:96]:
        shutil.copy(photo, folder)
    settings = PretrainSettings(
        images=folder, image_size=64, dim=64, depth=3, heads=2, steps=60, batch_size=16, scores=2, device="cpu",
        momentum=0.9, colour=0.3,
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
    with monkeypatch.context() as patch:
        patch.setattr(pretraining, "stop_on_signals", impatient)
        with pytest.raises(Interrupted):
            pretraining.start(settings, tmp_path / "out", display)
    summary = pretraining.resume(tmp_path / "out", display)
    last = summary["scores"][-1]
    assert last["loss"] < 0.7 * math.log(settings.prototypes), "views of a photo are told alike"
    assert last["diversity"] > 1.5, "and photos apart"
    assert Localiser.load(tmp_path / "out" / "backbone").backbone.image_size == 64


def test_a_few_photos_make_patches_easier_to_cut_apart(shared: Path, tmp_path: Path) -> None:
    photos = sorted((shared / "data" / "VOCdevkit" / "VOC2007" / "JPEGImages").glob("*.jpg"))[:96]
    settings = PretrainSettings(
        image_size=64, dim=64, depth=3, heads=2, steps=60, batch_size=16, scores=2, device="cpu"
    )
    display = PretrainDisplay(Console(file=io.StringIO()))
    summary = pretraining.pretrain(ImageFiles(photos, 64), settings, tmp_path / "out", display)
    first, *_, last = (score["fiedler"] for score in summary["scores"])
    assert last < first
