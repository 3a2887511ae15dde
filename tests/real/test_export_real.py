"""Real photos: what is exported from a pre-trained transformer says what the learner says."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

from cuter.export import to_huggingface, to_onnx
from cuter.export.huggingface import run_folder
from cuter.learn.learner import Learner
from cuter.stream.batch import Batch
from cuter.stream.images import read_images
from cuter.stream.samples import Dataset, Sample, pick
from export.test_huggingface import ask_pipelines


def batch_of(samples: list[Sample], classes: tuple[str, ...]) -> Batch:
    images = read_images([sample.path for sample in samples], 224)
    return Batch.of(images, [sorted(sample.labels) for sample in samples], known=classes)


@pytest.fixture(scope="module")
def learner(shared: Path, voc: Dataset) -> Learner:
    backbone = str(shared / "weights" / "vit-tiny-patch16-224")
    learner = Learner.create("rs", backbone=backbone, device="cpu", memory={"images": 20}, head={"lr": 1e-2})
    samples = pick(voc.train, 60)
    for start in range(0, len(samples), 12):
        learner.observe(batch_of(samples[start : start + 12], voc.classes))
    learner.calibrate(batch_of(pick(voc.train, 30, seed=1), voc.classes))
    return learner


def test_a_pipeline_reads_files_as_the_learner_does(
    learner: Learner, voc: Dataset, shared: Path, tmp_path: Path
) -> None:
    photos = [sample.path for sample in pick(voc.test, 50)]
    larger = sorted((shared / "data" / "coco" / "val2014").glob("*.jpg"))[:20]  # not of the size that is looked at
    assert larger
    exported = to_huggingface(learner, tmp_path / "out", check=batch_of(pick(voc.test, 50), voc.classes))
    assert exported.largest_difference < 1e-5
    assert exported.facts["check"]["map"] == pytest.approx(exported.facts["check"]["map_of_the_learner"])
    [rows] = ask_pipelines([*photos, *larger], [tmp_path / "out"])
    differences = [
        abs(expected[name] - row[name])
        for expected, row in zip(learner.predict([*photos, *larger]), rows, strict=True)
        for name in expected
    ]
    assert max(differences) < 1e-4
    pixels = read_images(photos, 224)
    torch.testing.assert_close(run_folder(tmp_path / "out", pixels), learner.probabilities(pixels), atol=1e-5, rtol=0)


def test_onnxruntime_on_fifty_photos(learner: Learner, voc: Dataset, tmp_path: Path) -> None:
    check = batch_of(pick(voc.test, 50), voc.classes)
    exported = to_onnx(learner, tmp_path / "out", int8=True, check=check)
    assert exported.largest_difference < 1e-4
    assert exported.files["model.int8.onnx"] < 0.6 * exported.files["model.onnx"]
    assert exported.facts["check_int8"]["map"] > exported.facts["check"]["map"] - 3
    session = onnxruntime.InferenceSession(tmp_path / "out" / "model.onnx", providers=["CPUExecutionProvider"])
    answer = session.run(None, {"images": check.images.numpy()})[0]
    np.testing.assert_allclose(answer, learner.probabilities(check.images).numpy(), atol=1e-4)
