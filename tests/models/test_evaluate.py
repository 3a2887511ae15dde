"""An evaluation: its figures against the metrics themselves, what counts, what is named, what is refused."""

import doctest
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, precision_score, recall_score

from cuter import Batch, Learner, TaskStream, load_dataset
from cuter.errors import BatchError, ConfigError, DataError
from cuter.learn.calibration import Calibration
from cuter.measure.calibration import calibration_error
from cuter.measure.metrics import multilabel_scores
from cuter.models import evaluating as module
from cuter.models import evaluation, threshold_file
from cuter.models.evaluating import evaluate, evaluate_batches
from cuter.models.evaluation import FIGURES, MOST_MISTAKES, evaluate_scores
from cuter.models.threshold_file import read_thresholds
from cuter.stream.loading import load_batches
from cuter.stream.samples import Dataset, Sample
from cuter.stream.tasks import StreamSample, in_batches

NAMES = ("cat", "dog", "bird")


@pytest.fixture(scope="module")
def dataset(shapes: Path) -> Dataset:
    return load_dataset("folder", shapes)


@pytest.fixture(scope="module")
def learner(dataset: Dataset, backbone_folder: Path) -> Learner:
    """It has learned six of eight classes."""
    made = Learner.create("rs", backbone=backbone_folder, device="cpu", memory={"images": 10}, lr=1e-3)
    for task in list(TaskStream(dataset, "4x2", size=32))[:3]:
        for batch in task:
            made.observe(batch)
    return made


def drawn(images: int = 60, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    scores = torch.rand(images, len(NAMES), generator=generator)
    known = torch.rand(scores.shape, generator=generator) < 0.8
    labels = (torch.rand(scores.shape, generator=generator) < scores**2) & known
    return scores, labels, known


def test_figures_are_those_of_the_metrics() -> None:
    scores, labels, known = drawn()
    found = evaluate_scores(scores, labels, known, NAMES)
    assert set(found.figures) == set(FIGURES)
    papers = multilabel_scores(scores, labels, known)
    for figure in ("map", "cf1_mean@0.8", "cf1_harmonic@0.8", "of1@0.8"):
        assert found[figure] == papers[figure]
    probabilities = Calibration()(scores, NAMES)
    at_half = multilabel_scores(probabilities, labels, known)
    for figure in ("cf1_mean", "cf1_harmonic", "of1"):
        assert found[figure] == pytest.approx(at_half[f"{figure}@0.5"])
    assert found["map"] == pytest.approx(at_half["map"]), "calibration keeps the order"
    assert found["ece_raw"] == pytest.approx(100 * calibration_error(scores, labels, known))
    assert found["ece"] == pytest.approx(100 * calibration_error(probabilities, labels, known))
    assert [one.ap for one in found.classes] == list(papers.ap)
    assert sum(one.count for one in found.reliability) == int(known.sum())


def test_classes_against_scikit_learn_with_thresholds_of_their_own() -> None:
    scores, labels, known = drawn()
    thresholds = {"cat": 0.2, "bird": 0.9}
    found = evaluate_scores(scores, labels, known, NAMES, thresholds=thresholds)
    probabilities = Calibration()(scores, NAMES)
    for column, one in enumerate(found.classes):
        rows = known[:, column]
        assert one.threshold == thresholds.get(one.name, 0.5)
        truth, guess = labels[rows, column].numpy(), (probabilities[rows, column] > one.threshold).numpy()
        assert (one.known, one.positives) == (len(truth), truth.sum())
        for value, score in ((one.precision, precision_score), (one.recall, recall_score), (one.f1, f1_score)):
            assert value == pytest.approx(100 * score(truth, guess))
    assert found["cf1_mean"] == pytest.approx(np.mean([one.f1 for one in found.classes]))


def test_the_worst_mistakes_are_mistakes_in_order() -> None:
    scores, labels, known = drawn(200)
    found = evaluate_scores(scores, labels, known, NAMES, ids=[f"{row}.jpg" for row in range(200)])
    probabilities = Calibration()(scores, NAMES)
    wrong = torch.where(known & ~labels & (probabilities > 0.5), probabilities, -1).amax(dim=1)
    missed = torch.where(labels & (probabilities <= 0.5), probabilities, 2).amin(dim=1)
    highest, lowest = wrong.topk(MOST_MISTAKES).values, missed.topk(MOST_MISTAKES, largest=False).values
    assert [one.probability for one in found.false_positives] == pytest.approx(highest.tolist())
    assert [one.probability for one in found.missed] == pytest.approx(lowest.tolist())
    for one, is_there in [*((one, False) for one in found.false_positives), *((one, True) for one in found.missed)]:
        row = int(one.id.removesuffix(".jpg"))
        assert labels[row, NAMES.index(one.label)] == is_there
        assert one.labels == tuple(name for column, name in enumerate(NAMES) if labels[row, column])
    assert len({one.id for one in found.missed}) == MOST_MISTAKES


def test_of_what_is_right_there_is_no_mistake() -> None:
    labels = torch.eye(3).bool()
    found = evaluate_scores(labels.float(), labels, torch.ones_like(labels), NAMES)
    assert (found.false_positives, found.missed) == ((), ())
    assert found["ece"] == pytest.approx(0, abs=1e-3)


@given(st.integers(0, 1000))
def test_unknown_labels_change_nothing(seed: int) -> None:
    scores, labels, known = drawn(12, seed)
    wild = torch.where(known, scores, 1 - scores)
    assert evaluate_scores(scores, labels, known, NAMES) == evaluate_scores(wild, labels ^ ~known, known, NAMES)


def test_what_nobody_looked_for_is_left_out() -> None:
    scores, labels, known = drawn()
    known[:, 1] = False
    known[5] = False
    found = evaluate_scores(scores, labels & known, known, NAMES)
    assert ([one.name for one in found.classes], found.absent_classes) == (["cat", "bird"], ("dog",))
    assert found.images == int(known.any(dim=1).sum()) < 60
    without = evaluate_scores(scores[:, ::2], (labels & known)[:, ::2], known[:, ::2], NAMES[::2])
    assert found.figures == without.figures
    with pytest.raises(BatchError, match="no image has a label that somebody looked at"):
        evaluate_scores(scores, labels & False, known & False, NAMES)


def test_classes_that_one_side_does_not_have_are_named(learner: Learner, dataset: Dataset) -> None:
    found = evaluate(learner, dataset.test, classes=dataset.classes)
    assert set(found.unknown_classes) == set(dataset.classes) - set(learner.labels)
    assert len(found.unknown_classes) == 2
    assert found.absent_classes == ()
    assert {one.name for one in found.classes} == set(learner.labels)
    assert found.images == len(dataset.test), "images without a class of the learner count too"
    gone = learner.labels.names[0]
    fewer = [Sample(one.id, one.path, one.labels - {gone}) for one in dataset.test]
    assert evaluate(learner, fewer).absent_classes == (gone,)


def test_it_agrees_with_the_test_of_a_stream(learner: Learner, dataset: Dataset) -> None:
    task = list(TaskStream(dataset, "4x2", size=32))[2]
    seen = [one for one in dataset.test if one.labels & set(task.seen)]
    found, expected = evaluate(learner, seen, classes=dataset.classes), task.evaluate(learner)
    for figure in ("map", "cf1_mean@0.8", "of1@0.8"):
        assert found[figure] == pytest.approx(expected[figure])


def test_samples_batches_and_what_a_loader_gives_are_the_same(learner: Learner, dataset: Dataset) -> None:
    expected = evaluate(learner, dataset.test, classes=dataset.classes)
    visits = [StreamSample(sample, frozenset(dataset.classes)) for sample in dataset.test]
    loaded = list(load_batches(in_batches(visits, 64), dataset.classes, 32, workers=0))
    assert evaluate_batches(learner, loaded) == expected
    assert evaluate_batches(learner, (one.batch for one in loaded)) == expected


def test_labels_of_samples_that_are_partly_known(learner: Learner, dataset: Dataset) -> None:
    name = learner.labels.names[0]
    partly = [
        Sample(one.id, one.path, one.labels & {name}, known=frozenset({name})) if row % 2 else one
        for row, one in enumerate(dataset.test)
    ]
    found = {one.name: one for one in evaluate(learner, partly, classes=dataset.classes).classes}
    assert found[name].known == len(partly)
    assert {one.known for one in found.values()} == {len(partly), (len(partly) + 1) // 2}


def test_regions_give_other_scores(learner: Learner, dataset: Dataset) -> None:
    some = dataset.test[:8]
    visits = [[StreamSample(one, frozenset(learner.labels)) for one in some]]
    batch = next(iter(load_batches(visits, dataset.classes, 32, workers=0))).batch
    joined = learner.region_scores(batch.images).joined
    found = evaluate(learner, some, classes=dataset.classes, regions=True)
    columns = [dataset.classes.index(name) for name in learner.labels]
    expected = multilabel_scores(joined, batch.labels[:, columns], batch.known[:, columns])
    assert found["map"] == pytest.approx(expected["map"])


def test_the_calibration_of_the_learner_is_used(learner: Learner, dataset: Dataset) -> None:
    before = evaluate(learner, dataset.test)
    visits = [[StreamSample(sample, frozenset(learner.labels)) for sample in dataset.train]]
    held_back = next(iter(load_batches(visits, learner.labels.names, 32, workers=0))).batch
    kept = learner.calibration
    try:
        learner.calibrate(held_back)
        after = evaluate(learner, dataset.test)
    finally:
        learner.calibration = kept
    assert after["map"] == before["map"]
    assert after["ece_raw"] == before["ece_raw"]
    assert after["ece"] != before["ece"]


def test_unreadable_images_are_skipped_and_named(learner: Learner, dataset: Dataset, tmp_path: Path) -> None:
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"?")
    bad = Sample("bad", broken, frozenset(learner.labels.names[:1]))
    seen: list[tuple[int, int]] = []
    found = evaluate(learner, [*dataset.test, bad], progress=lambda done, total: seen.append((done, total)))
    assert [(one.id, one.path) for one in found.unreadable] == [("bad", str(broken))]
    assert found.images == len(dataset.test)
    assert seen[-1] == (len(dataset.test) + 1, len(dataset.test) + 1)
    assert found.figures == evaluate(learner, dataset.test).figures
    with pytest.raises(DataError, match=r"none of the 1 images is readable: .*broken\.png"):
        evaluate(learner, [bad])


def test_what_cannot_be_evaluated_is_refused(learner: Learner, dataset: Dataset) -> None:
    strange = [Sample(one.id, one.path, frozenset({"zebra"})) for one in dataset.test]
    with pytest.raises(BatchError, match=r"nobody looked for a class of the model \(circle, cross, diamond …\)"):
        evaluate(learner, strange)
    with pytest.raises(BatchError, match="nothing to evaluate"):
        evaluate_batches(learner, [])
    with pytest.raises(ConfigError, match=r"threshold for 'circle' must be a probability"):
        evaluate_batches(learner, (pytest.fail("looked at before") for _ in range(1)), thresholds={"circle": -1})
    with pytest.raises(ConfigError, match=r"threshold for 'circel', which the model does not know\. Did you mean"):
        evaluate(learner, dataset.test, thresholds={"circel": 0.5})
    with pytest.raises(ConfigError, match=r"threshold for 'circle' must be a probability from 0 to 1, not 1\.5"):
        evaluate(learner, dataset.test, thresholds={"circle": 1.5})
    with pytest.raises(BatchError):
        evaluate_scores(torch.zeros(2, 3), torch.zeros(2, 2).bool(), torch.ones(2, 3).bool(), NAMES)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[0.5]", "must be a JSON object of thresholds by class"),
        ('{"cat": "high"}', "the threshold for 'cat' must be a number from 0 to 1, not 'high'"),
        ('{"cat": true}', "must be a number from 0 to 1, not True"),
        ("{", "cannot be read as thresholds"),
    ],
)
def test_a_file_that_holds_no_thresholds(text: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "thresholds.json"
    with pytest.raises(ConfigError, match="cannot be read as thresholds"):
        read_thresholds(file)
    file.write_text(text)
    with pytest.raises(ConfigError, match=told):
        read_thresholds(file)


def test_a_batch_without_known_labels_of_ours_is_not_counted(learner: Learner) -> None:
    images = torch.zeros(2, 3, 32, 32, dtype=torch.uint8)
    known = [[learner.labels.names[0]], ["zebra"]]
    found = evaluate_batches(learner, [Batch.of(images, [[], []], known=known)])
    assert (found.images, found.unknown_classes) == (1, ("zebra",))
    assert found["map"] is None


@pytest.mark.parametrize("one", [module, evaluation, threshold_file], ids=lambda one: one.__name__)
def test_examples(one: object) -> None:
    assert doctest.testmod(one, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0  # type: ignore[arg-type]
