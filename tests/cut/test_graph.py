import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import cosine_similarity, rbf_kernel

from cuter.cut import cosine_affinity, degrees, gaussian_affinity, laplacian
from cuter.cut.graph import FLOOR, isolate, unit_features


@given(seed=st.integers(0, 1000), tau=st.floats(-0.5, 0.9), centre=st.booleans())
def test_cosine_affinity_against_scikit_learn(seed: int, tau: float, centre: bool) -> None:
    features = torch.randn(2, 12, 5, generator=torch.Generator().manual_seed(seed))
    affinity = cosine_affinity(features, tau, centre=centre)
    for image, graph in zip(features.double().numpy(), affinity, strict=True):
        cosine = cosine_similarity(image - image.mean(axis=0) if centre else image)
        clear = np.abs(cosine - tau) > 1e-5  # at the threshold itself single precision decides
        expected = np.where(cosine > tau, 1.0, FLOOR)
        np.testing.assert_allclose(graph.numpy()[clear], expected[clear], rtol=1e-6)


@given(seed=st.integers(0, 1000), sigma=st.floats(0.2, 5))
def test_gaussian_affinity_against_scikit_learn(seed: int, sigma: float) -> None:
    features = torch.randn(2, 9, 4, generator=torch.Generator().manual_seed(seed)).double()
    affinity = gaussian_affinity(features, sigma)
    for image, graph in zip(features.numpy(), affinity, strict=True):
        np.testing.assert_allclose(graph, rbf_kernel(image, gamma=1 / (2 * sigma**2)), atol=1e-6)


def test_gaussian_affinity_has_a_unit_diagonal() -> None:
    features = 30 * torch.randn(3, 196, 192, generator=torch.Generator().manual_seed(0))
    assert torch.equal(gaussian_affinity(features).diagonal(dim1=1, dim2=2), torch.ones(3, 196))


@pytest.mark.parametrize("tau", [-0.3, 0.0, 0.2])
def test_a_zero_feature_is_like_nothing_not_even_itself(tau: float) -> None:
    features = torch.ones(1, 4, 3)
    features[0, 2] = 0
    affinity = cosine_affinity(features, tau)[0]
    assert affinity[2].eq(torch.tensor(FLOOR)).all()
    assert affinity[:, 2].eq(torch.tensor(FLOOR)).all()
    assert affinity[0].tolist() == pytest.approx([1, 1, FLOOR, 1])


def test_centring_equal_features_leaves_nothing_but_round_off_out() -> None:
    features = torch.full((1, 6, 5), 0.1).repeat(1, 1, 7) * torch.linspace(1, 3, 35)
    assert not unit_features(features, centre=True).any()


def test_the_laplacian_has_zero_row_sums_and_the_degrees_on_its_diagonal() -> None:
    affinity = cosine_affinity(torch.randn(2, 10, 3, generator=torch.Generator().manual_seed(1)), 0.1)
    graph = laplacian(affinity)
    assert graph.sum(dim=-1).abs().max() < 1e-5
    torch.testing.assert_close(graph.diagonal(dim1=1, dim2=2), degrees(affinity) - affinity.diagonal(dim1=1, dim2=2))


def test_isolated_nodes_have_floor_links_only() -> None:
    affinity = torch.ones(2, 3, 3)
    isolate(affinity, torch.tensor([[False, True, False], [False, False, False]]))
    floor = torch.tensor(FLOOR).item()
    assert affinity[0].tolist() == [[1, floor, 1], [floor, floor, floor], [1, floor, 1]]
    assert affinity[1].eq(1).all()


def test_half_precision_features_are_taken() -> None:
    features = torch.randn(1, 8, 4, generator=torch.Generator().manual_seed(0))
    assert torch.equal(cosine_affinity(features.half(), 0.1), cosine_affinity(features.half().float(), 0.1))
