"""What the paper states of the Fiedler value, on random graphs small enough for brute force."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cuter.cut import degrees, fiedler_values, normalized_cut


def random_graph(seed: int, n: int) -> torch.Tensor:
    weights = torch.rand(n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.triu(weights, 1) + torch.triu(weights, 1).T


@given(
    seed=st.integers(0, 10_000),
    sizes=st.lists(st.integers(1, 8), min_size=2, max_size=5),
    strength=st.floats(0, 3),
    signed=st.booleans(),
)
def test_theorem_noise_bounds_the_fiedler_value(seed: int, sizes: list[int], strength: float, signed: bool) -> None:
    """Theorem 2.3: A = A* + ε with A* block diagonal and ε without diagonal gives λ2 ≤ ‖ε‖2 + ‖ε‖∞."""
    generator = torch.Generator().manual_seed(seed)
    blocks = []
    for size in sizes:
        block = torch.rand(size, size, generator=generator, dtype=torch.float64)
        blocks.append(block + block.T)
    ideal = torch.block_diag(*blocks)
    noise = strength * (random_graph(seed + 1, len(ideal)) - (0.5 if signed else 0.0))
    noise.fill_diagonal_(0)
    bound = torch.linalg.matrix_norm(noise, 2) + torch.linalg.matrix_norm(noise, torch.inf)
    assert fiedler_values((ideal + noise)[None]).item() <= bound.item() + 1e-8


def smallest_cut(graph: np.ndarray, size_of: np.ndarray) -> float:
    """min over S of cut(S) / min(size(S), size(rest)), by trying all S."""
    n = len(graph)
    ratios = []
    for chosen in itertools.product([False, True], repeat=n - 1):
        inside = np.array([False, *chosen])
        if inside.any():
            cut = graph[inside][:, ~inside].sum()
            ratios.append(cut / min(size_of[inside].sum(), size_of[~inside].sum()))
    return float(min(ratios))


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), n=st.integers(2, 9), sparse=st.floats(0, 0.8))
def test_lemma_cheeger_bounds_for_the_isoperimetric_number(seed: int, n: int, sparse: float) -> None:
    """λ2 / 2 ≤ h ≤ √(2 Δ λ2) holds for L = D - A when sets are measured by their number of nodes."""
    graph = random_graph(seed, n)
    graph = torch.where(graph > sparse, graph, 0.0)
    fiedler = fiedler_values(graph[None]).item()
    constant = smallest_cut(graph.numpy(), np.ones(n))
    assert fiedler / 2 <= constant + 1e-8
    assert constant <= np.sqrt(2 * degrees(graph).max().item() * max(fiedler, 0)) + 1e-6


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), n=st.integers(2, 9))
def test_lemma_cheeger_bounds_for_the_conductance(seed: int, n: int) -> None:
    """With the paper's own definition of h, by volumes, the bounds are λ2 / 2 ≤ h ≤ √(2 λ2) of the normalised one."""
    graph = random_graph(seed, n)
    value = normalized_cut(graph[None]).values.item()
    constant = smallest_cut(graph.numpy(), degrees(graph).numpy())
    assert value / 2 <= constant + 1e-8
    assert constant <= np.sqrt(2 * value) + 1e-8


def test_lemma_as_printed_mixes_the_two() -> None:
    """The printed h does not change when all weights are scaled, but λ2 of D - A does: λ2 / 2 ≤ h fails."""
    complete = torch.ones(6, 6, dtype=torch.float64).fill_diagonal_(0)
    conductance = smallest_cut(complete.numpy(), degrees(complete).numpy())
    assert conductance == pytest.approx(0.6)
    assert fiedler_values(complete[None]).item() / 2 == pytest.approx(3.0)
