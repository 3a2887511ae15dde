"""The command `cuter export`."""

import json
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from command import cuter
from cuter.export.huggingface import run_folder
from cuter.learn.learner import Learner
from cuter.learn.predictors import WholePredictor
from export.taught import images, taught


@pytest.fixture(scope="module")
def saved(backbone_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "tagger"
    taught(str(backbone_folder), predictor="regions").save(folder)
    return folder


def test_an_onnx_file(saved: Path, shapes: Path, tmp_path: Path) -> None:
    data = ["--dataset", "folder", "--data-root", shapes, "--images", 5]
    done = cuter("export", saved, "--to", "onnx", "--out", tmp_path / "out", "--int8", *data, "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["files"] == {file.name: file.stat().st_size for file in (tmp_path / "out").iterdir()}
    assert facts["opset"] == 20
    assert facts["check"]["images"] == 5
    assert facts["check"]["largest_difference"] < 1e-5 < facts["check_int8"]["largest_difference"]
    assert "whole images alone" in done.stderr
    assert f"The model is in {tmp_path / 'out'}" in done.stderr
    learner = Learner.load(saved, device="cpu")
    learner.predictor = WholePredictor(learner.model, learner.cut_settings)
    session = onnxruntime.InferenceSession(tmp_path / "out" / "model.onnx", providers=["CPUExecutionProvider"])
    answer = session.run(None, {"images": images().numpy()})[0]
    np.testing.assert_allclose(answer, learner.probabilities(images()).numpy(), atol=1e-5)


def test_a_hugging_face_folder_twice(saved: Path, tmp_path: Path) -> None:
    for _ in range(2):
        done = cuter("export", saved, "--to", "huggingface", "--out", tmp_path / "out")
        assert done.returncode == 0, done.stderr
        assert done.stdout == ""
    assert "the exported model: on 50 images a probability differs by" in done.stderr
    assert run_folder(tmp_path / "out", images()).shape == (6, 3)


def test_mistakes_end_with_1_and_damage_with_2(saved: Path, tmp_path: Path) -> None:
    out = ["--out", tmp_path / "out"]
    for arguments, message in [
        ([saved, "--to", "huggingface", "--int8", *out], "--int8 is for --to onnx"),
        ([saved, "--to", "onnx", "--data-root", tmp_path, *out], "name it with --dataset"),
        ([tmp_path / "nowhere", "--to", "onnx", *out], "there is no folder"),
        ([saved, "--to", "huggingface", "--out", saved], "choose another --out"),
        ([saved, "--to", "tflite", *out], "tflite"),
        ([saved, "--to", "onnx"], "--out"),
    ]:
        done = cuter("export", *arguments)
        assert done.returncode == 1, message
        assert message in done.stderr
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    for file in saved.iterdir():
        (damaged / file.name).write_bytes(file.read_bytes()[:-1])
    assert cuter("export", damaged, "--to", "onnx", *out).returncode == 2
    assert not (tmp_path / "out").exists()
    assert Learner.load(saved, device="cpu").images == 36
