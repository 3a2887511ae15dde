"""ONNX: onnxruntime says what the learner says, for every head and every family of encoders."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from backbone.test_backbone import tiny, tiny_resnet
from cuter.backbone import Backbone, untrained_vit
from cuter.backbone.families import FAMILIES, PATCH_MEAN
from cuter.errors import BatchError, ConfigError, CuterError
from cuter.export import onnx_model, to_onnx
from cuter.export.portable import PortableModel
from cuter.learn.heads import HEADS
from cuter.learn.learner import Learner
from cuter.stream.batch import Batch
from cuter.stream.images import read_images
from export.taught import NAMES, images, taught
from test_docs import python_blocks

# Writing one takes seconds, so that each head is tried with one family; every way to predict is there once.
PAIRS: list[tuple[str, dict[str, Any]]] = [
    ("vit", {"kind": "linear"}),
    ("vit_mae", {"kind": "prototypes", "scores": "rows"}),
    ("deit", {"kind": "prototypes", "scores": "means"}),
    ("dinov2", {"kind": "class-attention", "tokens": "by-task"}),
    ("dinov2_with_registers", {"kind": "class-attention", "tokens": "by-class"}),
    ("dinov3_vit", {"kind": "label-graph", "nodes": "labels"}),
    ("vit_conv_stem", {"kind": "label-graph", "nodes": "images"}),
    ("resnet", {"kind": "linear"}),
]


def of_family(model_type: str) -> Backbone:
    if model_type == "resnet":
        return tiny_resnet()
    if model_type == "vit_mae":
        backbone = untrained_vit(dim=32)
        backbone.pooling = PATCH_MEAN
        return backbone
    return tiny(model_type)


def ask(file: Path, pixels: torch.Tensor) -> np.ndarray:
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    return session.run(None, {"images": pixels.numpy()})[0]


@pytest.mark.parametrize(("model_type", "head"), PAIRS, ids=lambda value: value if isinstance(value, str) else None)
def test_onnxruntime_says_what_the_learner_says(model_type: str, head: dict[str, Any], tmp_path: Path) -> None:
    learner = taught(of_family(model_type), head=head)
    exported = to_onnx(learner, tmp_path / "out")
    for count in (1, 5):  # any number of images
        pixels = images(count, seed=9)
        expected = learner.probabilities(pixels).numpy()
        np.testing.assert_allclose(ask(tmp_path / "out" / "model.onnx", pixels), expected, atol=1e-5)
        assert expected.std() > 1e-3, "a learner that says the same of everything shows nothing"
    assert exported.largest_difference < 1e-5
    assert exported.facts["check"]["images"] == 50


def test_every_head_and_family_is_tried() -> None:
    assert {head["kind"] for _, head in PAIRS} == {*HEADS}
    assert {model_type for model_type, _ in PAIRS} == {*FAMILIES}


@pytest.fixture(scope="module")
def learner() -> Learner:
    return taught("toybox", predictor="regions")


@pytest.fixture(scope="module")
def folder(learner: Learner, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export with everything, checked on labelled images of another size."""
    place = tmp_path_factory.mktemp("onnx") / "out"
    check = Batch.of(images(8, 64, seed=3), [["cat"], ["cow"], ["cat"], [], [], [], ["cat"], []], known=["cat", "cow"])
    to_onnx(learner, place, int8=True, check=check)
    return place


def test_the_file_holds_to_the_standard_and_says_its_opset(folder: Path) -> None:
    model = onnx.load(folder / "model.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert [(one.domain, one.version) for one in model.opset_import] == [("", 20)]
    shape = model.graph.input[0].type.tensor_type.shape.dim
    assert [one.dim_param or one.dim_value for one in shape] == ["batch", 3, 128, 128]


def test_what_is_beside_the_file(folder: Path, learner: Learner) -> None:
    facts = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    assert facts["labels"] == list(NAMES)
    assert facts["threshold"] == 0.5
    assert facts["image_size"] == learner.backbone.image_size
    assert facts["opset"] == 20
    assert facts["preprocessing"]["resize"]["height"] == learner.backbone.image_size
    assert facts["label_counts"] == {"cat": 9, "dog | wolf": 6, "naïve 猫": 6}
    assert facts["images_learned"] == 36
    assert facts["files"] == ["model.int8.onnx", "model.json", "model.onnx"]
    assert any("whole images alone" in note for note in facts["notes"])
    assert facts["check"]["images"] == 8
    assert facts["check"]["map"] == pytest.approx(facts["check"]["map_of_the_learner"], abs=1e-3)


def test_eight_bits_are_smaller_and_close(folder: Path, learner: Learner) -> None:
    sizes = [(folder / name).stat().st_size for name in ("model.int8.onnx", "model.onnx")]
    assert sizes[0] < 0.7 * sizes[1], "the stem of convolutions stays as it is, and what follows a GELU"
    found = json.loads((folder / "model.json").read_text(encoding="utf-8"))["check_int8"]
    assert 0 < found["largest_difference"] < 0.2
    assert found["map"] is not None
    assert ask(folder / "model.int8.onnx", images(2, 128)).shape == (2, 3)


def test_the_learner_stays_as_it_was() -> None:
    learner = taught(untrained_vit(dim=32, features="values"), precision="bfloat16")
    before = learner.backbone.describe()
    PortableModel(learner)
    assert learner.backbone.describe() == before
    assert learner.backbone.precision == "bfloat16"
    assert learner.model.training
    assert all(parameter.requires_grad for parameter in learner.model.head.parameters())


def test_bfloat16_is_for_learning_the_file_has_float32(tmp_path: Path) -> None:
    learner = taught(untrained_vit(dim=32), precision="bfloat16")
    to_onnx(learner, tmp_path / "out")
    learner.backbone.precision = "float32"
    expected = learner.probabilities(images()).numpy()
    np.testing.assert_allclose(ask(tmp_path / "out" / "model.onnx", images()), expected, atol=1e-5)


def test_scores_at_the_edge_of_what_a_learner_holds(tmp_path: Path) -> None:
    learner = taught(untrained_vit(dim=32))
    with torch.no_grad():
        learner.model.head.biases[0].copy_(torch.tensor([40.0, -40.0]))
    to_onnx(learner, tmp_path / "out")
    expected = learner.probabilities(images()).numpy()
    np.testing.assert_allclose(ask(tmp_path / "out" / "model.onnx", images()), expected, atol=1e-5)


def test_a_wrong_file_is_not_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learner, right = taught(untrained_vit(dim=32)), onnx_model.run_onnx
    monkeypatch.setattr(onnx_model, "run_onnx", lambda *arguments: right(*arguments) + 0.002)
    with pytest.raises(CuterError, match=r"differs from the learner by 0\.002.*0\.001 is accepted"):
        to_onnx(learner, tmp_path / "out")
    monkeypatch.setattr(onnx_model, "run_onnx", lambda *arguments: right(*arguments) * float("nan"))
    with pytest.raises(CuterError, match="differs from the learner by nan"):
        to_onnx(learner, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_what_is_refused_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    with pytest.raises(ConfigError, match="knows no class yet"):
        to_onnx(Learner.create(backbone="toybox", device="cpu"), out)
    with pytest.raises(ConfigError, match=r"tiny resnet is a CNN.*drop --int8"):
        to_onnx(taught(tiny_resnet()), out, int8=True)
    learner = taught(untrained_vit(dim=32))
    with pytest.raises(BatchError, match="no image to check"):
        to_onnx(learner, out, check=Batch.of(torch.empty(0, 3, 8, 8, dtype=torch.uint8), []))
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ConfigError, match=r"needs onnxruntime .*pip install 'cuter\[onnx\]'"):
        to_onnx(learner, out)
    assert list(tmp_path.iterdir()) == []


def test_a_head_that_onnx_cannot_express_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learner = taught(untrained_vit(dim=32))

    def no_onnx(features: Any) -> torch.Tensor:
        return torch.linalg.eigvals(features.embedding[:, :9].reshape(-1, 3, 3)).real

    monkeypatch.setattr(type(learner.model.head), "predict_logits", lambda _, features: no_onnx(features))
    with pytest.raises(ConfigError, match=r"the head 'linear' on untrained-vit cannot be written as ONNX \(opset 20\)"):
        to_onnx(learner, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


BLOCKED = """
import subprocess
import sys

class Blocked:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in ("cuter", "torch", "transformers"):
            raise ImportError(name)

sys.meta_path.insert(0, Blocked())
"""


def test_the_script_of_the_guide(folder: Path, learner: Learner, shapes: Path, tmp_path: Path) -> None:
    """It tags a photo with onnxruntime, Pillow and NumPy alone."""
    [script] = [block for block in python_blocks("docs/how-to/export.md") if "onnxruntime" in block]
    assert len(script.splitlines()) <= 22
    photo = next((shapes / "images").iterdir())
    (tmp_path / "tag.py").write_text(BLOCKED + script, encoding="utf-8")
    command = [sys.executable, "tag.py", str(folder), str(photo)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    told = {line[9:]: float(line[:6]) for line in done.stdout.splitlines()}
    pixels = read_images([photo], learner.backbone.image_size)
    expected = PortableModel(learner).probabilities(pixels)[0].tolist()
    assert told == pytest.approx(dict(zip(NAMES, expected, strict=True)), abs=1e-4)
    assert list(told.values()) == sorted(told.values(), reverse=True)
