"""One battery for every memory policy: a new policy is covered the moment its file exists."""

import math
from collections import Counter
from dataclasses import replace

import pytest
import torch

from cuter.checks import MEMORY_CHECKS, check_memory
from cuter.checks.battery import Check, generator
from cuter.checks.memories import PIXELS, ids, make_item, make_memory, show_task_item
from cuter.errors import ConfigError
from cuter.memory import MEMORIES, Item, Memory

policies = pytest.mark.parametrize("policy", list(MEMORIES))
# what the code behind the published tables does is kept with its faults, and these are some of them
sound_policies = pytest.mark.parametrize("policy", [name for name in MEMORIES if not name.endswith("-published")])
FAULTS = {
    "balanced-published": {
        "everything_enters_while_there_is_room",
        "an_empty_memory_has_a_state_too",
        "even_draws_take_turns_among_classes",
        "a_class_may_never_appear",
    }
}


@policies
@pytest.mark.parametrize("check", MEMORY_CHECKS, ids=lambda check: check.__name__)
def test_it_holds_what_every_policy_promises(policy: str, check: Check) -> None:
    if check.__name__ in FAULTS.get(policy, ()):
        with pytest.raises(AssertionError):
            check(policy)
    else:
        check(policy)


@sound_policies
def test_it_goes_on_renewing_itself(policy: str) -> None:
    memory = make_memory(policy, budget=20 * PIXELS)
    memory.offer([make_item(number, classes=1) for number in range(20)])
    memory.offer([make_item(number, classes=6) for number in range(20, 200)])
    assert sum(int(name.split()[1]) >= 20 for name in ids(memory.items)) > 10


@policies
def test_another_seed_another_content(policy: str) -> None:
    memories = [make_memory(policy, 10 * PIXELS, seed) for seed in (0, 1)]
    for number in range(60):
        for memory in memories:
            memory.offer([make_item(number)])
    assert ids(memories[0].items) != ids(memories[1].items)


@sound_policies
def test_even_draws_are_fair(policy: str) -> None:
    """Each class comes first as often as the others, and so does each item of a class."""
    memory = make_memory(policy, 1000)
    memory.offer([make_item(n, labels={0} if n < 30 else {1} if n < 35 else set()) for n in range(40)])
    first = Counter(memory.sample_evenly(1)[0].classes[0] for _ in range(1500))
    assert all(abs(count - 500) < 4.5 * math.sqrt(1500 * 2 / 9) for count in first.values())
    single = Counter(one.id for _ in range(1500) for one in memory.sample_evenly(3) if one.classes == [1])
    assert len(single) == 5
    assert all(abs(count - 300) < 4.5 * math.sqrt(1500 * 4 / 25) for count in single.values())


@sound_policies
@pytest.mark.parametrize("size", [1, 6])
def test_every_task_leaves_something(policy: str, size: int) -> None:
    memory, draws = make_memory(policy, 18 * PIXELS), generator()
    for number in range(0, 180, size):
        show_task_item(memory, number, size, draws)
    assert {len(kept.labels) for kept in memory.items} == {2, 4, 6}


@sound_policies
def test_every_class_that_appears_is_kept(policy: str) -> None:
    memory = make_memory(policy, 12 * PIXELS)
    for number in range(80):
        memory.offer([make_item(number, classes=4, labels={[0, 2, 3][number % 3]})])
    assert (memory.counts()[[0, 2, 3]] > 0).all()
    assert len({one.classes[0] for one in memory.sample_evenly(3)}) == 3


@pytest.mark.parametrize("policy", [name for name in MEMORIES if name != "gradient"])  # pulled nowhere by nothing known
def test_what_is_known_enters_beside_items_of_which_nothing_is(policy: str) -> None:
    memory = make_memory(policy, 10 * PIXELS)
    nothing = torch.zeros(3, dtype=torch.bool)
    for number in range(40):
        unknown = make_item(number, labels=())
        memory.offer([replace(unknown, known=nothing, logit_grad=torch.zeros(3))])
    memory.sample_evenly(4)
    memory.offer([make_item(number, classes=4, labels={3}) for number in range(40, 80)])
    assert memory.counts()[3] > 0


@policies
def test_a_power_is_for_policies_with_shares(policy: str) -> None:
    kind = MEMORIES[policy]
    defaults = {"ocdm": 0.0, "prs": 0.1, "prs-published": 0.1}
    assert ("power" in kind.Settings.model_fields) == (policy in defaults)
    if policy in defaults:
        assert kind(160, torch.Generator(), kind.Settings(power=0.3)).settings.power == 0.3
        assert kind(160, torch.Generator()).settings.power == defaults[policy]


@policies
def test_an_unknown_codec_is_refused_with_those_that_there_are(policy: str) -> None:
    with pytest.raises(ConfigError, match=r"codec: Input should be 'raw', 'jpeg' or 'webp', not 'jpg'"):
        make_memory(policy, 10, codec="jpg")


class FirstInFirstOut(Memory):
    """As somebody might write it: without random draws, and it forgets what is old."""

    def choose_eviction(self) -> int:
        return min(range(len(self)), key=lambda slot: int(self.items[slot].id.split()[1]))


class Greedy(FirstInFirstOut):
    def fits(self, item: Item) -> bool:
        return len(self) < 7


class Careless(FirstInFirstOut):
    def accepts(self, item: Item) -> bool:
        return bool(torch.rand(()) < 0.5)


class Forgetful(FirstInFirstOut):
    """Has a state of its own that is not saved."""

    offers = 0

    def accepts(self, item: Item) -> bool:
        self.offers += 1
        return self.offers % 3 == 0


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (Greedy, r"memory policy 'mine': memory holds \d+ pixels, more than its \d+ \(check the_budget_is_never_exc"),
        (Careless, "draws from torch's global generator"),
        (Forgetful, "two memories that should be the same differ after more items"),
    ],
)
def test_what_does_not_hold_is_said(policy: type[Memory], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MEMORIES._parts, "mine", policy)
    with pytest.raises(AssertionError, match=message):
        check_memory("mine")


def test_a_policy_of_somebody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MEMORIES._parts, "mine", FirstInFirstOut)
    check_memory("mine")
    with pytest.raises(ConfigError, match="no check 'the_budget' of a memory policy"):
        check_memory("mine", skip=["the_budget"])
