"""The index against a model that looks through all slots after every change."""

import copy
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cuter.memory.index import ClassIndex

labels = st.sets(st.integers(-1, 5), min_size=1, max_size=4)
changes = st.lists(st.tuples(st.sampled_from(["add", "add", "remove", "move"]), st.integers(0, 10**6), labels))


def apply(index: ClassIndex, model: dict[int, set[int]], change: tuple[str, int, set[int]]) -> None:
    """Change the index and the model in the same way; numbers of slots need not be dense."""
    kind, number, some = change
    free = max(model, default=-1) + 1
    slot = sorted(model)[number % len(model)] if model else 0
    if kind == "add":
        index.add(free, some)
        model[free] = some
    elif model and kind == "remove":
        index.remove(slot)
        del model[slot]
    elif model:
        index.move(slot, free)
        model[free] = model.pop(slot)


def check(index: ClassIndex, model: dict[int, set[int]]) -> None:
    counts = Counter(label for some in model.values() for label in some)
    assert index.highest == max(counts.values(), default=0)
    assert len(index.classes) == len(counts)
    assert set(index.classes) == set(counts)
    in_order = [index.count(label) for label in index.classes]
    assert in_order == sorted(counts.values(), reverse=True)
    for label in range(-1, 6):
        assert index.count(label) == counts[label]
        if counts[label]:
            assert sorted(index.slots(label)) == sorted(slot for slot, some in model.items() if label in some)
    if counts:
        generator = torch.Generator().manual_seed(len(model))
        top = index.draw_most_frequent(generator)
        assert counts[top] == index.highest
        assert top in model[index.draw_slot(top, generator)]


@settings(max_examples=100)
@given(changes=changes)
def test_every_change_agrees_with_a_scan(changes: list[tuple[str, int, set[int]]]) -> None:
    index, model = ClassIndex(), {}
    for change in changes:
        apply(index, model, change)
        check(index, model)


@settings(max_examples=100)
@given(before=changes, after=changes)
def test_a_loaded_index_goes_on_exactly(
    before: list[tuple[str, int, set[int]]], after: list[tuple[str, int, set[int]]]
) -> None:
    index, model = ClassIndex(), {}
    for change in before:
        apply(index, model, change)
    loaded = ClassIndex()
    loaded.add(7, {3})  # what was there before is gone
    loaded.load_state_dict(index.state_dict())
    check(loaded, model)
    twin = copy.deepcopy(model)
    for change in after:
        apply(index, model, change)
        apply(loaded, twin, change)
    check(loaded, twin)
    for name, value in index.state_dict().items():
        assert torch.equal(value, loaded.state_dict()[name])


def test_a_state_does_not_change_with_the_index() -> None:
    index = ClassIndex()
    index.add(0, {1})
    state = index.state_dict()
    index.add(1, {1, 2})
    assert state["slots"].tolist() == [0]


def test_slots_and_most_frequent_classes_are_drawn_equally_often() -> None:
    index = ClassIndex()
    for slot in range(12):
        index.add(slot, {slot % 3, 9} if slot < 4 else {slot % 3})
    generator = torch.Generator().manual_seed(0)
    tops = Counter(index.draw_most_frequent(generator) for _ in range(3000))
    assert set(tops) == {0, 1, 2, 9}
    assert all(abs(count - 750) < 4.5 * (3000 * 3 / 16) ** 0.5 for count in tops.values())
    drawn = Counter(index.draw_slot(1, generator) for _ in range(3000))
    assert set(drawn) == {1, 4, 7, 10}
    assert all(abs(count - 750) < 4.5 * (3000 * 3 / 16) ** 0.5 for count in drawn.values())


def test_ten_thousand_classes() -> None:
    index = ClassIndex()
    for slot in range(30_000):
        index.add(slot, {slot % 10_000, slot * slot % 10_000})
    for slot in range(0, 30_000, 3):
        index.remove(slot)
    left = [{slot % 10_000, slot * slot % 10_000} for slot in range(30_000) if slot % 3]
    counts = Counter(label for some in left for label in some)
    assert index.highest == max(counts.values())
    assert {label: index.count(label) for label in index.classes} == counts


@pytest.mark.parametrize("label", [0, 12345])
def test_a_class_that_left_is_not_held(label: int) -> None:
    index = ClassIndex()
    index.add(0, {label})
    index.remove(0)
    assert list(index.classes) == []
    assert index.highest == index.count(label) == 0
