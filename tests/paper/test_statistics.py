"""Means, spreads and intervals against scipy and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cuter.paper.statistics import Spread, bootstrap_interval, paired_difference

NUMBERS = st.lists(st.floats(0, 100), min_size=2, max_size=6)


@given(NUMBERS)
def test_the_spread_is_that_of_numpy(values: list[float]) -> None:
    spread = Spread.of(dict(enumerate(values)))
    assert spread is not None
    assert spread.mean == pytest.approx(np.mean(values), abs=1e-9)
    assert spread.std == pytest.approx(np.std(values, ddof=1), abs=1e-9)


def test_one_seed_has_no_spread_and_none_has_nothing() -> None:
    assert Spread.of({0: 4.0}) == Spread(1, 4.0, None)
    assert Spread.of({}) is None


def test_differences_are_of_the_seeds_that_both_have() -> None:
    found = paired_difference({0: 5.0, 1: 7.0, 3: 90.0}, {0: 4.0, 1: 4.0, 2: 0.0})
    assert found is not None
    assert (found.seeds, found.mean, found.interval) == (2, 2.0, None)
    assert found.error == pytest.approx(stats.sem([1.0, 3.0]))
    assert paired_difference({0: 1.0}, {1: 1.0}) is None


def test_with_three_seeds_the_interval_is_the_range() -> None:
    assert bootstrap_interval(np.array([3.0, -1.0, 2.0])) == (-1.0, 3.0)


def test_with_more_seeds_it_is_within_the_range_and_near_that_of_scipy() -> None:
    values = np.random.default_rng(3).normal(2, 1, 12)
    low, high = bootstrap_interval(values)
    reference = stats.bootstrap(
        (values,), np.mean, method="percentile", rng=np.random.default_rng(0)
    ).confidence_interval
    assert values.min() < low < values.mean() < high < values.max()
    assert (low, high) == pytest.approx((reference.low, reference.high), abs=0.05)


@pytest.mark.parametrize(("differences", "separable"), [([1, 1.1, 0.9], True), ([3, -2, 1], False), ([2], None)])
def test_separable_is_more_than_twice_the_standard_error(differences: list[float], separable: bool | None) -> None:
    found = paired_difference(dict(enumerate(differences)), dict.fromkeys(range(3), 0.0))
    assert found is not None
    assert found.separable is separable
