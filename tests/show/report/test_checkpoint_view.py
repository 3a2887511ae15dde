"""What the page shows of checkpoints: memory and test images."""

import base64
import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from cuter.learn import predictors
from cuter.learn.learner import Learner
from cuter.runs.record import read_record
from cuter.show.report.checkpoint_view import SIDE, memory_thumbnails, runs_to_show, view_checkpoint
from cuter.show.report.predictions import SHOWN, WITHIN, Guess, _prediction, predict_tests
from cuter.show.run_labels import named
from cuter.stream.samples import Sample
from cuter.stream.tasks import StreamSample
from made_up_runs import report_of, write_run


def decoded(uri: str) -> Image.Image:
    head, _, body = uri.partition(",")
    assert head == "data:image/jpeg;base64"
    return Image.open(io.BytesIO(base64.b64decode(body, validate=True)))


@pytest.mark.parametrize("method", [0, 1])
def test_thumbnails_show_what_memory_holds(real_runs: list[Path], method: int) -> None:
    learner = Learner.load(real_runs[method], device="cpu")
    names = learner.labels.names
    held = [tuple(names[column] for column in item.classes) for item in learner.memory.items]
    shown = memory_thumbnails(learner, most=6)
    assert len(shown) == 6
    assert len({(one.picture, one.labels) for one in shown}) == 6, "no item twice"
    for one in shown:
        assert one.labels in held
        assert all(name in one.alt for name in one.labels)
        image = decoded(one.picture)
        assert max(image.size) <= SIDE
        assert image.size == (one.width, one.height), "items that are small keep their size"
    classes = {name for labels in held for name in labels}
    covered = {name for one in shown for name in one.labels}
    assert len(covered) >= min(len(classes), 6), "spread over the classes"
    assert [one.picture for one in memory_thumbnails(Learner.load(real_runs[method], device="cpu"), most=6)] == [
        one.picture for one in shown
    ]


def test_all_of_a_small_memory_is_shown(real_runs: list[Path]) -> None:
    learner = Learner.load(real_runs[1], device="cpu")
    shown = memory_thumbnails(learner, most=10_000)
    assert len(shown) == len(learner.memory)
    boxes = [item.box for item in learner.memory.items]
    assert sum(one.is_cutout for one in shown) == sum(box is not None for box in boxes)
    assert sum(one.is_cutout for one in shown) > 0, "else this tests nothing"


def test_a_run_without_memory_still_shows_its_test_images(start_run: Any, tmp_path: Path) -> None:
    start_run(tmp_path / "run", method="rs", tasks="8", memory={"images": 0, "codec": "raw"}, replay={"size": 0})
    view = view_checkpoint(read_record(tmp_path / "run"), {})
    assert (view.thumbnails, view.items, view.no_memory) == ([], 0, "")
    assert len(view.predictions) == SHOWN
    page, _ = report_of([tmp_path / "run"], tmp_path / "page.html")
    assert page.notes == []
    assert not {"Which classes fill memory", "What memory holds"} & set(page.headings_of("h2"))


def visit(labels: set[str], known: set[str]) -> StreamSample:
    return StreamSample(Sample("7", Path("7.png"), frozenset(labels)), frozenset(known))


def test_labels_are_right_wrong_or_not_known() -> None:
    probabilities = {"ant": 0.95, "bee": 0.85, "cow": 0.99, "dog": 0.3, "eel": 0.81}
    seen = visit({"ant", "dog", "fox"}, {"ant", "bee", "dog", "eel", "fox"})
    regions = dict.fromkeys(probabilities, 0) | {"ant": 2}
    prediction = _prediction(seen, Image.new("RGB", (4, 3)), regions=1, probabilities=probabilities, seen_in=regions)
    assert [(guess.label, guess.verdict) for guess in prediction.guesses] == [
        ("cow", "not known"), ("ant", "right"), ("bee", "wrong"), ("eel", "wrong")
    ]  # fmt: skip
    assert [guess.region for guess in prediction.guesses] == [0, 2, 0, 0]
    assert prediction.missed == ("dog",)
    assert prediction.unlearned == ("fox",)
    assert prediction.likeliest is None
    assert prediction.alt == "test image with ant, dog, fox, 1 region cut out"
    scores = {"bee": 0.2, "ant": 0.4}
    unsure = _prediction(
        seen, Image.new("RGB", (4, 3)), regions=0, probabilities=scores, seen_in=dict.fromkeys(scores, 0)
    )
    assert unsure.guesses == ()
    assert unsure.likeliest == Guess("ant", 40.0, "right")
    assert unsure.alt.endswith("0 regions cut out")


def test_test_images_are_those_of_the_run(real_runs: list[Path], nasty_shapes: Path) -> None:
    known: dict[str, list[StreamSample]] = {}
    first, second = (view_checkpoint(read_record(folder), known) for folder in real_runs)
    assert len(known) == 1, "one data set is read once"
    (visits,) = known.values()
    assert [prediction.id for prediction in first.predictions] == [prediction.id for prediction in second.predictions]
    assert len(first.predictions) == SHOWN
    truth = {visit.sample.id: visit.labels for visit in visits}
    for prediction in (*first.predictions, *second.predictions):
        assert set(prediction.truth) == truth[prediction.id]
        image = decoded(prediction.picture)
        assert image.size == prediction.size
        assert image.width <= WITHIN[0]
        assert image.height <= WITHIN[1]


def test_unreadable_test_images_are_left_out(real_runs: list[Path], tmp_path: Path) -> None:
    Image.new("RGB", (40, 30), "red").save(tmp_path / "good.png")
    (tmp_path / "bad.png").write_text("no image")
    learner = Learner.load(real_runs[0], device="cpu")
    samples = [Sample(name, tmp_path / f"{name}.png", frozenset({"star"})) for name in ("good", "bad", "gone")]
    predictions = predict_tests(learner, [StreamSample(sample, frozenset({"star"})) for sample in samples])
    assert [prediction.id for prediction in predictions] == ["good"]
    assert predict_tests(learner, []) == []


def test_the_region_that_a_label_was_seen_in(start_run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the learner's own scores: where the region says more than the image, and where it was looked at."""
    monkeypatch.setattr(predictors, "UNDECIDED", 0.0)  # after so few steps no second score is high
    start_run(tmp_path / "run", method="rs", tasks="8", predictor="regions")
    facts = read_record(tmp_path / "run")
    known: dict[str, list[StreamSample]] = {}
    predictions = view_checkpoint(facts, known).predictions
    learner = Learner.load(tmp_path / "run", device="cpu")
    paths = {visit.sample.id: visit.sample.path for visit in next(iter(known.values()))}
    for prediction, found in zip(
        predictions, learner.predict([paths[prediction.id] for prediction in predictions], regions=True), strict=True
    ):
        for guess in [*prediction.guesses, *filter(None, [prediction.likeliest])]:
            assert guess.percent == pytest.approx(100 * found.probabilities[guess.label])
            assert bool(guess.region) == (found.boxes[guess.label] is not None)
    guesses = [
        guess for prediction in predictions for guess in [*prediction.guesses, *filter(None, [prediction.likeliest])]
    ]
    assert {0, 1} <= {guess.region for guess in guesses} <= {0, 1, 2}


def test_of_runs_that_differ_in_their_seed_one_is_shown(tmp_path: Path) -> None:
    for number, settings in enumerate(({"finished": False}, {"seed": 1}, {"seed": 2}, {"method": "cuter"})):
        write_run(tmp_path / str(number), **settings)  # type: ignore[arg-type]
    runs = named([read_record(tmp_path / str(number)) for number in range(4)])
    assert [run.label for run in runs_to_show(runs)] == ["rs, seed 1", "cuter, seed 0"]
