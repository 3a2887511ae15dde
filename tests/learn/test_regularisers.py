"""Every form against numpy and scipy, which know nothing of directions, detached vectors or gradients."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
import scipy.linalg
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import cosine_similarity, rbf_kernel
from sklearn.preprocessing import normalize

from cuter.cut import Regions, fiedler_values, gaussian_affinity, mask_cut
from cuter.cut.graph import FLOOR, unit_features
from cuter.errors import BatchError
from cuter.learn.regularisers import REGULARISERS
from cuter.learn.regularisers.acting import DELTA

NAMES = [name for name in REGULARISERS if name != "none"]
NOT_CONSTANT = [name for name in NAMES if name != "nuclear"]
GRID = (3, 4)
N = 12


def kernel(features: np.ndarray) -> np.ndarray:
    graph: np.ndarray = rbf_kernel(normalize(features), gamma=0.5)
    return graph


def smoothness(features: np.ndarray) -> float:
    units, graph = normalize(features), kernel(features)
    pairs = [(i, j) for i in range(len(units)) for j in range(len(units))]
    return sum(graph[i, j] * ((units[i] - units[j]) ** 2).sum() for i, j in pairs) / 2


def fiedler_value(features: np.ndarray) -> float:
    graph = kernel(features)
    values = scipy.linalg.eigvalsh(np.diag(graph.sum(axis=1)) - graph)
    return float(values[1]) / len(graph)


def ncut(features: np.ndarray, inside: np.ndarray) -> float:
    graph = np.maximum(cosine_similarity(features), FLOOR)
    cut = graph[inside][:, ~inside].sum()
    return float(cut / graph[inside].sum() + cut / graph[~inside].sum())


REFERENCES: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "nuclear": lambda x, _: np.linalg.norm(kernel(x), "nuc"),
    "sparse": lambda x, _: np.abs(kernel(x)).sum() / np.linalg.norm(kernel(x)),
    "smooth": lambda x, _: smoothness(x),
    "nuclear-features": lambda x, _: np.linalg.norm(normalize(x), "nuc") / np.sqrt(len(x)),
    "log-det": lambda x, _: np.linalg.slogdet(np.eye(len(x)) + kernel(x) / (len(x) * DELTA))[1],
    "zero-diagonal": lambda x, _: np.linalg.norm(kernel(x) - np.eye(len(x)), "nuc") / len(x),
    "fiedler": lambda x, _: fiedler_value(x),
    "cut-energy": ncut,
}


def patches(seed: int, images: int = 2, n: int = N, d: int = 5) -> torch.Tensor:
    """Make patches of two kinds with a common part, so that there is something to cut."""
    generator = torch.Generator().manual_seed(seed)
    common, kinds = torch.randn(images, 1, d, generator=generator), torch.randn(images, 2, d, generator=generator)
    kind = kinds.repeat_interleave(-(-n // 2), dim=1)[:, :n]
    return (common + kind + 0.5 * torch.randn(images, n, d, generator=generator)).double()


def regions_of(masks: torch.Tensor, grid: tuple[int, int] = GRID) -> Regions:
    """Make regions of masks (B, n) of one round."""
    rows = (len(masks), 1)
    shaped = masks.view(*rows, *grid)
    seeds = torch.where(masks.any(dim=1, keepdim=True), masks.int().argmax(dim=1, keepdim=True), -1)
    zeros = torch.zeros(rows)
    return Regions(shaped, torch.zeros(*rows, 4), seeds, zeros, shaped.float(), zeros, zeros.bool())


def some_regions(seed: int, images: int = 2) -> Regions:
    masks = torch.rand(images, N, generator=torch.Generator().manual_seed(seed)) < 0.4
    masks[:, 0], masks[:, -1] = True, False
    return regions_of(masks)


def reference(name: str, features: torch.Tensor, regions: Regions) -> float:
    insides = regions.masks[:, 0].flatten(1).numpy()
    return float(np.mean([REFERENCES[name](x, s) for x, s in zip(features.numpy(), insides, strict=True)]))


def gradient(name: str, features: torch.Tensor, regions: Regions | None) -> torch.Tensor:
    features = features.clone().requires_grad_()
    REGULARISERS[name](features, regions).backward()
    assert features.grad is not None
    return features.grad


@given(st.integers(0, 10_000), st.integers(1, 20), st.integers(1, 8), st.floats(0.01, 100))
def test_the_printed_nuclear_norm_is_the_number_of_patches(seed: int, n: int, d: int, scale: float) -> None:
    features = scale * torch.randn(2, n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    assert np.linalg.norm(kernel(features[0].numpy()), "nuc") == pytest.approx(n)
    assert REGULARISERS["nuclear"](features, None).item() == pytest.approx(n)
    assert (scale * gradient("nuclear", features, None)).abs().max() < 1e-6


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25)
@given(seed=st.integers(0, 10_000))
def test_equal_to_the_formula(name: str, seed: int) -> None:
    features, regions = 3 * patches(seed), some_regions(seed)
    expected = reference(name, features, regions)
    assert REGULARISERS[name](features, regions).item() == pytest.approx(expected, rel=1e-6)
    assert REGULARISERS[name](features.float(), regions).item() == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("name", NOT_CONSTANT)
@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_is_that_of_the_formula(name: str, seed: int) -> None:
    """Differences of the reference along a few random directions, also where ours holds a part constant."""
    features, regions, step = patches(seed), some_regions(seed), 1e-5
    actual = gradient(name, features, regions)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(8):
        way = torch.randn(features.shape, generator=generator, dtype=torch.float64)
        there, back = (reference(name, features + sign * step * way, regions) for sign in (1, -1))
        expected = (there - back) / (2 * step)
        assert abs((actual * way).sum().item() - expected) < 1e-5 * actual.norm() * way.norm()
    assert torch.autograd.gradcheck(lambda x: REGULARISERS[name](x, regions), features.clone().requires_grad_())


@cache  # for all regularisers
def degenerate_cut(kind: str, dtype: torch.dtype) -> Regions:
    return mask_cut(degenerate(kind).to(dtype), GRID)


def degenerate(kind: str) -> torch.Tensor:
    features = patches(0, images=3).float()
    match kind:
        case "all patches equal":
            features[1] = features[1, :1]
        case "all patches zero":
            features[1] = 0
        case "a zero patch":
            features[1, 3] = 0
        case "a patch that is nearly zero":
            features[1, 3] *= 1e-12
        case "patches in pairs":
            features[:, 1::2] = features[:, ::2]
        case "opposite patches":
            features[1] = features[1, :1]
            features[1, ::3] *= -1
        case "orthogonal patches":
            features = torch.eye(N).expand(3, N, N).clone()
        case "one dimension":
            features = features[:, :, :1].clone()
    return features


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "kind",
    [
        "all patches equal",
        "all patches zero",
        "a zero patch",
        "a patch that is nearly zero",
        "patches in pairs",
        "opposite patches",
        "orthogonal patches",
        "one dimension",
    ],
)
def test_degenerate_images_have_finite_values_and_gradients(kind: str, name: str, dtype: torch.dtype) -> None:
    features = degenerate(kind).to(dtype)
    masks = torch.zeros(3, N, dtype=torch.bool)
    masks[0, 4:8] = masks[1, 3] = True  # image 1 parts what is alike, image 2 has no region
    for regions in (regions_of(masks), regions_of(~masks), degenerate_cut(kind, dtype)):
        slope = gradient(name, features, regions)
        assert REGULARISERS[name](features, regions).isfinite()
        assert slope.isfinite().all()
        assert slope.abs().max() < 100 * N**2 * len(features)  # nothing is divided by almost nothing
        assert not slope[features == 0].any() or kind == "orthogonal patches"


@pytest.mark.parametrize("name", NAMES)
def test_one_patch_or_no_image(name: str) -> None:
    one = torch.randn(2, 1, 4, generator=torch.Generator().manual_seed(0))
    assert gradient(name, one, mask_cut(one, (1, 1))).abs().max() < 1e-6
    for grid in (GRID, (14, 14)):  # both solvers
        n = grid[0] * grid[1]
        none = regions_of(torch.zeros(0, n, dtype=torch.bool), grid)
        empty = torch.zeros(0, n, 4, requires_grad=True)
        value = REGULARISERS[name](empty, none)
        value.backward()
        assert value.item() == 0
        assert empty.grad is not None


@pytest.mark.parametrize("name", NAMES)
def test_each_image_weighs_the_same(name: str) -> None:
    features, regions = patches(1, images=3), some_regions(1, images=3)
    alone = [
        REGULARISERS[name](one[None], regions_of(mask.flatten()[None])).item()
        for one, mask in zip(features, regions.masks, strict=True)
    ]
    assert REGULARISERS[name](features, regions).item() == pytest.approx(np.mean(alone))


def test_where_nothing_was_found_nothing_is_added() -> None:
    features, regions = patches(2), some_regions(2)
    regions.masks[1] = False
    assert REGULARISERS["cut-energy"](features, regions).item() == pytest.approx(
        ncut(features[0].numpy(), regions.masks[0].flatten().numpy()) / 2
    )
    slope = gradient("cut-energy", features, regions)
    assert slope[0].any()
    assert not slope[1].any()


def test_a_multiple_fiedler_value_adds_nothing() -> None:
    features = torch.cat([patches(3, images=1, d=N), torch.eye(N, dtype=torch.float64)[None]])
    assert REGULARISERS["fiedler"](features, None).item() == pytest.approx(fiedler_value(features[0].numpy()) / 2)
    assert not gradient("fiedler", features, None)[1].any()


@pytest.mark.parametrize("regions", [None, some_regions(0, images=3)])
def test_the_cut_energy_needs_the_regions_of_its_images(regions: Regions | None) -> None:
    with pytest.raises(BatchError, match=r"needs the regions of 2 images of 12 patches, not (none|those of 3 images)"):
        REGULARISERS["cut-energy"](patches(0), regions)


@pytest.mark.parametrize("name", ["nuclear-features", "log-det", "fiedler", "cut-energy"])
def test_a_finer_grid_of_the_same_image_gives_the_same(name: str) -> None:
    features, regions = patches(4), some_regions(4)
    finer = regions_of(regions.masks[:, 0].flatten(1).repeat_interleave(4, dim=1), (6, 8))
    assert REGULARISERS[name](features.repeat_interleave(4, dim=1), finer).item() == pytest.approx(
        REGULARISERS[name](features, regions).item()
    )


def test_the_fiedler_value_is_the_one_of_assess_and_exact_where_single_precision_solves() -> None:
    features = patches(5, images=6, n=196, d=24).float()
    value = REGULARISERS["fiedler"](features, None).item()
    graphs = gaussian_affinity(unit_features(features))
    assert value == pytest.approx((fiedler_values(graphs) / 196).mean().item(), rel=1e-6)
    doubled = features.double().requires_grad_()
    affinity = gaussian_affinity(torch.nn.functional.normalize(doubled, dim=-1))
    graph = torch.diag_embed(affinity.sum(dim=-1)) - affinity
    (torch.linalg.eigvalsh(graph)[:, 1].mean() / 196).backward()
    difference = gradient("fiedler", features, None) - doubled.grad
    assert difference.norm() < 1e-3 * doubled.grad.norm()


@pytest.mark.parametrize("name", NAMES)
def test_automatic_half_precision_changes_nothing(name: str) -> None:
    features, regions = patches(6).float(), some_regions(6)
    expected = REGULARISERS[name](features, regions)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert REGULARISERS[name](features, regions).equal(expected)


# What descent on each form does to the Fiedler value of patches of two kinds that have much in common. It must fall for
# its own form; that it falls or rises for the others is so for images like these. Real ones:
# docs/explanation/regularisers.md.
FIEDLER_FALLS = {
    "sparse": True,
    "smooth": False,
    "nuclear-features": False,
    "log-det": False,
    "zero-diagonal": True,
    "fiedler": True,
    "cut-energy": True,
}


@pytest.mark.parametrize("name", FIEDLER_FALLS)
@pytest.mark.parametrize("seed", range(3))
def test_descent_lowers_the_value(name: str, seed: int) -> None:
    before = features = patches(seed, images=4)
    regions = mask_cut(features, GRID)
    for _ in range(30):
        slope = gradient(name, features, regions)
        features = features - 0.02 * features.norm() * slope / slope.norm()
    assert REGULARISERS[name](features, regions) < REGULARISERS[name](before, regions)
    change = REGULARISERS["fiedler"](features, None) - REGULARISERS["fiedler"](before, None)
    assert (change < 0) == FIEDLER_FALLS[name]


@pytest.mark.parametrize(("name", "least"), [("smooth", 0), ("nuclear-features", 1), ("log-det", np.log1p(1 / DELTA))])
def test_low_rank_is_lowest_where_all_patches_are_alike_and_the_fiedler_value_is_largest(
    name: str, least: float
) -> None:
    alike = patches(7)[:, :1].expand(2, N, 5)
    assert REGULARISERS[name](alike, None).item() == pytest.approx(least, abs=1e-9)
    assert REGULARISERS[name](patches(7), None).item() > least
    assert fiedler_value(alike[0].numpy()) == pytest.approx(1)
