"""A real stream with a pre-trained transformer, end to end, on a few hundred photos."""

import io
from pathlib import Path

from rich.console import Console

from cuter.experiment.config import RunConfig
from cuter.experiment.display import Display
from cuter.experiment.run import start


def test_a_pretrained_transformer_learns_real_photos(shared: Path, tmp_path: Path) -> None:
    config = RunConfig(
        dataset="voc",
        data_root=shared / "data" / "VOCdevkit",
        backbone=str(shared / "weights" / "vit-tiny-patch16-224"),
        tasks="aeroplane,boat;bicycle,cat",
        limit_train=400,
        limit_test=300,
        memory_images=40,
        augment="flip",
        device="cpu",
    )
    summary = start(config, tmp_path / "run", Display(Console(file=io.StringIO())))
    first, second = summary["tasks"]
    assert first["scores"]["map"] > 80, "chance is about 50"
    assert second["scores"]["map"] > 60, "chance is about 25"
    assert summary["skipped"] == {}
