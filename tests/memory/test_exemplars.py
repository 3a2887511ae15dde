"""Exemplars: quotas when a task is over, herding and clusters against their definitions."""

from collections import Counter
from dataclasses import replace
from zlib import crc32

import numpy as np
import pytest
import torch
from scipy.stats import chi2

from cuter.memory import Item
from cuter.memory.cluster import ClusterCentres
from cuter.memory.exemplars import Exemplars
from cuter.memory.herding import Herding

both = pytest.mark.parametrize("policy", [Herding, ClusterCentres])


def item(labels: set[int], columns: int, name: str = "", pixels: int = 1) -> Item:
    given = torch.zeros(columns, dtype=torch.bool)
    given[sorted(labels)] = True
    embedding = torch.randn(5, generator=torch.Generator().manual_seed(crc32(name.encode())))
    image = torch.zeros(3, 1, pixels, dtype=torch.uint8)
    return Item(image, given, torch.ones(columns, dtype=torch.bool), name, embedding=embedding)


def make(policy: type[Exemplars], budget: int, seed: int = 0) -> Exemplars:
    return policy(budget, torch.Generator().manual_seed(seed))


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def textbook_herding(features: np.ndarray, count: int) -> list[int]:
    """Algorithm 4 of iCaRL, word for word: p_k = argmin over x of ‖μ - (φ(x) + Σ_{j<k} φ(p_j)) / k‖."""
    mu, chosen = features.mean(axis=0), []
    for k in range(1, count + 1):
        best, smallest = -1, np.inf
        for x in range(len(features)):
            if x in chosen:
                continue
            distance = np.linalg.norm(mu - (features[x] + sum(features[j] for j in chosen)) / k)
            if distance < smallest:
                best, smallest = x, distance
        chosen.append(best)
    return chosen


@pytest.mark.parametrize("seed", range(6))
def test_herding_is_the_textbook_recursion(seed: int) -> None:
    rng = np.random.default_rng(seed)
    features = unit(rng.normal(size=(25, 4)) + rng.normal(size=4))
    for count in (1, 7, 24):
        assert make(Herding, 10).pick(features, count) == textbook_herding(features, count)


def test_the_mean_of_exemplars_is_nearer_than_that_of_random_ones() -> None:
    rng = np.random.default_rng(0)
    features = unit(rng.normal(size=(200, 8)))
    picked = np.linalg.norm(features[make(Herding, 10).pick(features, 10)].mean(0) - features.mean(0))
    drawn = [np.linalg.norm(features[rng.choice(200, 10, False)].mean(0) - features.mean(0)) for _ in range(200)]
    assert picked < min(drawn)


def test_clusters_are_all_represented_by_their_middle() -> None:
    """Five far clouds of very different sizes: one exemplar each, the member nearest to the mean of its cloud."""
    rng = np.random.default_rng(0)
    sizes = [40, 5, 80, 12, 3]
    centres = np.eye(5)
    cloud = np.repeat(range(5), sizes)
    features = unit(centres[cloud] + 0.005 * rng.normal(size=(sum(sizes), 5)))
    expected = []
    for label in range(5):
        members = np.flatnonzero(cloud == label)
        distance = np.linalg.norm(features[members] - features[members].mean(axis=0), axis=1)
        expected.append(int(members[distance.argmin()]))
    for seed in range(5):
        assert sorted(make(ClusterCentres, 10, seed).pick(features, 5)) == expected


def test_clusters_of_items_that_look_the_same() -> None:
    features = unit(np.repeat(np.eye(3), 10, axis=0))
    picked = make(ClusterCentres, 10).pick(features, 8)
    assert sorted(row // 10 for row in picked) == [0, 1, 2]


def test_the_same_seed_finds_the_same_clusters_and_another_one_others() -> None:
    features = unit(np.random.default_rng(0).normal(size=(300, 16)))
    first, second, other = (make(ClusterCentres, 10, seed).pick(features, 40) for seed in (0, 0, 1))
    assert list(first) == list(second) != list(other)
    assert len(set(first)) == 40


@both
def test_new_classes_end_a_task_and_each_class_keeps_its_quota(policy: type[Exemplars]) -> None:
    memory = make(policy, 60)
    memory.offer([item({int(n % 3 > 0)}, 2, f"first/{n}") for n in range(200)])  # two of three are of class 1
    assert len(memory) == 60
    memory.offer([item({2}, 4, "new")])
    assert memory.counts().tolist() == [15, 15, 1, 0], "⌈60/4⌉ of each class: the coming ones count"
    memory.offer([item({2 + n % 2}, 4, f"second/{n}") for n in range(300)])
    assert len(memory) == 60
    assert memory.counts()[:2].tolist() == [15, 15], "exemplars give no place to the current task"
    memory.offer([item({4}, 5, "newer")])
    assert memory.counts().tolist()[:2] == [12, 12]
    assert max(memory.counts().tolist()) == 12


def test_who_stays_is_what_herding_picks_of_each_class() -> None:
    memory = make(Herding, 30)
    memory.offer([item({n % 3} | ({2} if n % 5 == 0 else set()), 3, str(n)) for n in range(30)])
    pools = {c: [kept for kept in memory.items if c in kept.classes] for c in range(3)}
    expected = set()
    for pool in pools.values():
        features = unit(np.stack([kept.tensors()["embedding"].double().numpy() for kept in pool]))
        expected |= {pool[row].id for row in textbook_herding(features, 5)}
    memory.offer([item({5}, 6, "new")])  # ⌈30/6⌉ = 5
    assert {kept.id for kept in memory.items} == expected | {"new"}
    assert len(expected) < 15, "an item that two classes pick is kept once"


@both
def test_the_current_task_is_a_reservoir(policy: type[Exemplars]) -> None:
    """Every item of the second task is kept equally often in the half that the first one leaves."""
    stream, repeats = 30, 250
    counts = np.zeros(stream)
    first = [item({0}, 1, f"first/{n}") for n in range(20)]
    second = [item({1}, 2, str(n)) for n in range(stream)]
    for seed in range(repeats):
        memory = make(policy, 20, seed)
        memory.offer(first)
        memory.offer(second)
        late = [int(kept.id) for kept in memory.items if kept.classes == [1]]
        assert len(late) == 10
        counts[late] += 1
    share = 10 / stream
    deviation = ((counts - repeats * share) ** 2 / (repeats * share * (1 - share))).sum()
    assert chi2.sf(deviation * (stream - 1) / stream, df=stream - 1) > 1e-3


@both
def test_quotas_of_items_of_different_sizes(policy: type[Exemplars]) -> None:
    """Items of 4 pixels on average: 100 pixels hold 25, so that each of five classes keeps five."""
    memory = make(policy, 100)
    memory.offer([item({n % 3}, 3, str(n), pixels=3 + 2 * (n % 2)) for n in range(24)])
    assert memory.pixels == 96
    memory.offer([item({4}, 5, "new")])
    assert memory.counts().tolist() == [5, 5, 5, 0, 1]


@both
def test_where_exemplars_leave_no_room_a_new_class_still_gets_in(policy: type[Exemplars]) -> None:
    memory = make(policy, 4)
    memory.offer([item({n}, 4, str(n)) for n in range(4)])
    memory.offer([item({4}, 5, "new")])  # ⌈4/5⌉ = 1 of each of four: full
    assert Counter(kept.id for kept in memory.items)["new"] == 1
    assert len(memory) == 4
    memory.offer([item({4}, 5, "newer")] * 50)
    assert memory.counts()[:4].sum() == 3, "and only one"


def test_embeddings_are_brought_to_the_same_length() -> None:
    chosen = []
    for scale in (1.0, 50.0):
        memory = make(Herding, 20)
        items = [item({0}, 1, str(n)) for n in range(20)]
        stretched = [
            replace(i, embedding=i.tensors()["embedding"] * (scale if n % 2 else 1)) for n, i in enumerate(items)
        ]
        memory.offer(stretched)
        memory.offer([item({1}, 2, "new")])
        chosen.append([kept.id for kept in memory.items])
    assert chosen[0] == chosen[1]
