"""Means, spreads and intervals against scipy and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cuter.tables.statistics import Spread, paired_difference

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
    assert (found.seeds, found.mean) == (2, 2.0)
    assert found.error == pytest.approx(stats.sem([1.0, 3.0]))
    assert paired_difference({0: 1.0}, {1: 1.0}) is None


def test_one_seed_has_no_interval_and_says_nothing_of_chance() -> None:
    found = paired_difference({0: 5.0}, {0: 4.0})
    assert found is not None
    assert (found.mean, found.error, found.interval, found.separable) == (1.0, None, None, None)


@pytest.mark.parametrize("seeds", [2, 3, 5, 12])
def test_the_interval_is_that_of_the_paired_t_test(seeds: int) -> None:
    generator = np.random.default_rng(seeds)
    for shift in np.linspace(0, 4, 30):
        ours, theirs = generator.normal(70 + shift, 1, seeds), generator.normal(70, 1, seeds)
        found = paired_difference(dict(enumerate(ours)), dict(enumerate(theirs)))
        test = stats.ttest_rel(ours, theirs)
        assert found is not None
        assert found.interval == pytest.approx(test.confidence_interval(0.95))
        assert found.separable is bool(test.pvalue < 0.05)


def test_chance_passes_for_a_difference_in_five_of_a_hundred_cases_with_three_seeds() -> None:
    chance = np.random.default_rng(0).normal(size=(4000, 3))
    found = [paired_difference(dict(enumerate(values)), dict.fromkeys(range(3), 0.0)) for values in chance]
    assert np.mean([difference is not None and difference.separable for difference in found]) == pytest.approx(
        0.05, abs=0.01
    )


def test_the_same_difference_in_all_seeds_is_one_unless_it_is_none() -> None:
    for by, separable in ((1.0, True), (0.0, False)):
        found = paired_difference({0: 3.0 + by, 1: 4.0 + by}, {0: 3.0, 1: 4.0})
        assert found is not None
        assert found.separable is separable
