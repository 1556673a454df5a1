import numpy as np
import pytest

from fmarl.report.statistics import mean_interval


def test_the_interval_of_three_numbers_by_hand():
    interval = mean_interval([1.0, 2.0, 3.0])
    assert interval.mean == 2.0
    assert interval.high - interval.mean == pytest.approx(4.302653 / 3**0.5, rel=1e-6)
    assert interval.mean - interval.low == pytest.approx(interval.high - interval.mean)


def test_one_repetition_has_no_interval():
    interval = mean_interval([3.0])
    assert interval.mean == 3.0
    assert np.isnan(interval.low)


def test_the_interval_holds_the_truth_95_times_in_a_hundred():
    random = np.random.default_rng(0)
    held = [
        interval.low <= 1.0 <= interval.high
        for interval in (mean_interval(random.normal(1.0, 2.0, 5).tolist()) for _ in range(2000))
    ]
    assert np.mean(held) == pytest.approx(0.95, abs=0.015)
