from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuter.errors import ConfigError
from cuter.stream.samples import Sample
from cuter.stream.tasks import in_batches, make_tasks, order_classes, plan_stream, with_all_before

NAMES = [f"class {letter}" for letter in "dacbefghij"]


def sample(number: int, *labels: str, known: frozenset[str] | None = None) -> Sample:
    return Sample(str(number), Path(f"{number}.jpg"), frozenset(labels), known)


samples_of = st.lists(st.sets(st.sampled_from(NAMES), min_size=1, max_size=4), max_size=40).map(
    lambda rows: [sample(number, *row) for number, row in enumerate(rows)]
)


def test_sizes() -> None:
    assert [task.classes for task in make_tasks("5x2", NAMES)][:2] == [("class a", "class b"), ("class c", "class d")]
    assert [len(task.classes) for task in make_tasks("4+3x2", NAMES)] == [4, 2, 2, 2]
    assert [len(task.classes) for task in make_tasks("10", NAMES)] == [10]
    assert make_tasks("5×2", NAMES) == make_tasks("5x2", NAMES)
    nus = [str(number) for number in range(81)]
    assert [len(task.classes) for task in make_tasks("11+7x10", nus)] == [11, *[10] * 7]


def test_explicit_lists() -> None:
    assert [task.classes for task in make_tasks("class c, class a; class b", NAMES)] == [
        ("class c", "class a"),
        ("class b",),
    ]
    assert make_tasks([["class c"], ["class a"]], NAMES)[1].classes == ("class a",)
    with pytest.raises(ConfigError, match="class_order 3 has no meaning"):
        make_tasks("class c;class a", NAMES, order=3)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("5x4", "asks for 20 classes in 5 tasks, but there are 10"),
        ("0x4", "0 classes"),
        ("999999999x1", "asks for 999999999 classes in 999999999 tasks"),
        ("1" * 5000, "has a number of more than 9 digits"),
        ("class a;class a", "appears twice"),
        ("class a,clas b", "unknown class 'clas b'. Did you mean 'class b'"),
        ("5y4", "'11\\+7x10', or explicit lists"),
        ([["class a"], []], "a task has no class"),
        ("class a;", "a task has no class"),
    ],
)
def test_wrong_tasks_are_told(spec: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_tasks(spec, NAMES)


def test_order_by_name_seed_and_file(tmp_path: Path) -> None:
    assert order_classes(NAMES) == sorted(NAMES)
    by_seed = order_classes(NAMES, 3)
    assert by_seed == order_classes(list(reversed(NAMES)), "3"), "the order of arrival must not matter"
    assert by_seed not in (order_classes(NAMES, 4), sorted(NAMES))
    file = tmp_path / "order.txt"
    file.write_text("\n".join(reversed(NAMES)) + "\n\n")
    assert order_classes(NAMES, str(file)) == list(reversed(NAMES))
    file.write_text("class z\n")
    with pytest.raises(ConfigError, match=r"order.txt: unknown class 'class z'"):
        order_classes(NAMES, str(file))
    file.write_text("\n".join(NAMES[1:]))
    with pytest.raises(ConfigError, match="leaves out 1 classes: class d"):
        order_classes(NAMES, str(file))
    file.write_bytes("\n".join([*NAMES[1:], "class \xe9"]).encode("latin-1"))
    with pytest.raises(ConfigError, match="not UTF-8"):
        order_classes(NAMES, str(file))
    file.write_text("\ufeff" + "\n".join(NAMES), encoding="utf-8")
    assert order_classes(NAMES, str(file)) == NAMES
    with pytest.raises(ConfigError, match="no such file"):
        order_classes(NAMES, "nowhere.txt")


@given(samples_of, st.integers(0, 5))
def test_an_image_recurs_in_each_task_that_has_one_of_its_classes(samples: list[Sample], seed: int) -> None:
    tasks = make_tasks("5x2", NAMES)
    plan = plan_stream(samples, tasks, seed)
    for task, visits in zip(tasks, plan, strict=True):
        classes = frozenset(task.classes)
        assert sorted(v.sample.id for v in visits) == sorted(s.id for s in samples if s.labels & classes)
        assert all(v.known == classes and v.labels == v.sample.labels & classes for v in visits)


@given(samples_of, st.floats(0, 0.99), st.integers(0, 5))
def test_blurring_moves_visits_to_neighbours_only_and_keeps_their_labels(
    samples: list[Sample], share: float, seed: int
) -> None:
    tasks = make_tasks("5x2", NAMES)
    sharp, blurred = plan_stream(samples, tasks, seed), plan_stream(samples, tasks, seed, share)

    def key(plan: list) -> Counter[tuple[str, frozenset[str]]]:
        return Counter((visit.sample.id, visit.known) for visits in plan for visit in visits)

    assert key(sharp) == key(blurred), "nothing may be lost, doubled or relabelled"
    home = {frozenset(task.classes): index for index, task in enumerate(tasks)}
    moved = Counter(home[v.known] for index, visits in enumerate(blurred) for v in visits if home[v.known] != index)
    assert all(abs(home[v.known] - index) <= 1 for index, visits in enumerate(blurred) for v in visits)
    assert all(moved[index] == round(share * len(visits)) for index, visits in enumerate(sharp))


@given(samples_of, st.integers(0, 5), st.integers(1, 3))
def test_joint_learning_shows_all_images_and_labels_so_far_in_every_pass(
    samples: list[Sample], seed: int, passes: int
) -> None:
    tasks = make_tasks("5x2", NAMES)
    plan = plan_stream(samples, with_all_before(tasks), seed, passes=passes)
    for number, visits in enumerate(plan):
        seen = {name for task in tasks[: number + 1] for name in task.classes}
        expected = {one.id: one.labels & seen for one in samples if one.labels & seen}
        for start in range(0, len(visits), max(1, len(expected))):
            once = visits[start : start + len(expected)]
            assert {visit.sample.id: visit.labels for visit in once} == expected
        assert len(visits) == passes * len(expected)
        assert all(visit.known == seen for visit in visits)


def test_known_classes_of_a_sample_limit_what_a_visit_knows() -> None:
    samples = [sample(0, "class a", known=frozenset({"class a", "class j"}))]
    (first, *_rest) = plan_stream(samples, make_tasks("5x2", NAMES), seed=0)
    assert first[0].known == {"class a"}


def test_the_plan_depends_on_the_seed_alone() -> None:
    samples = [sample(number, NAMES[number % 10]) for number in range(200)]
    tasks = make_tasks("5x2", NAMES)
    assert plan_stream(samples, tasks, 1, 0.2) == plan_stream(samples, tasks, 1, 0.2)
    assert plan_stream(samples, tasks, 1) != plan_stream(samples, tasks, 2)
    with pytest.raises(ConfigError, match="blurry must be a share"):
        plan_stream(samples, tasks, 1, blurry=1.0)


@given(st.integers(0, 50), st.integers(1, 13))
def test_batches_hold_every_visit_once(count: int, size: int) -> None:
    visits = plan_stream([sample(n, "class a") for n in range(count)], make_tasks("10", NAMES), 0)[0]
    batches = in_batches(visits, size)
    assert [v for batch in batches for v in batch] == visits
    assert all(len(batch) == size for batch in batches[:-1])


@pytest.mark.parametrize("seed", [-1, 2**64, "9" * 5000])
def test_a_seed_of_the_order_has_bounds(seed: str | int) -> None:
    with pytest.raises(ConfigError, match="class_order must be a seed from 0 to 18446744073709551615, not"):
        order_classes(NAMES, seed)
