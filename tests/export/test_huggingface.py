"""Hugging Face: a pipeline in a process that does not know this package says what the learner says."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from backbone.test_backbone import tiny, tiny_resnet
from cuter.backbone import Backbone, untrained_vit
from cuter.backbone.families import FAMILIES, PATCH_MEAN
from cuter.errors import ConfigError, CuterError
from cuter.export import huggingface, to_huggingface
from cuter.export.huggingface import CLASSIFIERS, run_folder
from cuter.learn.heads import HEADS
from export.taught import NAMES, images, taught

# Without this package, and without the network.
PIPELINE = """
import sys

class Blocked:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == "cuter":
            raise ImportError(name)

sys.meta_path.insert(0, Blocked())

import json, warnings
from transformers import pipeline

for folder in sys.argv[2:]:
    tagger = pipeline("image-classification", model=folder, function_to_apply="sigmoid", top_k=1000)  # None means 5
    rows = tagger(json.loads(sys.argv[1]))
    print(json.dumps([{tag["label"]: tag["score"] for tag in row} for row in rows]))
"""


def ask_pipelines(photos: list[Path], folders: list[Path]) -> list[list[dict[str, float]]]:
    arguments = [json.dumps([str(photo) for photo in photos]), *map(str, folders)]
    done = subprocess.run(
        [sys.executable, "-c", PIPELINE, *arguments],
        env=os.environ | {"HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[{")]


def with_patch_mean(backbone: Backbone) -> Backbone:
    backbone.pooling = PATCH_MEAN
    return backbone


def of_another_size(model_type: str) -> Backbone:
    """A transformer that was trained with images of 64 pixels, and looks at such of 32."""
    backbone = tiny(model_type, image_size=64)
    assert backbone.image_size == 32
    return backbone


BACKBONES: dict[str, Any] = {
    "vit": lambda: tiny("vit"),
    "vit of another size": lambda: of_another_size("vit"),
    "deit": lambda: tiny("deit"),
    "deit of another size": lambda: of_another_size("deit"),
    "dinov2": lambda: tiny("dinov2"),
    "dinov2 of another size": lambda: of_another_size("dinov2"),
    "dinov2, patch mean": lambda: with_patch_mean(tiny("dinov2")),
    "dinov2_with_registers": lambda: tiny("dinov2_with_registers"),
    "resnet": tiny_resnet,
}


def test_pipelines_say_what_learners_say(tmp_path: Path) -> None:
    """One process asks for all of them: the start of transformers takes long."""
    photos = [tmp_path / f"{number}.png" for number in range(3)]
    for photo, pixels in zip(photos, images(3, 48, seed=5), strict=True):  # resized by either side
        Image.fromarray(pixels.permute(1, 2, 0).numpy()).save(photo)
    learners = {name: taught(make()) for name, make in BACKBONES.items()}
    folders = [tmp_path / name for name in learners]
    differences = [
        to_huggingface(learner, folder).largest_difference
        for learner, folder in zip(learners.values(), folders, strict=True)
    ]
    assert max(differences) < 1e-5
    answers = ask_pipelines(photos, folders)
    for (name, learner), rows in zip(learners.items(), answers, strict=True):
        for expected, row in zip(learner.predict(photos), rows, strict=True):
            assert row == pytest.approx(expected, abs=1e-5), name
    assert learners["vit"].probabilities(images(8, seed=5)).std() > 1e-3


@pytest.mark.parametrize("kind", ["label-graph", "prototypes"])
def test_heads_that_are_linear_once_learned(kind: str, tmp_path: Path) -> None:
    own = {"kind": "prototypes", "scores": "rows"} if kind == "prototypes" else {"kind": kind}
    learner = taught(untrained_vit(dim=32), head=own)
    to_huggingface(learner, tmp_path / "out")
    found, expected = run_folder(tmp_path / "out", images()), learner.probabilities(images())
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


def test_the_folder(tmp_path: Path) -> None:
    learner = taught(untrained_vit(dim=32), predictor="regions")
    exported = to_huggingface(learner, tmp_path / "out")
    config = json.loads((tmp_path / "out" / "config.json").read_text(encoding="utf-8"))
    assert config["architectures"] == ["ViTForImageClassification"]
    assert config["problem_type"] == "multi_label_classification"
    assert config["id2label"] == {str(number): name for number, name in enumerate(NAMES)}
    assert config["label2id"] == {name: number for number, name in enumerate(NAMES)}
    tensors = load_file(tmp_path / "out" / "model.safetensors")
    assert tensors["classifier.weight"].shape == (3, 32)
    assert {tensor.dtype for tensor in tensors.values()} == {torch.float32}
    modes = {oct(file.stat().st_mode & 0o777) for file in (tmp_path / "out").iterdir()}
    assert len(modes) == 1, "weights can be read by whoever reads the rest"
    assert exported.files["model.safetensors"] == (tmp_path / "out" / "model.safetensors").stat().st_size

    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "| dog \\| wolf | 6 |" in card
    assert "Images learned: 36" in card
    assert "fitted on 7 images" in card
    assert "looks at whole images alone" in card
    assert "top_k=3" in card
    assert "{" not in card


def test_where_things_lay_is_not_told(tmp_path: Path, backbone_folder: Path) -> None:
    to_huggingface(taught(str(backbone_folder)), tmp_path / "out")
    for file in (tmp_path / "out").glob("*[!s]"):
        assert str(backbone_folder.parent).encode() not in file.read_bytes(), file.name
    assert backbone_folder.name in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")


REFUSED = [
    (lambda: tiny("dinov3_vit"), {}, r"no image classifier of type 'dinov3_vit'.*--to onnx"),
    (lambda: "toybox", {}, r"no image classifier of type 'vit_conv_stem', which toybox is.*--to onnx"),
    (lambda: with_patch_mean(tiny("vit")), {}, r"ViTForImageClassification reads the class token.*patch mean.*onnx"),
    (lambda: tiny("vit"), {"kind": "class-attention"}, r"'class-attention' is not a linear layer.*--to onnx"),
    (lambda: tiny("vit"), {"kind": "prototypes"}, r"'prototypes' is not a linear layer.*--to onnx"),
]


@pytest.mark.parametrize(("backbone", "head", "message"), REFUSED)
def test_what_cannot_be_exact_is_refused(backbone: Any, head: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        to_huggingface(taught(backbone(), head=head), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_every_family_is_exported_or_refused() -> None:
    refused = {"dinov3_vit", "vit_conv_stem", "vit_mae"}
    assert {*CLASSIFIERS} | refused == {*FAMILIES}
    assert {*HEADS} == {"linear", "prototypes", "label-graph", "class-attention"}


def test_a_wrong_folder_is_not_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learner = taught(untrained_vit(dim=32))
    monkeypatch.setattr(huggingface, "run_folder", lambda folder, pixels: torch.zeros(len(pixels), 3))
    with pytest.raises(CuterError, match="differs from the learner"):
        to_huggingface(learner, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
