"""The protocol on a run small enough to be computed by hand."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cuter.errors import BatchError, CheckpointError
from cuter.measure.metrics import FIGURES, Scores
from cuter.measure.protocol import Summary, TaskResult, seen_samples
from cuter.stream.samples import Sample


def result(task, figure, **ap):
    scores = Scores(dict.fromkeys(FIGURES, figure), tuple(ap.values()))
    return TaskResult(task, f"task {task + 1}", tuple(ap), scores, images=10 * (task + 1))


def three_tasks():
    return [
        result(0, 90.0, cat=80.0, dog=60.0),
        result(1, 60.0, cat=85.0, dog=50.0, bus=None, car=70.0),
        result(2, 45.0, cat=55.0, dog=65.0, bus=40.0, car=None, tree=30.0),
    ]


def test_average_and_last():
    summary = Summary.of(three_tasks())
    assert summary.average == dict.fromkeys(FIGURES, 65.0)
    assert summary.last == dict.fromkeys(FIGURES, 45.0)


def test_average_leaves_out_tasks_that_had_nothing_to_measure():
    assert Summary.of([result(0, None, cat=None), result(1, 40.0, cat=40.0)]).average["map"] == 40.0
    assert Summary.of([result(0, None, cat=None)]).average["map"] is None


def test_forgetting_is_best_earlier_minus_last():
    summary = Summary.of(three_tasks())
    # bus has no earlier AP, car no last one, tree came with the final task; dog got better.
    assert summary.forgetting == {"cat": 30.0, "dog": -5.0, "bus": None, "car": None, "tree": None}
    assert summary.mean_forgetting == 12.5


def test_one_task_forgets_nothing():
    summary = Summary.of(three_tasks()[:1])
    assert summary.forgetting == {"cat": None, "dog": None}
    assert summary.mean_forgetting is None


def test_classes_are_matched_by_name_not_by_column():
    summary = Summary.of([result(0, 0.0, cat=80.0, dog=60.0), result(1, 0.0, dog=50.0, cat=75.0)])
    assert summary.forgetting == {"dog": 10.0, "cat": 5.0}


def test_json_round_trip_lets_a_resumed_run_go_on():
    first, second, third = three_tasks()
    reloaded = [TaskResult.from_dict(json.loads(json.dumps(r.as_dict()))) for r in (first, second)]
    resumed, whole = Summary.of([*reloaded, third]), Summary.of([first, second, third])
    assert resumed == whole
    saved = json.loads(json.dumps(whole.as_dict(), allow_nan=False))
    assert list(saved) == ["average", "last", "mean_forgetting", "forgetting", "tasks"]
    assert Summary.from_dict(saved) == whole


def test_damaged_results_are_refused():
    saved = three_tasks()[0].as_dict()
    del saved["images"]
    with pytest.raises(CheckpointError, match="a saved task result lacks 'images'"):
        TaskResult.from_dict(saved)
    with pytest.raises(CheckpointError, match="lacks 'tasks'"):
        Summary.from_dict({})


@pytest.mark.parametrize("order", [[], [1, 2], [0, 2], [0, 0, 1], [1, 0]])
def test_a_summary_needs_every_task_once_and_in_order(order):
    tasks = three_tasks()
    with pytest.raises(BatchError, match="in order, not"):
        Summary.of([tasks[index] for index in order])


def test_a_later_result_may_not_leave_out_a_class():
    with pytest.raises(BatchError, match="class 'dog' was seen in task 'task 1'"):
        Summary.of([result(0, 0.0, cat=1.0, dog=1.0), result(1, 0.0, cat=1.0)])


def test_classes_must_match_the_columns():
    with pytest.raises(BatchError, match="names 1 classes, but its scores have 2 columns"):
        TaskResult(0, "first", ("cat",), Scores(dict.fromkeys(FIGURES), (1.0, 2.0)), 5)


def test_seen_samples_have_a_seen_class():
    samples = [
        Sample(id="a", path=Path("a"), labels=frozenset({"cat", "bus"})),
        Sample(id="b", path=Path("b"), labels=frozenset({"bus"})),
        Sample(id="c", path=Path("c"), labels=frozenset()),
        Sample(id="d", path=Path("d"), labels=frozenset({"dog"})),
    ]
    assert [s.id for s in seen_samples(samples, ["cat", "dog"])] == ["a", "d"]
    assert seen_samples(samples, []) == []


def test_the_same_run_with_regions():
    tasks = three_tasks()
    assert Summary.of(tasks).with_regions is None
    better = [replace(one, region_scores=replace(one.scores, figures=dict.fromkeys(FIGURES, 99.0))) for one in tasks]
    summary = Summary.of(better)
    assert summary.with_regions.average == dict.fromkeys(FIGURES, 99.0)
    assert summary.average == Summary.of(tasks).average
    saved = json.loads(json.dumps(summary.as_dict()))
    assert saved["regions"] == {"average": dict.fromkeys(FIGURES, 99.0), "last": dict.fromkeys(FIGURES, 99.0)}
    assert Summary.from_dict(saved) == summary
    assert Summary.of([tasks[0], *better[1:]]).with_regions is None
