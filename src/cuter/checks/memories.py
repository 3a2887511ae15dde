"""Checks of memory policies."""

from __future__ import annotations

import copy
import math
import tempfile
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import torch

from cuter.checks.battery import Check, difference, flat_state, generator, require, run_checks
from cuter.errors import BatchError, CheckpointError, ConfigError
from cuter.memory import MEMORIES, Item, Memory
from cuter.memory.codec import CODECS
from cuter.settings import validated
from cuter.storage import load_state, save_states

SIDE = 4  # of the images of most items
PIXELS = SIDE * SIDE
EMBEDDING = 6  # numbers


def check_memory(name: str, *, skip: Collection[str] = (), **settings: Any) -> None:
    """Check a memory policy: what every policy promises, whatever it prefers to keep.

    Args:
        name: Name under which the policy is registered.
        skip: Names of checks that are left out.
        settings: Settings of the policy, where other values than its defaults are to be checked; of budget and codec
            the checks themselves try several.

    Raises:
        AssertionError: Something does not hold; the message says what.

    Examples:
        >>> from cuter.checks import check_memory
        >>> check_memory("reservoir")
    """
    run_checks("memory policy", name, MEMORY_CHECKS, skip, settings)


def make_item(number: int, height: int = SIDE, width: int = SIDE, classes: int = 3, labels: Any = None) -> Item:
    """Make an item whose content depends on its number alone; by default it has one label.

    Its picture is smooth: a small one stays raw with every codec, a large one shrinks. As in learning, the gradient
    pulls the scores of its labels up and all others down, and embeddings have much in common.
    """
    draws = generator(number)
    colour = torch.randint(128, (3, 1, 1), generator=draws)
    slope = torch.linspace(0, 60, height)[:, None] + torch.linspace(0, 60, width)
    given = torch.zeros(classes, dtype=torch.bool)
    given[sorted({number % classes} if labels is None else labels)] = True
    pull = torch.rand(classes, generator=draws)
    return Item(
        (colour + slope).byte(),
        given,
        torch.ones(classes, dtype=torch.bool),
        f"item {number}",
        embedding=torch.rand(EMBEDDING, generator=draws),
        logit_grad=torch.where(given, -pull, pull),
    )


@cache
def varied_item(number: int) -> Item:
    """Make an item of some size, with several labels or none, in a label space that grows with the number."""
    classes = 5 + number // 30
    labels = {number**power % classes for power in range(1, 1 + number % 4)}
    return make_item(number, 1 + number * 7 % 30, 1 + number * 11 % 30, classes, labels)


def make_memory(name: str, budget: int, seed: int = 0, codec: str = "raw", **settings: Any) -> Memory:
    """Make an empty memory of the policy of this name."""
    policy = MEMORIES[name]
    return policy(budget, generator(seed), validated(policy.Settings, {"kind": name, "codec": codec, **settings}))


def ids(items: Sequence[Item]) -> list[str]:
    """Return the ids of items."""
    return [item.id for item in items]


def the_budget_is_never_exceeded(name: str, **settings: Any) -> None:
    """Items of many sizes, budgets from nothing on, all codecs."""
    draws = generator()
    for codec in CODECS:
        for budget in (0, 1, 15, 40, 130, 300, 700, 1100, 1500, 2000):
            memory = make_memory(name, budget, codec=codec, **settings)
            for number, (height, width) in enumerate(torch.randint(1, 41, (20, 2), generator=draws).tolist()):
                memory.offer([make_item(number, height, width)])
                counted = sum(math.ceil(len(kept.image.numpy().tobytes()) / 3) for kept in memory.items)
                require(memory.pixels <= budget, f"memory holds {memory.pixels} pixels, more than its {budget}")
                require(memory.pixels == counted, f"memory counts {memory.pixels} pixels, but its items have {counted}")
                require(0 <= memory.fill <= 1, f"the share of the budget in use is {memory.fill}")


def a_raw_item_costs_its_pixels(name: str, **settings: Any) -> None:
    """Without compression."""
    memory = make_memory(name, 1000, **settings)
    memory.offer([make_item(0, 5, 7), make_item(1, 1, 1)])
    require(memory.pixels == 36, f"images of 5×7 and 1×1 pixels cost {memory.pixels} pixels")


def everything_enters_while_there_is_room(name: str, **settings: Any) -> None:
    """In the order in which it comes."""
    memory = make_memory(name, 10 * PIXELS, **settings)
    memory.offer([make_item(number) for number in range(10)])
    kept = ids(memory.items)
    require(kept == [f"item {n}" for n in range(10)], f"of ten items for which there is room it keeps {kept}")
    require(memory.fill == 1, "it is not full with as many items as it has room for")


def an_item_larger_than_the_budget_changes_nothing(name: str, **settings: Any) -> None:
    """Neither content nor draws."""
    for codec in CODECS:
        memory = make_memory(name, 40, codec=codec, **settings)
        memory.offer([make_item(0), make_item(1)])
        before = memory.generator.get_state()
        memory.offer([make_item(2, 100, 100)] * 50)
        require(ids(memory.items) == ["item 0", "item 1"], "an item larger than the budget changes what is kept")
        require(torch.equal(memory.generator.get_state(), before), "an item larger than the budget changes later draws")


def equal_seeds_give_equal_results(name: str, **settings: Any) -> None:
    """Content and draws, whatever the state of the global generator is, which stays as it was."""
    with torch.random.fork_rng(devices=[]):
        found = []
        for callers in (1, 2):
            torch.default_generator.manual_seed(callers)
            before = torch.get_rng_state()
            memory = make_memory(name, 10 * PIXELS, **settings)
            for number in range(60):
                memory.offer([make_item(number)])
            found.append([ids(memory.items), ids(memory.sample(4)), ids(memory.sample_evenly(4))])
            require(torch.equal(torch.get_rng_state(), before), "it draws from torch's global generator, not its own")
    require(found[0] == found[1], "two memories with the same seed differ")


def a_saved_state_goes_on_exactly(name: str, **settings: Any) -> None:
    """Through files, with all codecs, at several moments: what is not saved may be the same at one of them."""
    for codec, shown in zip(("raw", *CODECS), (104, 120, 121, 131), strict=True):
        memory = make_memory(name, 7000, codec=codec, **settings)
        memory.offer([varied_item(number) for number in range(shown)])
        loaded = make_memory(name, 7000, seed=9, codec=codec, **settings)
        loaded.load_state_dict(_through_files(memory))
        loaded.generator.set_state(memory.generator.get_state())
        _require_same(memory, loaded, "just after it was loaded")
        for both in (memory, loaded):
            both.sample_evenly(20)
            both.offer([varied_item(number) for number in range(shown, 240)])
        _require_same(memory, loaded, "after more items")
        for draw in ("sample", "sample_evenly"):
            drawn = [ids(getattr(both, draw)(20)) for both in (memory, loaded)]
            require(drawn[0] == drawn[1], f"a loaded memory draws other items than the saved one: {draw}")


def an_empty_memory_has_a_state_too(name: str, **settings: Any) -> None:
    """Through files."""
    memory = make_memory(name, 10 * PIXELS, **settings)
    memory.load_state_dict(_through_files(make_memory(name, 10 * PIXELS, **settings)))
    memory.offer([make_item(number) for number in range(20)])
    require(len(memory) == 10, f"loaded from an empty memory, it keeps {len(memory)} items instead of 10")


def a_copy_is_independent(name: str, **settings: Any) -> None:
    """A deep copy comes to the same, and what is shown to it does not reach the original."""
    memory = make_memory(name, 10 * PIXELS, **settings)
    memory.offer([make_item(number) for number in range(30)])
    before = flat_state(memory.state_dict())
    twin = copy.deepcopy(memory)
    twin.offer([make_item(number) for number in range(30, 60)])
    changed = difference(before, flat_state(memory.state_dict()))
    require(not changed, f"what is shown to a copy changes the original: {changed}")
    memory.offer([make_item(number) for number in range(30, 60)])
    _require_same(memory, twin, "though a copy was shown the same")


def a_state_of_another_budget_or_codec_is_refused(name: str, **settings: Any) -> None:
    """With both values in the message, and nothing changes."""
    memory = make_memory(name, 160, **settings)
    memory.offer([make_item(0)])
    for other, message in (
        (make_memory(name, 320, **settings), "320 pixels, not 160"),
        (make_memory(name, 160, codec="jpeg", **settings), "codec 'jpeg', not 'raw'"),
    ):
        try:
            memory.load_state_dict(other.state_dict())
            refused = ""
        except CheckpointError as error:
            refused = str(error)
        require(message in refused, f"a state of {message} is not refused with both in the message, but: {refused!r}")
        require(ids(memory.items) == ["item 0"], "a state that is refused changes what is kept")


def draws_are_different_items_and_all_if_there_are_few(name: str, **settings: Any) -> None:
    """Of an empty memory, of one item, of ten."""
    memory = make_memory(name, 10 * PIXELS, **settings)
    for count in (0, 1, 10):
        memory.offer([make_item(number) for number in range(len(memory), count)])
        for draw in (memory.sample, memory.sample_evenly):
            title = f"{draw.__name__} of {count} items"
            require(len(draw(0)) == 0, f"{title}: a draw of nothing has items")
            drawn = ids(draw(6))
            require(len(set(drawn)) == len(drawn) == min(6, count), f"{title}: a draw of 6 has {drawn}")
            require(sorted(ids(draw(100))) == sorted(ids(memory.items)), f"{title}: a draw of 100 has not all of them")


def what_is_drawn_has_its_pixels(name: str, **settings: Any) -> None:
    """At its own size, and with its labels, whatever the codec."""
    offered = {one.id: one for one in map(varied_item, range(60))}
    for codec in CODECS:
        memory = make_memory(name, 100_000, codec=codec, **settings)
        memory.offer(list(offered.values()))
        require(len(memory) == 60, f"of 60 items for which there is room it keeps {len(memory)}")
        is_encoded = any(kept.image.ndim == 1 for kept in memory.items)
        require(is_encoded == (codec != "raw"), f"images are not stored as {codec}")
        for drawn in [*memory.sample(60), *memory.sample_evenly(60)]:
            first = offered[drawn.id]
            same_kind = drawn.image.dtype == torch.uint8 and drawn.image.shape == first.image.shape
            require(same_kind, f"{codec}: what is drawn is not a uint8 image of the size that it had")
            error = float((drawn.image.float() - first.image.float()).abs().mean())
            require(error < 4, f"{codec}: the pixels of what is drawn are {error:.1f} grey levels off on average")
            require(torch.equal(drawn.labels, first.labels), "what is drawn has other labels than it had")


def even_draws_take_turns_among_classes(name: str, **settings: Any) -> None:
    """As long as a class has items; those without a label are a class of their own."""
    memory = make_memory(name, 1000, **settings)
    memory.offer([make_item(n, labels={0} if n < 30 else {1} if n < 35 else set()) for n in range(40)])
    for count, expected in ((9, [3, 3, 3]), (20, [10, 5, 5]), (40, [30, 5, 5])):
        kinds = Counter(one.classes[0] for one in memory.sample_evenly(count))
        found = [kinds[0], kinds[1], kinds[-1]]
        require(found == expected, f"an even draw of {count} of 30, 5 and 5 items has {found}, not {expected}")


def even_draws_end_whatever_the_labels(name: str, **settings: Any) -> None:
    """With different items."""
    draws = generator()
    for count in (0, 1, 5, 13, 29, 40):
        labels = torch.rand(30, 7, generator=draws) < torch.rand((), generator=draws)
        memory = make_memory(name, 30 * PIXELS, **settings)
        shown = [make_item(n, classes=7, labels=row.nonzero().flatten().tolist()) for n, row in enumerate(labels)]
        memory.offer(shown)
        drawn = ids(memory.sample_evenly(count))
        expected = min(count, len(memory))
        require(len(drawn) == len(set(drawn)) == expected, f"an even draw of {count} of {len(memory)} has {drawn}")


def counts_are_those_of_the_items(name: str, **settings: Any) -> None:
    """By column, for as many columns as were ever offered."""
    memory = make_memory(name, 4000, **settings)
    require(memory.counts().tolist() == [], "a memory that was offered nothing counts classes")
    widest = 0
    for number in range(90):
        memory.offer([varied_item(number)])
        widest = max(widest, len(varied_item(number).labels))
        expected = [sum(bool(kept.labels[c : c + 1].any()) for kept in memory.items) for c in range(widest)]
        found = memory.counts().tolist()
        require(found == expected, f"it counts {found} items by class, but holds {expected}")


def what_is_forgotten_is_gone(name: str, **settings: Any) -> None:
    """All items of some images leave, nothing else does, and memory goes on as if they had been evicted."""
    memory = make_memory(name, 40 * PIXELS, **settings)
    memory.offer([varied_item(number) for number in range(60)])
    before = ids(memory.items)
    unwanted = before[::3]
    removed = memory.forget([*unwanted, "never seen"])
    require(removed == Counter(unwanted), f"of {len(unwanted)} items that are to be forgotten, {len(removed)} are")
    require(
        sorted(ids(memory.items)) == sorted(set(before) - set(unwanted)), "other items than those asked for are gone"
    )
    require(memory.pixels == sum(item.pixels for item in memory.items), "the pixels in use are not counted right")
    require(not memory.forget(unwanted), "what was forgotten is found again")
    again = make_memory(name, 40 * PIXELS, **settings)
    again.load_state_dict(_through_files(memory))
    for one in (memory, again):
        one.generator.manual_seed(1)
        one.offer([varied_item(number) for number in range(60, 90)])
    _require_same(memory, again, "after something was forgotten")


def items_do_not_keep_their_batch_alive(name: str, **settings: Any) -> None:
    """An item is a view of a batch; what is kept is its own."""
    for codec in CODECS:
        batch = torch.randint(256, (5, 3, 4, 4), dtype=torch.uint8, generator=generator())
        memory = make_memory(name, 1000, codec=codec, **settings)
        known, vectors = torch.ones(2, 1, dtype=torch.bool), torch.ones(2, 5)
        memory.offer([Item(batch[0], known[0], known[1], "a", embedding=vectors[0], logit_grad=vectors[1])])
        kept = memory.items[0].tensors()
        before = memory.sample(1)[0].image.clone()
        for field, tensor in kept.items():
            require(tensor.untyped_storage().nbytes() == tensor.nbytes, f"{field} of an item holds its whole batch")
        require(kept["image"].nbytes <= 48, f"an image of 48 bytes takes {kept['image'].nbytes}")
        require(kept.keys() == {"image", "labels", "known", "embedding", "logit_grad"}, f"an item has only {[*kept]}")
        batch.zero_()
        require(torch.equal(memory.sample(1)[0].image, before), "an item changes with the batch that it came from")


def an_empty_batch_changes_nothing(name: str, **settings: Any) -> None:
    """In an empty memory, and in a full one."""
    memory = make_memory(name, 10 * PIXELS, **settings)
    for filled in ("an empty", "a full"):
        before = flat_state(memory.state_dict() | {"generator": memory.generator.get_state()})
        memory.offer([])
        after = flat_state(memory.state_dict() | {"generator": memory.generator.get_state()})
        changed = difference(before, after)
        require(not changed, f"an empty batch changes {filled} memory: {changed}")
        memory.offer([make_item(number) for number in range(30)])


def classes_may_grow(name: str, **settings: Any) -> None:
    """Three tasks of two classes, in batches with replay; old items keep their short labels."""
    for size in (1, 6):
        memory = make_memory(name, 18 * PIXELS, **settings)
        draws = generator()
        for number in range(0, 180, size):
            show_task_item(memory, number, size, draws)
            require(memory.pixels <= memory.budget, "the budget is exceeded when classes grow")
        require(len(memory) == 18, f"it has room for 18 items, was shown 180, and keeps {len(memory)}")
        columns = len(memory.counts())
        require(columns == 6, f"six classes were shown, and it counts {columns}")
        for kept in memory.items:
            task = int(kept.id.split()[1]) // 60
            require(len(kept.labels) == 2 + 2 * task, "an item has other columns than it came with")


def show_task_item(memory: Memory, number: int, size: int, draws: torch.Generator) -> None:
    """Do with memory as a learner does in a step: draw, refresh, offer a batch. Every 60 items bring two classes."""
    task = number // 60
    columns = 2 + 2 * task
    known = torch.arange(columns) >= 2 * task
    batch = [make_item(n, classes=columns, labels={2 * task + n % 2}) for n in range(number, number + size)]
    drawn = memory.sample(6)
    if len(drawn):
        absent = [torch.nn.functional.pad(~one.labels, (0, columns - len(one.labels)), value=1) for one in drawn]
        rows = torch.rand(len(drawn), EMBEDDING, generator=draws)
        memory.refresh(drawn, {"embedding": rows, "logit_grad": torch.stack(absent).float() - 0.5})
    memory.offer([replace(one, known=known, logit_grad=one.tensors()["logit_grad"] * known) for one in batch])


def unknown_is_not_absent(name: str, **settings: Any) -> None:
    """Items of which nothing is known are kept, counted for no class, and drawn."""
    memory = make_memory(name, 10 * PIXELS, **settings)
    nothing = torch.zeros(3, dtype=torch.bool)
    for number in range(40):
        memory.offer([replace(make_item(number, labels=()), known=nothing, logit_grad=torch.zeros(3))])
    require(len(memory) == 10, f"of items of which nothing is known it keeps {len(memory)} instead of 10")
    require(not any(kept.known.any() for kept in memory.items), "what nobody looked for has become known in memory")
    require(memory.counts().tolist() == [0, 0, 0], "items of which nothing is known count for a class")
    require(len(memory.sample_evenly(4)) == 4, "items of which nothing is known are not drawn")
    memory.offer([make_item(number, classes=4, labels={3}) for number in range(40, 80)])


def a_class_may_never_appear(name: str, **settings: Any) -> None:
    """Column 1 of four is announced, and no item ever has it."""
    memory = make_memory(name, 12 * PIXELS, **settings)
    for number in range(80):
        memory.offer([make_item(number, classes=4, labels={[0, 2, 3][number % 3]})])
    counts = memory.counts().tolist()
    require(counts[1] == 0, "a class that never appeared has items")
    require(
        sum(counts) == len(memory) == 12, f"12 items with a label each are {len(memory)}, with {sum(counts)} labels"
    )


def vectors_are_refreshed_for_what_was_drawn(name: str, **settings: Any) -> None:
    """Whatever was drawn since, and for nothing else."""
    memory = make_memory(name, 1000, **settings)
    memory.offer([make_item(number) for number in range(10)])
    for draw in (memory.sample, memory.sample_evenly):
        first = draw(4)
        draw(3)
        drawn = ids(first)
        others = {kept.id: kept for kept in memory.items if kept.id not in drawn}
        rows = torch.rand(4, EMBEDDING, generator=generator())
        memory.refresh(first, {"embedding": rows, "logit_grad": -rows})
        for kept in memory.items:
            if kept.id not in drawn:
                require(kept is others[kept.id], "what was not drawn is refreshed")
                continue
            found, row = kept.tensors(), rows[drawn.index(kept.id)]
            is_new = torch.equal(found["embedding"], row) and torch.equal(found["logit_grad"], -row)
            require(is_new, "what was drawn does not get its new vectors")
            held = found["embedding"].untyped_storage().nbytes()
            require(held == 4 * EMBEDDING, "a refreshed vector holds those of the whole batch")


def what_has_left_is_not_refreshed(name: str, **settings: Any) -> None:
    """The last item moves to the slot of one that leaves: neither it nor an empty slot gets the other's vectors."""
    for codec in ("raw", "jpeg"):
        memory = make_memory(name, 1000, codec=codec, **settings)
        memory.offer([make_item(number) for number in range(6)])
        drawn = memory.take([1, 5, 3])
        memory.remove(1)
        moved = memory.items[1].tensors()["embedding"].clone()
        rows = torch.rand(3, EMBEDDING, generator=generator())
        for again in range(2):
            memory.refresh(drawn, {"embedding": rows + again})
            stays = torch.equal(memory.items[3].tensors()["embedding"], rows[2] + again)
            require(stays, "what was drawn and is still there does not get its new vectors")
            kept = torch.equal(memory.items[1].tensors()["embedding"], moved)
            require(kept, "an item gets the vectors of one that has left its slot")


def items_without_required_vectors_are_refused(name: str, **settings: Any) -> None:
    """Before anything changes."""
    memory = make_memory(name, 10 * PIXELS, **settings)
    memory.offer([make_item(0)])
    for missing in MEMORIES[name].required_vectors:
        lacking: dict[str, Any] = {missing: None}
        try:
            memory.offer([make_item(1), replace(make_item(2), **lacking)])
            refused = ""
        except BatchError as error:
            refused = str(error)
        require(missing in refused, f"items without {missing}, which the policy needs, are not refused by that name")
    require(ids(memory.items) == ["item 0"] and memory.seen == 1, "items that are refused change memory")


def wrong_settings_are_refused(name: str, **settings: Any) -> None:
    """A negative budget, a codec that does not exist."""
    for budget, codec, message in ((-1, "raw", "-1"), (10, "jpg", "'jpg'")):
        try:
            make_memory(name, budget, **{**settings, "codec": codec})
            refused = ""
        except ConfigError as error:
            refused = str(error)
        require(message in refused, f"a budget of {budget} pixels with the codec {codec!r} is not refused by a message")


def _through_files(memory: Memory) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        save_states(Path(folder) / "state", {"memory": memory.state_dict()})
        return load_state(Path(folder) / "state", "memory")


def _require_same(memory: Memory, other: Memory, when: str) -> None:
    found = difference(flat_state(memory.state_dict()), flat_state(other.state_dict()))
    require(not found, f"two memories that should be the same differ {when}: {found}")
    require(memory.pixels == other.pixels, f"two memories that should be the same differ in their pixels {when}")
    require(torch.equal(memory.counts(), other.counts()), f"two memories with the same items count otherwise {when}")


MEMORY_CHECKS: tuple[Check, ...] = (
    the_budget_is_never_exceeded,
    a_raw_item_costs_its_pixels,
    everything_enters_while_there_is_room,
    an_item_larger_than_the_budget_changes_nothing,
    equal_seeds_give_equal_results,
    a_saved_state_goes_on_exactly,
    an_empty_memory_has_a_state_too,
    a_copy_is_independent,
    a_state_of_another_budget_or_codec_is_refused,
    draws_are_different_items_and_all_if_there_are_few,
    what_is_drawn_has_its_pixels,
    even_draws_take_turns_among_classes,
    even_draws_end_whatever_the_labels,
    counts_are_those_of_the_items,
    what_is_forgotten_is_gone,
    items_do_not_keep_their_batch_alive,
    an_empty_batch_changes_nothing,
    classes_may_grow,
    unknown_is_not_absent,
    a_class_may_never_appear,
    vectors_are_refreshed_for_what_was_drawn,
    what_has_left_is_not_refreshed,
    items_without_required_vectors_are_refused,
    wrong_settings_are_refused,
)
