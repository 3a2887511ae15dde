"""A real stream with a pre-trained transformer, end to end, on a few hundred photos."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from cuter import Learner
from cuter.models.evaluating import evaluate
from cuter.runs.config import RunConfig
from cuter.runs.record import Line, read_metrics
from cuter.runs.run import start
from cuter.show.run_display import RunDisplay
from cuter.stream.loading import load_batches
from cuter.stream.samples import Dataset, pick
from cuter.stream.tasks import StreamSample

Learned = tuple[dict[str, Any], list[Line]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the run is."""
    return tmp_path_factory.mktemp("real") / "run"


@pytest.fixture(scope="module")
def learned(shared: Path, folder: Path) -> Learned:
    """The summary of a run, and what it noted after each task."""
    config = RunConfig(
        method="cuter",
        dataset="voc",
        data_root=shared / "data" / "VOCdevkit",
        backbone=str(shared / "weights" / "vit-tiny-patch16-224"),
        tasks="aeroplane,boat;bicycle,cat",
        limit_train=400,
        limit_test=120,
        memory={"images": 30},
        probe_images=32,
        device="cpu",
    )
    summary = start(config, folder, RunDisplay(Console(file=io.StringIO())))
    return summary, [line for line in read_metrics(folder / "metrics.jsonl") if "test" in line]


def test_a_pretrained_transformer_learns_real_photos(learned: Learned) -> None:
    summary, _ = learned
    first, second = summary["tasks"]
    assert first["scores"]["map"] > 80, "chance is about 50"
    assert second["scores"]["map"] > 60, "chance is about 25"
    assert summary["skipped"] == {}


def test_memory_holds_what_its_labels_say(learned: Learned) -> None:
    summary, tests = learned
    assert tests[-1]["purity"] > 0.85, "cut-outs as such are some 80 % pure"
    held = tests[-1]["classes"].values()
    assert max(held) < 2 * min(held), "four classes of different frequency are held alike"
    assert summary["memory_items"] > 33, "cut-outs are smaller than the 30 images that would fit"
    assert tests[-1]["localisation"]["corloc"] > 0.3


def test_photos_held_back_calibrate_what_is_said_of_others(learned: Learned, folder: Path, voc: Dataset) -> None:
    summary, _ = learned
    learner = Learner.load(folder, device="cpu")
    tested = [sample for sample in pick(voc.test, 120) if sample.labels & set(learner.labels)]
    before = evaluate(learner, tested, classes=voc.classes)
    assert before["map"] == pytest.approx(summary["last"]["map"]), "the same images as in the last test of the run"
    assert before["ece"] < before["ece_raw"] / 2
    seen = {sample.id for sample in pick(voc.train, 400)}
    held_back = [sample for sample in voc.train if sample.id not in seen][:100]
    visits = [[StreamSample(sample, frozenset(learner.labels)) for sample in held_back]]
    learner.calibrate(next(load_batches(visits, learner.labels.names, 224, workers=0)).batch)
    fitted = evaluate(learner, tested, classes=voc.classes)
    assert fitted["map"] == before["map"]
    assert fitted["ece"] < 10
    assert fitted["brier"] < before["brier_raw"]
