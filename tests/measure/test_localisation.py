"""Overlaps against counted pixels, AP50 against an implementation of our own, statistics against SciPy."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from cuter.errors import BatchError, ConfigError, DataError
from cuter.measure.localisation import average_precision_50, corloc, mean_interval, overlaps, rank_correlation

SIZE = 12
NONE = np.zeros((0, 4))
TALL = np.array([[10.0, 20, 14, 50]])  # neither square nor centred: swapped axes would show
ASIDE = np.array([[60.0, 5, 90, 25]])


def boxes_of(*rows):
    return np.array(rows, dtype=float).reshape(-1, 4)


@st.composite
def integer_boxes(draw):
    """Draw boxes on a small grid, some of them without area."""
    span = st.tuples(st.integers(0, SIZE), st.integers(0, SIZE)).map(sorted)
    pairs = draw(st.lists(st.tuples(span, span), max_size=5))
    return boxes_of(*((x1, y1, x2, y2) for (x1, x2), (y1, y2) in pairs))


def mask_of(box):
    x1, y1, x2, y2 = box.astype(int)
    mask = np.zeros((SIZE, SIZE), dtype=bool)
    mask[y1:y2, x1:x2] = True
    return mask


@pytest.mark.filterwarnings("error")
@given(integer_boxes(), integer_boxes())
def test_overlaps_are_shares_of_counted_pixels(boxes, truths):
    measured = overlaps(boxes, truths)
    assert measured.shape == (len(boxes), len(truths))
    for i, box in enumerate(boxes):
        for j, truth in enumerate(truths):
            common, union = (mask_of(box) & mask_of(truth)).sum(), (mask_of(box) | mask_of(truth)).sum()
            assert measured[i, j] == pytest.approx(common / union if common else 0, abs=1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("box", "truth", "iou"),
    [
        ((0, 0, 4, 2), (2, 1, 6, 5), 2 / 22),  # areas 8 and 16, 2 x 1 in common
        ((0, 0, 4, 2), (0, 0, 4, 2), 1),
        ((0.5, 0, 1.5, 3), (1, 0, 2.5, 3), 1.5 / 6),
        ((0, 0, 4, 2), (4, 0, 8, 2), 0),  # half-open: they only touch
        ((0, 0, 4, 2), (1, 5, 3, 9), 0),  # x in common, y not
        ((3, 3, 3, 3), (3, 3, 3, 3), 0),
        ((0, 0, 4, 2), (5, 5, 9, 9), 0),  # neither: two negative sides have a positive product
    ],
)
def test_overlaps_by_hand(box, truth, iou):
    assert overlaps(boxes_of(box), boxes_of(truth)) == pytest.approx(iou)
    assert overlaps(boxes_of(truth), boxes_of(box)) == pytest.approx(iou)


def test_integers_do_not_wrap_round():
    assert overlaps(np.array([[0, 0, 200, 200]], dtype=np.uint8), boxes_of((100, 0, 200, 200))) == pytest.approx(0.5)


@pytest.mark.parametrize("shape", [(4,), (0,), (2, 5), (1, 1, 4)])
def test_what_is_no_list_of_boxes_is_refused(shape):
    with pytest.raises(BatchError, match=r"shape \(k, 4\)"):
        overlaps(np.zeros(shape), TALL)
    with pytest.raises(BatchError, match=r"shape \(k, 4\)"):
        average_precision_50([np.zeros(shape)], [np.zeros(shape[0])], [TALL])


@pytest.mark.parametrize("box", [(4, 0, 0, 2), (0, 2, 4, 0), (np.nan, 0, 4, 2)])
def test_boxes_the_wrong_way_round_are_refused(box):
    with pytest.raises(BatchError, match=rf"x1 ≤ x2 and y1 ≤ y2, not \[{float(box[0])}, "):
        overlaps(np.vstack([TALL, boxes_of(box)]), TALL)
    with pytest.raises(BatchError, match="x1 ≤ x2"):
        average_precision_50([boxes_of(box)], [np.ones(1)], [TALL])


def test_corloc_counts_images_with_a_hit():
    truths = [TALL, np.vstack([ASIDE, TALL]), TALL, TALL]
    found = [TALL, np.vstack([ASIDE + 500, TALL]), ASIDE, NONE]
    assert corloc(found, truths) == 0.5


def test_corloc_tells_x_from_y():
    assert corloc([TALL], [TALL]) == 1
    assert corloc([TALL[:, [1, 0, 3, 2]]], [TALL]) == 0
    assert corloc([TALL + np.array([0, 8, 0, 8])], [TALL]) == 1  # 22 of 38 rows are in common
    assert corloc([TALL + np.array([8, 0, 8, 0])], [TALL]) == 0


def test_half_is_a_hit_for_ap50_but_not_for_corloc():
    truth, half, more = boxes_of((0, 0, 4, 10)), boxes_of((0, 0, 4, 5)), boxes_of((0, 0, 4, 5.01))
    assert overlaps(half, truth) == 0.5
    assert (corloc([half], [truth]), corloc([more], [truth])) == (0, 1)
    assert average_precision_50([half], [np.ones(1)], [truth]) == pytest.approx(1)
    assert average_precision_50([half * 0.99], [np.ones(1)], [truth]) == 0


def test_images_without_a_true_box_are_left_out_of_corloc():
    assert corloc([TALL, ASIDE, NONE], [TALL, NONE, NONE]) == 1


@pytest.mark.parametrize("images", [0, 3])
def test_nothing_to_be_found_is_refused(images):
    with pytest.raises(DataError, match="no image has a true box"):
        corloc([TALL] * images, [NONE] * images)
    with pytest.raises(DataError, match="no image has a true box"):
        average_precision_50([TALL] * images, [np.ones(1)] * images, [NONE] * images)


def test_lists_over_different_images_are_refused():
    with pytest.raises(BatchError, match="2 of found, 1 of truths"):
        corloc([TALL, TALL], [TALL])
    with pytest.raises(BatchError, match="1 of found, 2 of scores, 1 of truths"):
        average_precision_50([TALL], [np.ones(1), np.ones(1)], [TALL])


@pytest.mark.parametrize("scores", [np.ones(1), np.ones((2, 1)), np.array([0.5, np.nan])])
def test_each_found_box_needs_a_score(scores):
    with pytest.raises(BatchError, match="image 1 needs 2 scores"):
        average_precision_50([TALL, np.vstack([TALL, ASIDE])], [np.ones(1), scores], [TALL, TALL])


BOTH = np.vstack([TALL, ASIDE])


# COCO reads the precision at recall 0, 0.01, ..., 1: half of the objects make 51 levels of 101.
@pytest.mark.parametrize(
    ("found", "scores", "truths", "expected"),
    [
        pytest.param([TALL, ASIDE], [[0.9], [0.2]], [TALL, ASIDE], 1, id="perfect"),
        pytest.param([TALL, NONE], [[0.9], []], [TALL, ASIDE], 51 / 101, id="half recall"),
        pytest.param([BOTH], [[0.8, 0.9]], [TALL], 1 / 2, id="false above true"),
        pytest.param([BOTH], [[0.9, 0.8]], [TALL], 1, id="false below true"),
        pytest.param([TALL, ASIDE], [[0.8], [0.9]], [TALL, NONE], 1 / 2, id="false where nothing is"),
        pytest.param([BOTH[[0, 0, 1]]], [[0.9, 0.8, 0.7]], [BOTH], (51 + 50 * 2 / 3) / 101, id="found twice"),
        pytest.param([TALL[:, [1, 0, 3, 2]]], [[0.9]], [TALL], 0, id="swapped axes"),
        pytest.param([np.vstack([TALL[:, [0, 1, 0, 1]], TALL])], [[0.9, 0.8]], [TALL], 1 / 2, id="no area"),
        pytest.param([NONE, NONE], [[], []], [TALL, NONE], 0, id="nothing found"),
        pytest.param([TALL], [[-3.0]], [TALL], 1, id="negative score"),
    ],
)
def test_ap50_by_hand(found, scores, truths, expected):
    measured = average_precision_50(found, [np.array(s, dtype=float) for s in scores], truths)
    assert measured == pytest.approx(expected, abs=1e-12)


def test_ap50_looks_at_the_best_hundred_boxes_of_each_image():
    def with_false(count):
        return np.vstack([np.repeat(ASIDE, count, axis=0), TALL]), np.linspace(1, 0, count + 1)

    for count, expected in ((99, 1 / 100), (100, 0)):
        boxes, scores = with_false(count)
        assert average_precision_50([boxes], [scores], [TALL]) == pytest.approx(expected)
    boxes, scores = with_false(99)
    assert average_precision_50([boxes, boxes], [scores, scores], [TALL, TALL]) == pytest.approx(2 / 200)


def random_images(seed):
    """Make images with 0 to 4 true boxes, of which some are found, some twice, some not well, beside false ones."""
    rng = np.random.default_rng(seed)
    found, scores, truths = [], [], []
    for _ in range(int(rng.integers(2, 12))):
        corners, sides = rng.uniform(0, 80, (int(rng.integers(0, 5)), 2)), rng.uniform(10, 60, (4, 2))
        true = np.hstack([corners, corners + sides[: len(corners)]])
        near = true[rng.random(len(true)) < 0.7].repeat(2, axis=0)
        near = near[rng.random(len(near)) < 0.7]
        corners = rng.uniform(0, 80, (int(rng.integers(0, 4)), 2))
        boxes = np.vstack([near + rng.uniform(-5, 5, near.shape), np.hstack([corners, corners + 20])])
        found.append(boxes)
        scores.append(rng.random(len(boxes)))
        truths.append(true)
    truths[0] = TALL  # never nothing to be found
    return found, scores, truths


def iou_of(a, b):
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    areas = [(x2 - x1) * (y2 - y1) for x1, y1, x2, y2 in (a, b)]
    return width * height / (sum(areas) - width * height)


def reference_ap50(found, scores, truths):
    """Rank all boxes; each takes the best true box that is still free; best precision at or beyond each recall."""
    entries = [(scores[i][j], i, box) for i, boxes in enumerate(found) for j, box in enumerate(boxes)]
    ranked = sorted(entries, key=lambda entry: -entry[0])
    free = [list(true) for true in truths]
    curve, hits, wanted = [], 0, sum(map(len, truths))
    for rank, (_, image, box) in enumerate(ranked, start=1):
        ious = [iou_of(box, true) for true in free[image]]
        if ious and max(ious) >= 0.5:
            del free[image][int(np.argmax(ious))]
            hits += 1
        curve.append((hits / wanted, hits / rank))
    return np.mean([max((p for r, p in curve if r >= level), default=0) for level in np.linspace(0, 1, 101)])


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_ap50_agrees_with_a_reference_on_random_images(seed):
    images = random_images(seed)
    assert average_precision_50(*images) == pytest.approx(reference_ap50(*images), abs=1e-12)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.randoms(use_true_random=False))
def test_only_the_ranking_matters_to_ap50_and_not_the_order_of_images(seed, random):
    found, scores, truths = random_images(seed)
    plain = average_precision_50(found, scores, truths)
    assert average_precision_50(found, [np.exp(3 * s) - 5 for s in scores], truths) == plain
    order = list(range(len(found)))
    random.shuffle(order)
    assert average_precision_50(*([part[i] for i in order] for part in (found, scores, truths))) == plain


@pytest.mark.filterwarnings("error")
def test_ap50_is_silent(capfd):
    average_precision_50([TALL, NONE, ASIDE], [np.ones(1), np.zeros(0), np.ones(1)], [TALL, TALL, NONE])
    assert capfd.readouterr() == ("", "")


def test_ap50_does_not_hide_what_goes_wrong(monkeypatch, capsys):
    def fail(self):
        raise RuntimeError("broken")

    monkeypatch.setattr("pycocotools.cocoeval.COCOeval.accumulate", fail)
    with pytest.raises(RuntimeError, match="broken"):
        average_precision_50([TALL], [np.ones(1)], [TALL])
    print("heard again")
    assert capsys.readouterr().out == "heard again\n"


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
@pytest.mark.parametrize("count", [2, 3, 40])
def test_intervals_agree_with_scipy(level, count):
    values = np.random.default_rng(count).normal(3, 2, count)
    expected = scipy.stats.ttest_1samp(values, 0).confidence_interval(level)
    assert mean_interval(values, level) == pytest.approx((values.mean(), expected.low, expected.high))


def test_the_interval_is_that_of_95_percent():
    # By hand: deviation sqrt(2), its error over two values 1, and t is 12.706 with one degree of freedom.
    assert mean_interval([0, 2]) == pytest.approx((1, 1 - 12.706, 1 + 12.706), abs=1e-3)


@pytest.mark.filterwarnings("error")
def test_intervals_at_the_edge():
    assert mean_interval([2.5]) == pytest.approx((2.5, np.nan, np.nan), nan_ok=True)
    assert mean_interval([2.5, 2.5, 2.5]) == (2.5, 2.5, 2.5)
    with pytest.raises(DataError, match="at least one"):
        mean_interval([])
    with pytest.raises(ConfigError, match="between 0 and 1, not 95"):
        mean_interval([1, 2], level=95)


def test_rank_correlation_by_hand():
    # Without ties 1 - 6 Σd² / n(n² - 1): differences of rank 0, 1, 1, 0.
    assert rank_correlation([1, 5, 7, 100], [-3, 2, 1, 8]) == pytest.approx(1 - 6 * 2 / 60)
    assert rank_correlation([1, 2, 3], [1, 8, 27]) == pytest.approx(1)
    assert rank_correlation([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)


def test_rank_correlation_is_pearsons_of_mean_ranks():
    rng = np.random.default_rng(2)
    first, second = rng.integers(0, 6, (2, 50))  # many ties
    ranks = [[(side < v).sum() + ((side == v).sum() + 1) / 2 for v in side] for side in (first, second)]
    assert rank_correlation(first, second) == pytest.approx(np.corrcoef(*ranks)[0, 1])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("first", "second"),
    [([], []), ([1, 2], [3, 4]), ([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [0.1] * 3), ([1, np.nan, 3], [1, 2, 3])],
)
def test_rank_correlation_is_none_where_it_says_nothing(first, second):
    assert rank_correlation(first, second) is None


def test_rank_correlation_needs_pairs():
    with pytest.raises(BatchError, match="not 3 values and 4"):
        rank_correlation([1, 2, 3], [1, 2, 3, 4])
