"""One battery for every memory policy: a new policy is covered the moment its file exists."""

import math
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cuter.errors import BatchError, CheckpointError, ConfigError
from cuter.memory import MEMORIES, Item, Memory
from cuter.memory.codec import CODECS
from cuter.settings import validated
from cuter.storage import load_state, save_states

policies = pytest.mark.parametrize("policy", list(MEMORIES))
# what the code behind the published tables does is kept with its faults, and these are some of them
sound_policies = pytest.mark.parametrize("policy", [name for name in MEMORIES if not name.endswith("-published")])
codecs = pytest.mark.parametrize("codec", CODECS)

# Smooth pictures: the small ones stay raw with every codec, the large ones shrink.
sizes = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), max_size=40)


def item(number: int, height: int = 4, width: int = 4, classes: int = 3, labels: set[int] | None = None) -> Item:
    generator = torch.Generator().manual_seed(number)
    colour = torch.randint(128, (3, 1, 1), generator=generator)
    slope = torch.linspace(0, 60, height)[:, None] + torch.linspace(0, 60, width)
    given = torch.zeros(classes, dtype=torch.bool)
    given[sorted({number % classes} if labels is None else labels)] = True
    # as in learning: the loss pulls scores of the labels up and all others down, and embeddings have much in common
    pull = torch.rand(classes, generator=generator)
    embedding = torch.rand(6, generator=generator)
    return Item(
        (colour + slope).byte(),
        given,
        torch.ones(classes, dtype=torch.bool),
        f"item {number}",
        embedding=embedding,
        logit_grad=torch.where(given, -pull, pull),
    )


@cache
def varied(number: int) -> Item:
    """Some with several labels, some without any, of many sizes, in a label space that grows."""
    classes = 5 + number // 30
    labels = {number**power % classes for power in range(1, 1 + number % 4)}
    return item(number, 1 + number * 7 % 30, 1 + number * 11 % 30, classes, labels)


def make(policy: str, budget: int, seed: int = 0, codec: str = "raw") -> Memory:
    kind = MEMORIES[policy]
    return kind(budget, torch.Generator().manual_seed(seed), validated(kind.Settings, {"codec": codec}))


def names(items: list[Item]) -> list[str]:
    return [kept.id for kept in items]


def content(memory: Memory) -> list[str]:
    return names(memory.items)


@policies
@codecs
@settings(max_examples=12)
@given(sizes=sizes, budget=st.integers(0, 2000))
def test_the_budget_is_never_exceeded(policy: str, codec: str, sizes: list[tuple[int, int]], budget: int) -> None:
    memory = make(policy, budget, codec=codec)
    for number, (height, width) in enumerate(sizes):
        memory.offer([item(number, height, width)])
        assert memory.pixels == sum(math.ceil(len(kept.image.numpy().tobytes()) / 3) for kept in memory.items)
        assert memory.pixels <= budget
        assert 0 <= memory.fill <= 1


@policies
def test_a_raw_item_costs_its_pixels(policy: str) -> None:
    memory = make(policy, 1000)
    memory.offer([item(0, 5, 7), item(1, 1, 1)])
    assert memory.pixels == 5 * 7 + 1


@sound_policies
def test_everything_enters_while_there_is_room(policy: str) -> None:
    memory = make(policy, budget=10 * 16)
    memory.offer([item(number) for number in range(10)])
    assert content(memory) == [f"item {number}" for number in range(10)]
    assert memory.fill == 1


@policies
@codecs
def test_an_item_larger_than_the_budget_changes_nothing(policy: str, codec: str) -> None:
    memory = make(policy, budget=40, codec=codec)
    memory.offer([item(0), item(1)])
    before = memory.generator.get_state()
    memory.offer([item(2, 100, 100)] * 50)
    assert content(memory) == ["item 0", "item 1"]
    assert torch.equal(memory.generator.get_state(), before)


@sound_policies
def test_it_goes_on_renewing_itself(policy: str) -> None:
    memory = make(policy, budget=20 * 16)
    memory.offer([item(number, classes=1) for number in range(20)])
    memory.offer([item(number, classes=6) for number in range(20, 200)])
    assert sum(int(name.split()[1]) >= 20 for name in content(memory)) > 10


@policies
def test_same_seed_same_content_and_same_draws(policy: str) -> None:
    first, second, other = make(policy, 160), make(policy, 160), make(policy, 160, seed=1)
    for number in range(60):
        for memory in (first, second, other):
            memory.offer([item(number)])
    assert content(first) == content(second) != content(other)
    assert names(first.sample(4)) == names(second.sample(4))
    assert names(first.sample_evenly(4)) == names(second.sample_evenly(4))


@policies
@codecs
def test_state_on_disk_goes_on_exactly(policy: str, codec: str, tmp_path) -> None:
    memory = make(policy, 7000, codec=codec)
    memory.offer([varied(number) for number in range(120)])
    save_states(tmp_path / "state", {"memory": memory.state_dict()})
    copy = make(policy, 7000, seed=9, codec=codec)
    copy.load_state_dict(load_state(tmp_path / "state", "memory"))
    copy.generator.set_state(memory.generator.get_state())
    assert torch.equal(memory.counts(), copy.counts())
    assert names(memory.sample_evenly(20)) == names(copy.sample_evenly(20))
    for both in (memory, copy):
        both.offer([varied(number) for number in range(120, 240)])
    assert content(memory) == content(copy)
    assert len(memory) > 20
    assert memory.pixels == copy.pixels
    assert torch.equal(memory.counts(), copy.counts())
    for one, other in zip(memory.items, copy.items, strict=True):
        assert one.tensors().keys() == other.tensors().keys()
        assert all(torch.equal(tensor, other.tensors()[name]) for name, tensor in one.tensors().items())
    assert names(memory.sample(5)) == names(copy.sample(5))
    assert names(memory.sample_evenly(20)) == names(copy.sample_evenly(20))


@sound_policies
def test_an_empty_memory_has_a_state_too(policy: str, tmp_path) -> None:
    save_states(tmp_path / "state", {"memory": make(policy, 160).state_dict()})
    memory = make(policy, 160)
    memory.load_state_dict(load_state(tmp_path / "state", "memory"))
    memory.offer([item(number) for number in range(20)])
    assert len(memory) == 10


@policies
def test_a_state_of_another_budget_is_refused(policy: str) -> None:
    with pytest.raises(CheckpointError, match="160 pixels, not 320"):
        make(policy, 320).load_state_dict(make(policy, 160).state_dict())


@policies
def test_a_state_of_another_codec_is_refused(policy: str) -> None:
    memory = make(policy, 160)
    memory.offer([item(0)])
    with pytest.raises(CheckpointError, match="codec 'jpeg', not 'raw'"):
        memory.load_state_dict(make(policy, 160, codec="jpeg").state_dict())
    assert content(memory) == ["item 0"]


@policies
def test_sampling_draws_different_items_and_all_if_there_are_few(policy: str) -> None:
    memory = make(policy, 160)
    for draw in (memory.sample, memory.sample_evenly):
        assert len(draw(3)) == 0
    memory.offer([])
    memory.offer([item(0)])
    for draw in (memory.sample, memory.sample_evenly):
        assert names(draw(3)) == ["item 0"]
    memory.offer([item(number) for number in range(1, 10)])
    for draw in (memory.sample, memory.sample_evenly):
        assert len(set(names(draw(6)))) == 6
        assert sorted(names(draw(100))) == sorted(content(memory))
        assert len(draw(0)) == 0


@policies
@codecs
def test_what_is_drawn_has_pixels_at_its_own_size(policy: str, codec: str) -> None:
    offered = {one.id: one for one in map(varied, range(60))}
    memory = make(policy, 100_000, codec=codec)
    memory.offer(list(offered.values()))
    assert len(memory) == 60
    assert any(kept.image.ndim == 1 for kept in memory.items) == (codec != "raw")
    for drawn in [*memory.sample(60), *memory.sample_evenly(60)]:
        assert drawn.image.dtype == torch.uint8
        assert drawn.image.shape == offered[drawn.id].image.shape
        assert (drawn.image.float() - offered[drawn.id].image.float()).abs().mean() < 4
        assert torch.equal(drawn.labels, offered[drawn.id].labels)


@sound_policies
def test_even_draws_go_round_the_classes(policy: str) -> None:
    memory = make(policy, 1000)
    memory.offer([item(number, labels={0}) for number in range(30)])
    memory.offer([item(number, labels={1}) for number in range(30, 35)])
    memory.offer([item(number, labels=set()) for number in range(35, 40)])

    def drawn(count: int) -> list[int]:
        kinds = Counter(one.classes[0] for one in memory.sample_evenly(count))
        return [kinds[0], kinds[1], kinds[-1]]

    assert drawn(9) == [3, 3, 3]
    assert drawn(20) == [10, 5, 5]
    assert drawn(40) == [30, 5, 5]
    first = Counter(memory.sample_evenly(1)[0].classes[0] for _ in range(1500))
    assert all(abs(count - 500) < 4.5 * math.sqrt(1500 * 2 / 9) for count in first.values())
    single = Counter(one.id for _ in range(1500) for one in memory.sample_evenly(3) if one.classes == [1])
    assert len(single) == 5
    assert all(abs(count - 300) < 4.5 * math.sqrt(1500 * 4 / 25) for count in single.values())


@policies
@settings(max_examples=12)
@given(labels=st.lists(st.sets(st.integers(0, 6), max_size=7), max_size=30), count=st.integers(0, 40))
def test_even_draws_end_with_different_items_whatever_the_labels(
    policy: str, labels: list[set[int]], count: int
) -> None:
    memory = make(policy, 480)
    memory.offer([item(number, classes=7, labels=some) for number, some in enumerate(labels)])
    drawn = names(memory.sample_evenly(count))
    assert len(drawn) == len(set(drawn)) == min(count, len(labels))


@policies
def test_counts_are_those_of_the_items_held(policy: str) -> None:
    memory = make(policy, 4000)
    assert memory.counts().tolist() == []
    widest = 0
    for number in range(90):
        memory.offer([varied(number)])
        widest = max(widest, len(varied(number).labels))
        expected = [sum(bool(kept.labels[c : c + 1].any()) for kept in memory.items) for c in range(widest)]
        assert memory.counts().tolist() == expected


@policies
@codecs
def test_items_do_not_keep_their_batch_alive(policy: str, codec: str) -> None:
    batch = torch.randint(256, (5, 3, 4, 4), dtype=torch.uint8)
    batch[1:] = 7
    memory = make(policy, 1000, codec=codec)
    known, vectors = torch.ones(2, 1, dtype=torch.bool), torch.ones(2, 5)
    memory.offer([Item(batch[0], known[0], known[1], "a", embedding=vectors[0], logit_grad=vectors[1])])
    (kept,) = memory.items
    before = memory.sample(1)[0].image.clone()
    assert kept.image.untyped_storage().nbytes() == kept.image.numel() <= 48
    assert all(tensor.untyped_storage().nbytes() == tensor.nbytes for tensor in kept.tensors().values())
    assert kept.tensors().keys() == {"image", "labels", "known", "embedding", "logit_grad"}
    batch.zero_()
    assert torch.equal(memory.sample(1)[0].image, before)


@policies
def test_an_empty_batch_changes_nothing(policy: str) -> None:
    memory = make(policy, 160)
    for _ in range(2):
        before = (content(memory), memory.generator.get_state(), memory.seen)
        memory.offer([])
        assert (content(memory), memory.seen) == (before[0], before[2])
        assert torch.equal(memory.generator.get_state(), before[1])
        memory.offer([item(number) for number in range(30)])


@sound_policies
@pytest.mark.parametrize("size", [1, 7])
def test_a_label_space_that_grows(policy: str, size: int) -> None:
    """Three tasks of two classes, in batches with replay: every task leaves something, and old labels stay as long."""
    memory = make(policy, 18 * 16)
    for number in range(0, 180, size):
        task = number // 60
        columns = 2 + 2 * task
        known = torch.arange(columns) >= 2 * task
        batch = [item(n, classes=columns, labels={2 * task + n % 2}) for n in range(number, number + size)]
        drawn = memory.sample(6)
        if drawn:
            absent = [torch.nn.functional.pad(~one.labels, (0, columns - len(one.labels)), value=1) for one in drawn]
            logit_grad = torch.stack(absent).float() - 0.5
            memory.refresh(drawn, {"embedding": torch.rand(len(drawn), 6), "logit_grad": logit_grad})
        memory.offer([replace(one, known=known, logit_grad=one.tensors()["logit_grad"] * known) for one in batch])
        assert memory.pixels <= memory.budget
    assert len(memory) == 18
    assert len(memory.counts()) == 6
    assert {len(kept.labels) for kept in memory.items} == {2, 4, 6}


@policies
def test_items_of_which_nothing_is_known(policy: str) -> None:
    memory = make(policy, 160)
    for number in range(40):
        nothing = torch.zeros(3, dtype=torch.bool)
        memory.offer([replace(item(number, labels=set()), known=nothing, logit_grad=torch.zeros(3))])
    assert len(memory) == 10
    assert memory.counts().tolist() == [0, 0, 0]
    assert len(memory.sample_evenly(4)) == 4
    memory.offer([item(number, classes=4, labels={3}) for number in range(40, 80)])
    assert memory.counts()[3] > 0 or policy == "gradient"  # which is pulled nowhere by what is known of nothing


@sound_policies
def test_a_class_that_never_appears(policy: str) -> None:
    """Column 1 of four is announced, and no item ever has it."""
    memory = make(policy, 12 * 16)
    for number in range(80):
        memory.offer([item(number, classes=4, labels={[0, 2, 3][number % 3]})])
    assert memory.counts()[1] == 0
    assert (memory.counts()[[0, 2, 3]] > 0).all()
    assert memory.counts().sum() == len(memory) == 12
    assert len({one.classes[0] for one in memory.sample_evenly(3)}) == 3


@policies
def test_vectors_are_renewed_for_what_was_drawn_whatever_was_drawn_since(policy: str) -> None:
    memory = make(policy, 1000)
    memory.offer([item(number) for number in range(10)])
    for draw in (memory.sample, memory.sample_evenly):
        first = draw(4)
        draw(3)
        drawn = names(first)
        others = {kept.id: kept for kept in memory.items if kept.id not in drawn}
        rows = torch.rand(4, 6)
        memory.refresh(first, {"embedding": rows, "logit_grad": -rows})
        for kept in memory.items:
            if kept.id in drawn:
                assert torch.equal(kept.tensors()["embedding"], rows[drawn.index(kept.id)])
                assert torch.equal(kept.tensors()["logit_grad"], -rows[drawn.index(kept.id)])
                assert kept.tensors()["embedding"].untyped_storage().nbytes() == 4 * 6, "the batch is not kept alive"
            else:
                assert kept is others[kept.id]


@policies
@pytest.mark.parametrize("codec", ["raw", "jpeg"])
def test_what_has_left_its_slot_is_not_renewed(policy: str, codec: str) -> None:
    """The last item moves to the slot of one that leaves: neither it nor an empty slot gets the other's vectors."""
    memory = make(policy, 1000, codec=codec)
    memory.offer([item(number) for number in range(6)])
    drawn = memory.take([1, 5, 3])
    memory.remove(1)
    moved = memory.items[1].tensors()["embedding"].clone()
    rows = torch.rand(3, 6)
    for again in range(2):
        memory.refresh(drawn, {"embedding": rows + again})
        assert torch.equal(memory.items[3].tensors()["embedding"], rows[2] + again)
        assert torch.equal(memory.items[1].tensors()["embedding"], moved)


@pytest.mark.parametrize("policy", [name for name in MEMORIES if MEMORIES[name].required_vectors])
def test_items_without_the_vectors_that_a_policy_needs_are_refused(policy: str) -> None:
    memory = make(policy, 160)
    memory.offer([item(0)])
    for missing in MEMORIES[policy].required_vectors:
        with pytest.raises(BatchError, match=f"needs items that come with: .*{missing}"):
            memory.offer([item(1), replace(item(2), **{missing: None})])
    assert content(memory) == ["item 0"]
    assert memory.seen == 1


@policies
def test_a_power_is_for_policies_with_shares(policy: str) -> None:
    kind = MEMORIES[policy]
    defaults = {"ocdm": 0.0, "prs": 0.1, "prs-published": 0.1}
    assert ("power" in kind.Settings.model_fields) == (policy in defaults)
    if policy in defaults:
        assert kind(160, torch.Generator(), kind.Settings(power=0.3)).settings.power == 0.3
        assert kind(160, torch.Generator()).settings.power == defaults[policy]


@policies
def test_a_negative_budget_is_refused(policy: str) -> None:
    with pytest.raises(ConfigError, match="-1"):
        make(policy, -1)


@policies
def test_an_unknown_codec_is_refused(policy: str) -> None:
    with pytest.raises(ConfigError, match=r"codec: Input should be 'raw', 'jpeg' or 'webp', not 'jpg'"):
        make(policy, 10, codec="jpg")
