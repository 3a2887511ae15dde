"""One battery for every memory policy: a new policy is covered the moment its file exists."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cuter.errors import CheckpointError, ConfigError
from cuter.memory import MEMORIES, Item, Memory
from cuter.storage import load_state, save_states

policies = pytest.mark.parametrize("policy", list(MEMORIES))

sizes = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), max_size=60)


def item(number: int, height: int = 4, width: int = 4, classes: int = 3) -> Item:
    generator = torch.Generator().manual_seed(number)
    labels = torch.zeros(classes, dtype=torch.bool)
    labels[number % classes] = True
    image = torch.randint(256, (3, height, width), dtype=torch.uint8, generator=generator)
    return Item(image, labels, torch.ones(classes, dtype=torch.bool), f"item {number}")


def make(policy: str, budget: int, seed: int = 0) -> Memory:
    return MEMORIES[policy](budget, torch.Generator().manual_seed(seed))


def content(memory: Memory) -> list[str]:
    return [kept.id for kept in memory.items]


@policies
@settings(max_examples=40, deadline=None)
@given(sizes=sizes, budget=st.integers(0, 300))
def test_the_budget_is_never_exceeded(policy: str, sizes: list[tuple[int, int]], budget: int) -> None:
    memory = make(policy, budget)
    for number, (height, width) in enumerate(sizes):
        memory.offer([item(number, height, width)])
        assert memory.pixels == sum(kept.image.shape[1] * kept.image.shape[2] for kept in memory.items)
        assert memory.pixels <= budget
        assert 0 <= memory.fill <= 1


@policies
def test_everything_enters_while_there_is_room(policy: str) -> None:
    memory = make(policy, budget=10 * 16)
    memory.offer([item(number) for number in range(10)])
    assert content(memory) == [f"item {number}" for number in range(10)]
    assert memory.fill == 1


@policies
def test_an_item_larger_than_the_budget_changes_nothing(policy: str) -> None:
    memory = make(policy, budget=40)
    memory.offer([item(0), item(1)])
    memory.offer([item(2, 100, 100)] * 50)
    assert content(memory) == ["item 0", "item 1"]


@policies
def test_it_goes_on_renewing_itself(policy: str) -> None:
    memory = make(policy, budget=20 * 16)
    memory.offer([item(number) for number in range(20)])
    memory.offer([item(number) for number in range(20, 200)])
    assert sum(int(name.split()[1]) >= 20 for name in content(memory)) > 10


@policies
def test_same_seed_same_content_and_same_draws(policy: str) -> None:
    first, second, other = make(policy, 160), make(policy, 160), make(policy, 160, seed=1)
    for number in range(60):
        for memory in (first, second, other):
            memory.offer([item(number)])
    assert content(first) == content(second) != content(other)
    assert [kept.id for kept in first.sample(4)] == [kept.id for kept in second.sample(4)]


@policies
def test_state_on_disk_goes_on_exactly(policy: str, tmp_path) -> None:
    memory = make(policy, 160)
    memory.offer([item(number, classes=3 + number // 20) for number in range(40)])
    save_states(tmp_path / "state", {"memory": memory.state_dict()})
    copy = make(policy, 160, seed=9)
    copy.load_state_dict(load_state(tmp_path / "state", "memory"))
    copy.generator.set_state(memory.generator.get_state())
    for both in (memory, copy):
        both.offer([item(number, classes=6) for number in range(40, 90)])
    assert content(memory) == content(copy)
    assert all(
        torch.equal(a.image, b.image) and torch.equal(a.labels, b.labels) and torch.equal(a.known, b.known)
        for a, b in zip(memory.items, copy.items, strict=True)
    )
    assert [kept.id for kept in memory.sample(5)] == [kept.id for kept in copy.sample(5)]


@policies
def test_a_state_of_another_budget_is_refused(policy: str) -> None:
    with pytest.raises(CheckpointError, match="160 pixels, not 320"):
        make(policy, 320).load_state_dict(make(policy, 160).state_dict())


@policies
def test_sampling_draws_different_items_and_all_if_there_are_few(policy: str) -> None:
    memory = make(policy, 160)
    assert memory.sample(3) == []
    memory.offer([])
    memory.offer([item(0)])
    assert [kept.id for kept in memory.sample(3)] == ["item 0"]
    memory.offer([item(number) for number in range(1, 10)])
    drawn = [kept.id for kept in memory.sample(6)]
    assert len(set(drawn)) == 6
    assert memory.sample(0) == []


@policies
def test_items_do_not_keep_their_batch_alive(policy: str) -> None:
    batch = torch.randint(256, (5, 3, 4, 4), dtype=torch.uint8)
    memory = make(policy, 160)
    memory.offer([Item(batch[0], torch.ones(1, dtype=torch.bool), torch.ones(1, dtype=torch.bool), "a")])
    before = memory.items[0].image.clone()
    assert memory.items[0].image.untyped_storage().nbytes() == 48
    batch.zero_()
    assert torch.equal(memory.items[0].image, before)


@policies
def test_a_negative_budget_is_refused(policy: str) -> None:
    with pytest.raises(ConfigError, match="-1"):
        make(policy, -1)
