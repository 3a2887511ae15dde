import numpy as np
import pytest
import scipy.linalg
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cuter.cut import eigen, fiedler_values, normalized_cut
from cuter.cut.eigen import SMALL, second_eigenpairs
from cuter.cut.lanczos import lanczos
from cuter.cut.ties import above_mean, first_peak
from cuter.errors import BatchError
from maskcut_reference import second_eigenpair


def blocks(sizes: list[int], between: float, seed: int, n_graphs: int = 1) -> torch.Tensor:
    """Graphs of strongly linked blocks, weakly linked to each other, with noise."""
    generator = torch.Generator().manual_seed(seed)
    member = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    weights = torch.where(member[:, None] == member, 1.0, between)
    noise = torch.rand(n_graphs, len(member), len(member), generator=generator)
    graphs = weights * (0.5 + (noise + noise.transpose(1, 2)) / 2)
    return graphs


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), self_loop_weight=st.sampled_from([0.0, 1.0]), first=st.integers(10, 90))
def test_partition_and_value_are_those_of_scipy(seed: int, self_loop_weight: float, first: int) -> None:
    n = SMALL + 40
    graphs = blocks([first, n - first], 0.2, seed, 3)
    pairs = normalized_cut(graphs, self_loop_weight=self_loop_weight)
    for graph, value, vector in zip(graphs.double().numpy(), pairs.values, pairs.vectors, strict=True):
        degree = graph.sum(axis=1)
        expected_value, expected, _ = second_eigenpair(graph, degree + self_loop_weight * degree.mean())
        expected = expected * np.sign(expected[np.abs(expected).argmax()])
        assert value.item() == pytest.approx(expected_value, abs=1e-5)
        assert np.array_equal(vector.numpy() > vector.numpy().mean(), expected > expected.mean())


def test_most_graphs_need_no_exact_solve() -> None:
    graphs = blocks([40, SMALL], 0.1, 0, 20)
    assert normalized_cut(graphs).exact.sum() <= 2


@pytest.mark.parametrize("n", [2, 3, 20, SMALL])
def test_small_graphs_are_solved_exactly(n: int) -> None:
    graphs = blocks([n // 2, n - n // 2], 0.1, 3)
    pairs = normalized_cut(graphs)
    assert pairs.exact.all()
    degree = graphs[0].double().sum(dim=1)
    laplacian = torch.diag(degree) - graphs[0].double()
    values = scipy.linalg.eigh(laplacian.numpy(), torch.diag(degree).numpy(), eigvals_only=True)
    assert pairs.values[0].item() == pytest.approx(values[1])


@pytest.mark.parametrize("n", [30, SMALL + 50])
def test_three_equal_blocks_have_no_single_best_cut(n: int) -> None:
    """λ2 = λ3 exactly: an iterative solver would give some mixture of the two, and a different one each time."""
    member = torch.arange(3 * (n // 3)) % 3
    graph = torch.where(member[:, None] == member, 1.0, 0.1)[None]
    pairs = normalized_cut(graph)
    assert pairs.exact.all()
    assert not pairs.vectors.any()


def test_nearly_equal_eigenvalues_are_told_apart() -> None:
    """Three equal blocks but for one edge: λ2 and λ3 differ by less than single precision can tell."""
    member = torch.repeat_interleave(torch.arange(3), 70)
    graph = torch.where(member[:, None] == member, 1.0, 1e-2)
    graph[0, 1] = graph[1, 0] = 0.99
    pairs = normalized_cut(graph[None])
    _, expected, gap = second_eigenpair(graph.double().numpy(), graph.double().sum(dim=1).numpy())
    assert 1e-9 < gap < 1e-6
    assert pairs.exact.all()
    expected = expected * np.sign(expected[np.abs(expected).argmax()])
    np.testing.assert_allclose(pairs.vectors[0].numpy(), expected, atol=1e-6)


def irregular(kind: str, seed: int) -> torch.Tensor:
    """Graphs that are nothing like photos: without self_loop_weight, with nodes that hang on themselves, sparse."""
    generator = np.random.default_rng(seed)
    n = int(generator.integers(100, 220))
    graph = np.full((n, n), 1e-5)
    if kind == "no loops":
        graph = generator.random((n, n)) * (generator.random((n, n)) < 0.2) + 1e-4
        graph = np.maximum(graph, graph.T)
        np.fill_diagonal(graph, 0)
    else:
        half, alone = n // 2, int(generator.integers(1, 6))
        graph[:half, :half] = graph[half:, half:] = 1
        for row, column in zip(generator.integers(0, half, 5), generator.integers(half, n, 5), strict=True):
            graph[row, column] = graph[column, row] = 1
        for node in generator.integers(0, n, alone):
            graph[node, :] = graph[:, node] = 1e-5
            graph[node, node] = 1
    return torch.from_numpy(graph).float()


@pytest.mark.parametrize("kind", ["no loops", "nodes alone"])
def test_what_single_precision_settles_is_right(kind: str) -> None:
    settled = 0
    for seed in range(40):
        graph = irregular(kind, seed)
        pairs = normalized_cut(graph[None])
        if pairs.exact.item():
            continue
        settled += 1
        _, expected, _ = second_eigenpair(graph.double().numpy(), graph.double().sum(dim=1).numpy())
        expected = torch.from_numpy(expected * np.sign(expected[np.abs(expected).argmax()]))[None]
        assert torch.equal(above_mean(pairs.vectors), above_mean(expected))
        assert torch.equal(first_peak(pairs.vectors), first_peak(expected))
    assert settled > 0


def test_too_few_steps_settle_nothing() -> None:
    graphs = blocks([60, SMALL], 0.3, 5, 4)
    degree = graphs.sum(dim=-1)
    assert not lanczos(graphs, degree, degree, torch.stack([degree, degree.flip(1)], dim=1), (2,)).settled.any()


def test_double_precision_goes_on_where_single_precision_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eigen, "CHECKS", (2,))
    monkeypatch.setattr(eigen, "solve_exactly", lambda *_: pytest.fail("LAPACK was not needed"))
    graphs = blocks([60, SMALL], 0.1, 5, 4)
    pairs = normalized_cut(graphs)
    assert pairs.exact.all()
    assert ((pairs.vectors > 0)[:, :60].all(dim=1) != (pairs.vectors > 0)[:, 60:].all(dim=1)).all()


def test_a_space_that_is_used_up_early() -> None:
    """Two kinds of nodes: the graph has few distinct eigenvalues, and the steps soon find nothing new."""
    member = torch.arange(SMALL + 60) < 50
    graph = torch.where(member[:, None] == member, 1.0, 0.2)[None]
    assert torch.equal(normalized_cut(graph).vectors[0] > 0, member)


def test_other_precisions() -> None:
    graphs = blocks([60, SMALL], 0.1, 5, 2)
    expected = normalized_cut(graphs).vectors > 0
    assert torch.equal(normalized_cut(graphs.double()).vectors > 0, expected)
    assert torch.equal(normalized_cut(graphs.half()).vectors > 0, expected)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(normalized_cut(graphs).vectors > 0, expected)


def test_a_node_without_links_is_refused() -> None:
    graphs = blocks([10, 10], 0.1, 0)
    graphs[0, 3] = graphs[0, :, 3] = 0
    with pytest.raises(BatchError, match="without any link"):
        normalized_cut(graphs)


def test_a_complete_graph_has_no_cut() -> None:
    for n in (1, 2 * SMALL):
        assert not normalized_cut(torch.ones(2, n, n)).vectors.any()


def test_two_islands_are_told_apart_though_only_floor_links_join_them() -> None:
    member = torch.arange(SMALL + 60) % 3 == 0
    graph = torch.where(member[:, None] == member, 1.0, 1e-5)[None]
    sides = normalized_cut(graph).vectors[0] > 0
    assert torch.equal(sides, member) or torch.equal(sides, ~member)


def test_vectors_are_signed_and_scaled_the_same_way_every_time() -> None:
    graphs = blocks([60, SMALL], 0.15, 5, 4)
    pairs = normalized_cut(graphs)
    peaks = pairs.vectors.gather(1, pairs.vectors.abs().argmax(dim=1, keepdim=True))
    assert (peaks > 0).all()
    lengths = (pairs.vectors.square() * graphs.sum(dim=-1)).sum(dim=1)
    torch.testing.assert_close(lengths, torch.ones(4), rtol=1e-3, atol=0)
    assert torch.equal(pairs.vectors, normalized_cut(graphs).vectors)


def test_a_graph_is_cut_alike_alone_and_in_company() -> None:
    graphs = blocks([50, SMALL], 0.15, 6, 5)
    together = normalized_cut(graphs).vectors > 0
    alone = torch.cat([normalized_cut(graph[None]).vectors for graph in graphs]) > 0
    assert torch.equal(together, alone)


def test_a_relabelled_graph_gives_the_relabelled_cut() -> None:
    graphs = blocks([50, SMALL], 0.15, 7)
    order = torch.randperm(50 + SMALL, generator=torch.Generator().manual_seed(0))
    moved = normalized_cut(graphs[:, order][:, :, order]).vectors
    assert torch.equal(moved > moved.mean(), (normalized_cut(graphs).vectors[:, order] > moved.mean()))


def test_loops_give_every_node_weight() -> None:
    """A hub of few nodes with many links outweighs the others in a normalised cut; self_loop_weight even that out."""
    graphs = blocks([40, SMALL], 0.3, 8)
    plain, even = (normalized_cut(graphs, self_loop_weight=self_loop_weight).vectors for self_loop_weight in (0.0, 1e6))
    ratio = second_eigenpairs(graphs, lambda degree, _: torch.ones_like(degree)).vectors
    assert not torch.allclose(plain / plain.norm(), even / even.norm(), atol=1e-4)
    torch.testing.assert_close(even / even.norm(), ratio / ratio.norm(), atol=1e-3, rtol=0)


def test_nodes_without_links_get_no_loop() -> None:
    graphs = blocks([40, SMALL], 0.1, 9)
    without = torch.zeros(1, graphs.shape[1], dtype=torch.bool)
    without[0, :5] = True
    graphs.masked_fill_(without.unsqueeze(1) | without.unsqueeze(2), 1e-5)
    sides = normalized_cut(graphs, self_loop_weight=1.0, without=without).vectors[0, 5:] > 0
    assert sides[:35].all() != sides[35:].all()
    assert len(sides[:35].unique()) == len(sides[35:].unique()) == 1


@settings(max_examples=10)
@given(seed=st.integers(0, 10_000), n=st.sampled_from([5, 60, SMALL + 30]))
def test_fiedler_values_against_scipy(seed: int, n: int) -> None:
    graphs = blocks([n // 3, n - n // 3], 0.1, seed, 2)
    expected = [scipy.linalg.eigvalsh(np.diag(graph.sum(1)) - graph)[1] for graph in graphs.double().numpy()]
    np.testing.assert_allclose(fiedler_values(graphs), expected, rtol=1e-4)


def test_first_peak_takes_the_first_of_equals() -> None:
    values = torch.tensor([[0.0, 1.0, 1.0 + 1e-7, 0.5], [-3.0, -2.0, -2.0, -4.0]])
    assert first_peak(values).tolist() == [1, 1]
