"""The one rule for brackets and bands."""

import math

import numpy as np
import pytest

from fmarl.report.seed_interval import band, spread
from fmarl.report.statistics import mean_interval


def test_from_three_seeds_on_it_is_student_s_interval():
    assert spread([1.0, 2.0, 6.0]) == mean_interval([1.0, 2.0, 6.0])


def test_two_seeds_have_a_range_and_one_has_nothing():
    assert spread([4.0, 2.0]) == (3.0, 2.0, 4.0)
    assert spread([4.0]).value == 4 and math.isnan(spread([4.0]).low)
    assert all(math.isnan(part) for part in spread([]))


@pytest.mark.parametrize("odd", [math.inf, -math.inf])
def test_an_infinite_value_makes_the_mean_infinite_and_leaves_no_ends(odd):
    found = spread([1.0, 2.0, odd])
    assert found.value == odd and math.isnan(found.low)


def test_a_band_is_of_the_runs_that_have_come_so_far():
    runs = np.array([[1.0, 1.0, 1.0], [2.0, 3.0, np.nan], [6.0, np.nan, np.nan]])
    low, high = band(runs)
    np.testing.assert_allclose(low, [mean_interval([1.0, 2.0, 6.0]).low, 1.0, np.nan])
    np.testing.assert_allclose(high, [mean_interval([1.0, 2.0, 6.0]).high, 3.0, np.nan])


def test_curves_without_points_have_an_empty_band():
    low, high = band(np.empty((2, 0)))
    assert low.shape == high.shape == (0,)
