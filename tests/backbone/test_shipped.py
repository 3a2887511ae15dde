"""The transformer that comes with the package."""

from pathlib import Path

import huggingface_hub
import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from cuter.backbone import SHORT_NAMES, load_backbone
from cuter.cut import Localiser, cut_settings
from cuter.measure.localisation import corloc
from cuter.toybox import draw_scene


def test_it_is_small_and_in_half_precision() -> None:
    folder = Path(SHORT_NAMES["toybox"])
    assert sum(file.stat().st_size for file in folder.iterdir()) < 3e6
    assert {tensor.dtype for tensor in load_file(folder / "model.safetensors").values()} == {torch.float16}


def test_it_is_found_by_its_name_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    backbone = load_backbone("toybox")
    assert (backbone.image_size, backbone.patch_size, backbone.blocks) == (128, 8, 4)
    assert "measured on toybox scenes" in cut_settings(backbone).origin


def test_its_first_cut_finds_things() -> None:
    scenes = [draw_scene("test", number, seed=3) for number in range(150)]
    images = torch.from_numpy(np.stack([np.asarray(scene.image) for scene in scenes])).permute(0, 3, 1, 2)
    boxes = Localiser.load("toybox").cut(images, max_regions=1).pixel_boxes(128, 128)
    truths = [np.array([thing.box for thing in scene.things], dtype=float) for scene in scenes]
    assert corloc([some[:1].numpy().astype(float) for some in boxes], truths) >= 0.6
