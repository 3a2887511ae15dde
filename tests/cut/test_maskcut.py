import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from cuter.cut import mask_cut, maskcut
from cuter.cut.maskcut import grow, orient, separation
from cuter.errors import BatchError
from maskcut_reference import box_of, mask_cut_reference

ROWS, COLUMNS = 9, 16


def scene(*boxes: tuple[int, int, int, int], grid: tuple[int, int] = (ROWS, COLUMNS), seed: int = 0) -> torch.Tensor:
    """Features (1, n, d) of a background and one object a box, each with a direction of its own, and some noise."""
    owner = torch.zeros(grid, dtype=torch.long)
    for number, (x1, y1, x2, y2) in enumerate(boxes, start=1):
        owner[y1:y2, x1:x2] = number
    directions = torch.eye(len(boxes) + 1, 8)
    noise = torch.randn(grid[0] * grid[1], 8, generator=torch.Generator().manual_seed(seed))
    return (directions[owner.flatten()] + 0.02 * noise).unsqueeze(0)


@pytest.mark.parametrize(
    "box",
    [(10, 1, 14, 3), (1, 5, 3, 8), (2, 2, 9, 4), (0, 3, 2, 9), (13, 0, 16, 4), (6, 6, 7, 7)],
    ids=lambda box: "-".join(map(str, box)),
)
def test_an_object_is_found_where_it_is(box: tuple[int, int, int, int]) -> None:
    """Neither mirrored (x and y swapped) nor shifted: the object is off centre, longer than wide, on a wide grid."""
    regions = mask_cut(scene(box), (ROWS, COLUMNS), max_regions=1)
    x1, y1, x2, y2 = box
    expected = torch.zeros(ROWS, COLUMNS, dtype=torch.bool)
    expected[y1:y2, x1:x2] = True
    assert torch.equal(regions.masks[0, 0], expected)
    assert regions.boxes[0, 0].tolist() == list(box)
    row, column = divmod(regions.seeds[0, 0].item(), COLUMNS)
    assert expected[row, column]
    assert 0.9 < regions.scores[0, 0] <= 1


@pytest.mark.parametrize("grid", [(9, 16), (16, 9), (1, 30), (30, 1), (7, 40)])
def test_any_grid(grid: tuple[int, int]) -> None:
    rows, columns = grid
    box = (columns // 3, rows // 4, columns // 3 + max(1, columns // 5), rows // 4 + max(1, rows // 2))
    regions = mask_cut(scene(box, grid=grid), grid, max_regions=1)
    assert regions.boxes[0, 0].tolist() == list(box)


def test_the_second_round_finds_the_second_object() -> None:
    left, right = (1, 1, 5, 8), (9, 2, 14, 5)
    regions = mask_cut(scene(left, right), (ROWS, COLUMNS), max_regions=2)
    assert sorted(map(tuple, regions.boxes[0].tolist())) == sorted([left, right])
    assert not (regions.masks[0, 0] & regions.masks[0, 1]).any()


def test_a_third_round_finds_nothing_more_in_two_objects() -> None:
    regions = mask_cut(scene((1, 1, 5, 8), (9, 2, 14, 5)), (ROWS, COLUMNS), max_regions=3)
    assert regions.found[0].tolist() == [True, True, False]
    assert regions.boxes[0, 2].tolist() == [0, 0, 0, 0]
    assert regions.seeds[0, 2] == -1
    assert regions.scores[0, 2] == 0
    assert not regions.masks[0, 2].any()


def test_only_the_piece_with_the_seed_is_taken() -> None:
    """Two alike objects apart from each other are one side of the cut; the region is one of them, not their hull."""
    one, other = (1, 1, 4, 4), (10, 5, 13, 8)
    features = scene(one)
    features[0].unflatten(0, (ROWS, COLUMNS))[5:8, 10:13] = features[0].unflatten(0, (ROWS, COLUMNS))[1:4, 1:4]
    regions = mask_cut(features, (ROWS, COLUMNS), max_regions=1)
    assert tuple(regions.boxes[0, 0].tolist()) in (one, other)


def test_what_holds_three_corners_is_background() -> None:
    frame = torch.ones(ROWS, COLUMNS)
    frame[3:6, 2:9] = -0.9
    vectors, foreground, seeds = orient(frame.flatten()[None], (ROWS, COLUMNS))
    assert torch.equal(foreground[0].view(ROWS, COLUMNS), frame < 0)
    assert vectors[0, seeds[0]] == pytest.approx(0.9)
    frame[0, 0] = frame[0, -1] = -0.9  # with two corners it stays an object
    assert torch.equal(orient(frame.flatten()[None], (ROWS, COLUMNS))[1][0].view(ROWS, COLUMNS), frame > 0)


def test_a_later_region_of_one_patch_is_dropped() -> None:
    grid = (14, 14)
    features = scene((2, 2, 8, 9), (11, 11, 12, 12), grid=grid)
    assert mask_cut(features, grid, max_regions=2, self_loop_weight=1.0).found[0].tolist() == [True, False]


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    grid=st.sampled_from([(5, 7), (14, 14), (9, 16)]),
    tau=st.sampled_from([-0.1, 0.0, 0.2]),
    centre=st.booleans(),
    self_loop_weight=st.sampled_from([0.0, 1.0]),
)
def test_masks_are_those_of_the_exact_reference(
    seed: int, grid: tuple[int, int], tau: float, centre: bool, self_loop_weight: float
) -> None:
    generator = torch.Generator().manual_seed(seed)
    smooth = torch.randn(3, 4, *grid, generator=generator)
    smooth = torch.nn.functional.avg_pool2d(smooth, 5, stride=1, padding=2)  # neighbours alike, as in photos
    features = smooth.flatten(2).transpose(1, 2)
    regions = mask_cut(features, grid, 2, tau, centre=centre, self_loop_weight=self_loop_weight)
    for index in range(3):
        expected, gap = mask_cut_reference(
            features[index].numpy(), grid, 2, tau, centre=centre, self_loop_weight=self_loop_weight
        )
        if gap > 1e-6:  # closer eigenvalues than that depend on how the floor is rounded
            assert np.array_equal(regions.masks[index].numpy(), expected)
            assert regions.boxes[index].tolist() == [box_of(mask) for mask in expected]


def test_images_do_not_disturb_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    features = torch.cat([scene((2, 2, 9, 4), seed=1), scene((0, 3, 2, 9), seed=2), scene((6, 6, 9, 8), seed=3)])
    together = mask_cut(features, (ROWS, COLUMNS))
    monkeypatch.setattr(maskcut, "CPU_BYTES", 1)  # one image at a time
    for name in ("masks", "boxes", "seeds"):
        assert torch.equal(getattr(together, name), getattr(mask_cut(features, (ROWS, COLUMNS)), name))


def test_all_patches_alike_means_nothing_found() -> None:
    for centre in (False, True):
        regions = mask_cut(torch.ones(2, 144, 5), (ROWS, COLUMNS), centre=centre)
        assert not regions.found.any()
        assert not regions.masks.any()
        assert not regions.scores.any()


def test_zero_features_mean_nothing_found() -> None:
    assert not mask_cut(torch.zeros(1, 144, 5), (ROWS, COLUMNS)).found.any()


def test_one_patch_is_no_region() -> None:
    regions = mask_cut(torch.randn(3, 1, 4), (1, 1))
    assert regions.masks.shape == (3, 2, 1, 1)
    assert not regions.found.any()


def test_two_patches() -> None:
    regions = mask_cut(torch.eye(2)[None], (1, 2), max_regions=1)
    assert regions.masks[0, 0].sum() == 1


def test_no_images() -> None:
    regions = mask_cut(torch.empty(0, 144, 5), (ROWS, COLUMNS), max_regions=3)
    assert regions.masks.shape == (0, 3, ROWS, COLUMNS)
    assert regions.boxes.shape == (0, 3, 4)
    assert regions.scores.shape == regions.seeds.shape == regions.exact.shape == (0, 3)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_features_that_are_no_numbers_are_refused_with_the_image(bad: float) -> None:
    features = torch.randn(4, 144, 5)
    features[2, 17, 3] = bad
    with pytest.raises(BatchError, match="image 2 "):
        mask_cut(features, (ROWS, COLUMNS))


@pytest.mark.parametrize(
    ("features", "grid", "options", "message"),
    [
        (torch.zeros(2, 12, 3), (3, 5), {}, "grid of 3 × 5 does not hold 12"),
        (torch.zeros(2, 12, 3), (0, 0), {}, "grid of 0 × 0"),
        (torch.zeros(12, 3), (3, 4), {}, "shape"),
        (torch.zeros(2, 12, 3, dtype=torch.long), (3, 4), {}, "floats"),
        (torch.zeros(2, 12, 3), (3, 4), {"max_regions": 0}, "max_regions must be at least 1"),
        (torch.zeros(2, 12, 3), (3, 4), {"tau": 1.5}, "tau is a cosine"),
        (torch.zeros(2, 12, 3), (3, 4), {"self_loop_weight": -1.0}, "self_loop_weight"),
        (torch.zeros(2, 12, 3), (3, 4), {"floor": 0.0}, "floor"),
    ],
)
def test_wrong_input_is_named(features: torch.Tensor, grid: tuple[int, int], options: dict, message: str) -> None:
    with pytest.raises(BatchError, match=message):
        mask_cut(features, grid, **options)


def test_features_of_a_model_in_training_are_taken_without_a_graph_for_gradients() -> None:
    features = scene((2, 2, 9, 4)).requires_grad_()
    regions = mask_cut(features, (ROWS, COLUMNS))
    assert not regions.scores.requires_grad
    assert not regions.vectors.requires_grad


def test_half_precision_features() -> None:
    features = scene((2, 2, 9, 4))
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        assert torch.equal(
            mask_cut(features.to(dtype), (ROWS, COLUMNS)).masks[:, 0], mask_cut(features, (ROWS, COLUMNS)).masks[:, 0]
        )


def test_autocast_changes_nothing() -> None:
    features = scene((2, 2, 9, 4), seed=4)
    expected = mask_cut(features, (ROWS, COLUMNS))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        regions = mask_cut(features, (ROWS, COLUMNS))
    assert torch.equal(regions.vectors, expected.vectors)


@given(seed=st.integers(0, 10_000), density=st.floats(0.2, 0.95), grid=st.sampled_from([(1, 1), (6, 11), (14, 14)]))
def test_grow_against_scipy(seed: int, density: float, grid: tuple[int, int]) -> None:
    generator = np.random.default_rng(seed)
    foreground = generator.random((4, *grid)) < density
    seeds = generator.integers(0, grid[0] * grid[1], 4)
    grown = grow(torch.from_numpy(foreground), torch.from_numpy(seeds))
    for mask, seed_patch, result in zip(foreground, seeds, grown.numpy(), strict=True):
        pieces, _ = ndimage.label(mask)
        expected = (pieces == pieces.flat[seed_patch]) & mask
        assert np.array_equal(result, expected & bool(mask.flat[seed_patch]))


def test_grow_follows_a_spiral_to_its_end() -> None:
    picture = """
        ###########
        ..........#
        #########.#
        #.......#.#
        #.#####.#.#
        #.#...#.#.#
        #.#.###.#.#
        #.#.....#.#
        #.#######.#
        #.........#
        ###########"""
    spiral = torch.tensor([[sign == "#" for sign in line.strip()] for line in picture.split()])
    assert torch.equal(grow(spiral[None], torch.tensor([0]))[0], spiral)


def test_the_score_does_not_suffer_from_round_off() -> None:
    affinity = torch.full((1, 900, 900), 1e-5)
    affinity[0, :897, :897] = 1
    inside = (torch.arange(900) < 897)[None]
    assert separation(affinity, inside).item() == pytest.approx(separation(affinity.double(), inside).item(), abs=1e-5)


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1e12, 1e30])
def test_the_size_of_features_does_not_matter(scale: float) -> None:
    features = scene((2, 2, 9, 4))
    assert torch.equal(mask_cut(features * scale, (ROWS, COLUMNS)).masks, mask_cut(features, (ROWS, COLUMNS)).masks)


def test_separation_is_one_minus_half_the_normalised_cut() -> None:
    weights = torch.rand(6, 6, generator=torch.Generator().manual_seed(0)).double()
    graph = (weights + weights.T)[None]
    inside = torch.tensor([[True, True, False, False, True, False]])
    chosen = inside[0].numpy()
    matrix = graph[0].numpy()
    cut = matrix[chosen][:, ~chosen].sum()
    expected = 1 - (cut / matrix[chosen].sum() + cut / matrix[~chosen].sum()) / 2
    assert separation(graph, inside).item() == pytest.approx(expected)
    assert separation(graph, torch.zeros_like(inside)).item() == 0
