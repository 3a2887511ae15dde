"""Label sets against a model that looks through all slots after every change."""

from collections import Counter

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cuter.memory.label_sets import LabelSets

labels = st.sets(st.integers(0, 5), max_size=3).map(lambda some: tuple(sorted(some)) or (-1,))
changes = st.lists(st.tuples(st.sampled_from(["add", "add", "remove", "move"]), st.integers(0, 10**6), labels))


def apply(sets: LabelSets, model: dict[int, tuple[int, ...]], change: tuple[str, int, tuple[int, ...]]) -> None:
    kind, number, some = change
    free = max(model, default=-1) + 1
    slot = sorted(model)[number % len(model)] if model else 0
    if kind == "add":
        sets.add(free, some)
        model[free] = some
    elif model and kind == "remove":
        sets.remove(slot)
        del model[slot]
    elif model:
        sets.move(slot, free)
        model[free] = model.pop(slot)


def rows(sets: LabelSets) -> list[tuple[int, ...]]:
    """Read the matrix back: column 0 is for items without labels."""
    return [tuple((np.flatnonzero(row) - 1).tolist()) for row in sets.matrix]


@settings(max_examples=100)
@given(changes=changes)
def test_every_change_agrees_with_a_scan(changes: list[tuple[str, int, tuple[int, ...]]]) -> None:
    sets, model = LabelSets(), {}
    for change in changes:
        apply(sets, model, change)
        held = rows(sets)
        assert len(held) == len(set(held))
        assert set(held) == set(model.values())
        assert sorted(sets.slots()) == sorted(model)
        for label in {label for some in model.values() for label in some}:
            assert [held[row] for row in sets.rows_with(label)] == [some for some in held if label in some]


@settings(max_examples=50)
@given(before=changes, after=changes)
def test_slots_row_by_row_are_the_whole_state(
    before: list[tuple[str, int, tuple[int, ...]]], after: list[tuple[str, int, tuple[int, ...]]]
) -> None:
    sets, model = LabelSets(), {}
    for change in before:
        apply(sets, model, change)
    again, twin = LabelSets(), dict(model)
    for slot in sets.slots():
        again.add(slot, model[slot])
    for change in after:
        apply(sets, model, change)
        apply(again, twin, change)
    assert rows(sets) == rows(again)
    assert sets.slots() == again.slots()


def test_every_slot_of_some_rows_is_drawn_equally_often() -> None:
    sets = LabelSets()
    for slot, some in enumerate([(0,)] * 3 + [(1,)] * 5 + [(0, 1)] * 2):
        sets.add(slot, some)
    generator = torch.Generator().manual_seed(0)
    drawn = Counter(sets.draw([0, 2], generator) for _ in range(3000))
    assert set(drawn) == {0, 1, 2, 8, 9}
    assert all(abs(count - 600) < 4.5 * (3000 * 4 / 25) ** 0.5 for count in drawn.values())


def test_values_by_column() -> None:
    sets = LabelSets()
    sets.add(0, (-1,))
    sets.add(1, (2, 4))
    row = sets.by_column([4, -1], np.array([7.0, 3.0])).tolist()
    assert row[:6] == [3, 0, 0, 0, 0, 7]
    assert not any(row[6:]), "columns in reserve"
