import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

from fmarl.errors import BadInput
from fmarl.report.statistics import (
    RESAMPLES,
    Interval,
    area_under_curve,
    mean_interval,
    probability_of_improvement,
    seed_band,
    seed_interval,
    time_to_level,
)
from peers.bootstrap import bootstrap_interval, iqm

RLIABLE = json.loads((Path(__file__).parents[2] / "golden" / "rliable.json").read_text())
CASES = pytest.mark.parametrize("case", RLIABLE["cases"].values(), ids=list(RLIABLE["cases"]))
inf, nan = math.inf, math.nan


def test_the_interval_of_three_numbers_by_hand():
    interval = mean_interval([1.0, 2.0, 3.0])
    assert interval.value == 2.0
    assert interval.high - interval.value == pytest.approx(4.302653 / 3**0.5, rel=1e-6)
    assert interval.value - interval.low == pytest.approx(interval.high - interval.value)


def test_one_repetition_has_no_interval():
    interval = mean_interval([3.0])
    assert interval.value == 3.0
    assert np.isnan(interval.low)


def test_the_interval_holds_the_truth_95_times_in_a_hundred():
    random = np.random.default_rng(0)
    held = [
        interval.low <= 1.0 <= interval.high
        for interval in (mean_interval(random.normal(1.0, 2.0, 5).tolist()) for _ in range(2000))
    ]
    assert np.mean(held) == pytest.approx(0.95, abs=0.015)


def test_from_three_seeds_on_it_is_student_s_interval():
    assert seed_interval([1.0, 2.0, 6.0]) == mean_interval([1.0, 2.0, 6.0])


def test_two_seeds_have_a_range_and_one_has_nothing():
    assert seed_interval([4.0, 2.0]) == (3.0, 2.0, 4.0)
    assert seed_interval([4.0]).value == 4 and math.isnan(seed_interval([4.0]).low)
    assert all(math.isnan(part) for part in seed_interval([]))


@pytest.mark.parametrize("odd", [math.inf, -math.inf])
def test_an_infinite_value_makes_the_mean_infinite_and_leaves_no_ends(odd):
    found = seed_interval([1.0, 2.0, odd])
    assert found.value == odd and math.isnan(found.low)


def test_a_band_is_of_the_runs_that_have_come_so_far():
    runs = np.array([[1.0, 1.0, 1.0], [2.0, 3.0, np.nan], [6.0, np.nan, np.nan]])
    low, high = seed_band(runs)
    np.testing.assert_allclose(low, [mean_interval([1.0, 2.0, 6.0]).low, 1.0, np.nan])
    np.testing.assert_allclose(high, [mean_interval([1.0, 2.0, 6.0]).high, 3.0, np.nan])


def test_curves_without_points_have_an_empty_band():
    low, high = seed_band(np.empty((2, 0)))
    assert low.shape == high.shape == (0,)


@pytest.mark.parametrize(
    ("values", "middle"),
    [
        ([7.0], 7.0),
        ([0.0, 0.0, 9.0], 3.0),  # three quarters of a value are not cut
        ([100.0, 0.0, 2.0, 4.0], 3.0),
        ([8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, -90.0], 4.5),
        ([-inf, 1.0, 2.0, 3.0, 4.0], 2.0),
        ([1.0, 2.0, inf], inf),
    ],
)
def test_the_interquartile_mean_is_that_of_the_middle_half(values, middle):
    assert iqm(values) == middle


@pytest.mark.parametrize("statistic", ["mean", "iqm"])
@pytest.mark.parametrize("size", [2, 5, 10, 40])
def test_equal_values_have_an_interval_that_is_a_point(size, statistic):
    interval = bootstrap_interval([0.1] * size, statistic)
    assert interval == Interval(*[interval.value] * 3)
    assert interval.value == pytest.approx(0.1, rel=1e-15)


@pytest.mark.parametrize(
    "interval",
    [
        bootstrap_interval([3.0]),
        bootstrap_interval([3.0], "iqm"),
        probability_of_improvement([3.0], [1.0, 2.0]),
        probability_of_improvement([1.0, 2.0], [3.0]),
    ],
)
def test_one_seed_tells_nothing_of_the_spread(interval):
    assert math.isfinite(interval.value)
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)


def test_the_ends_are_the_quantiles_of_all_resamples_there_are():
    values = [1.0, 2.0, 4.0, 8.0, 16.0]
    every = np.mean(list(itertools.product(values, repeat=5)), axis=1)

    interval = bootstrap_interval(values, confidence=0.8)

    for end, share in ((interval.low, 0.1), (interval.high, 0.9)):
        slack = 4 * (share * (1 - share) / RESAMPLES) ** 0.5
        assert np.quantile(every, share - slack) <= end <= np.quantile(every, share + slack)


@pytest.mark.parametrize(
    ("statistic", "size", "covered"),
    [("iqm", 5, 0.91), ("iqm", 10, 0.935), ("mean", 5, 0.84), ("mean", 10, 0.90)],
)
def test_few_seeds_hold_the_truth_as_seldom_as_documented(statistic, size, covered):
    samples = np.random.default_rng(0).normal(size=(300, size)).tolist()
    intervals = [bootstrap_interval(sample, statistic) for sample in samples]
    held = [low <= 0 <= high for _, low, high in intervals]
    assert np.mean(held) == pytest.approx(covered, abs=0.05)  # the standard error is 0.02


def test_the_interval_of_three_seeds_spans_them_so_that_it_holds_the_median_in_75_of_100():
    for statistic in ("mean", "iqm"):
        assert bootstrap_interval([4.0, 9.0, 2.0], statistic) == Interval(5.0, 2.0, 9.0)


def test_an_end_is_infinite_if_enough_resamples_are():
    # 68 % of resamples draw one of four values, and 26 % draw it twice, so that a cut leaves one.
    mean, middle = (bootstrap_interval([1.0, 2.0, 3.0, inf], word) for word in ("mean", "iqm"))
    assert (mean.value, mean.high) == (inf, inf)
    assert (middle.value, middle.high) == (2.5, inf)
    assert 1.0 <= middle.low <= mean.low < 3.0
    assert bootstrap_interval([inf, inf, inf]) == Interval(inf, inf, inf)
    assert bootstrap_interval([-inf, 1.0, 2.0]).high == 2.0


def test_an_infinite_value_that_is_nearly_always_cut_leaves_the_interval_finite():
    values = [*map(float, range(39)), inf]
    assert math.isfinite(bootstrap_interval(values, "iqm").high)
    assert bootstrap_interval(values).high == inf


@pytest.mark.parametrize("values", [[1.0, nan], [inf, 1.0, -inf]])
@pytest.mark.parametrize("statistic", ["mean", "iqm"])
def test_values_without_a_mean_are_refused(values, statistic):
    with pytest.raises(BadInput, match=r"a mean of \[.*probability_of_improvement"):
        bootstrap_interval(values, statistic)
    with pytest.raises(BadInput, match="a mean of"):
        iqm(values)


def test_estimates_from_nothing_are_refused():
    for estimate in (iqm, bootstrap_interval):
        with pytest.raises(BadInput, match="from no values"):
            estimate([])
    with pytest.raises(BadInput, match="from no values"):
        probability_of_improvement([1.0, 2.0], [])


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0, nan])
def test_a_confidence_that_is_no_share_is_refused(confidence):
    with pytest.raises(BadInput, match=f"confidence = {confidence}"):
        bootstrap_interval([1.0, 2.0], confidence=confidence)


@pytest.mark.parametrize(
    ("ours", "theirs", "share"),
    [
        ([2.0, 3.0], [0.0, 1.0], 1.0),
        ([1.0, 1.0], [1.0, 1.0, 1.0], 0.5),
        ([1.0, 4.0], [2.0, 3.0, 4.0], 2.5 / 6),
        ([inf, 1.0], [inf, 2.0], 1.5 / 4),
        ([-inf, inf], [0.0], 0.5),
    ],
)
def test_the_probability_of_improvement_counts_pairs_and_half_of_ties(ours, theirs, share):
    assert probability_of_improvement(ours, theirs).value == share


def test_sides_that_do_not_overlap_leave_no_spread():
    assert probability_of_improvement([4.0, 5.0, inf], [1.0, 2.0]) == Interval(1.0, 1.0, 1.0)


def test_a_comparison_with_nan_is_refused():
    with pytest.raises(BadInput, match="a comparison with nan"):
        probability_of_improvement([1.0, nan], [1.0, 2.0])


def test_the_area_is_a_mean_height():
    assert area_under_curve([2.0, 6.0], [1.0, 3.0]) == 2.0
    assert area_under_curve([0.0, 1.0, 5.0], [0.0, 4.0, 4.0]) == (2 + 16) / 5


@pytest.mark.parametrize(
    ("level", "when"), [(0.05, 0.0), (0.2, 10.0), (0.5, 10.0), (0.6, 30.0), (0.9, inf)]
)
def test_the_time_to_a_level_is_that_of_the_first_point_there(level, when):
    assert time_to_level([0.0, 10.0, 20.0, 30.0], [0.1, 0.5, 0.2, 0.8], level) == when


@pytest.mark.parametrize(
    ("x", "y", "what"),
    [
        ([0.0, 1.0], [1.0], "2 x and 1 y"),
        ([0.0, 0.0], [1.0, 2.0], "greater than the one before"),
        ([1.0, 0.0], [1.0, 2.0], "Sort the points"),
        ([0.0, 1.0], [1.0, nan], "nan or inf"),
        ([0.0, inf], [1.0, 2.0], "nan or inf"),
    ],
)
def test_what_is_not_a_curve_is_refused(x, y, what):
    with pytest.raises(BadInput, match=what):
        area_under_curve(x, y)
    with pytest.raises(BadInput, match=what):
        time_to_level(x, y, 1.5)


def test_one_point_has_no_area():
    with pytest.raises(BadInput, match="a curve of 1 points"):
        area_under_curve([0.0], [1.0])


ESTIMATES = {
    "mean": lambda case, *words: bootstrap_interval(case["ours"], "mean", *words),
    "iqm": lambda case, *words: bootstrap_interval(case["ours"], "iqm", *words),
    "improvement": lambda case, *words: probability_of_improvement(
        case["ours"], case["theirs"], *words
    ),
}


@CASES
@pytest.mark.parametrize("name", ESTIMATES)
def test_values_are_rliables_and_ends_differ_by_chance_alone(case, name):
    theirs, confidence = Interval(**case[name]), RLIABLE["confidence"]
    tail = (1 - confidence) / 2
    draws = 1 / RESAMPLES + 1 / RLIABLE["resamples"]
    chance = 4 * (tail * (1 - tail) * draws) ** 0.5  # of a tail's share: four standard errors
    narrow, wide = (
        ESTIMATES[name](case, confidence + change) for change in (-2 * chance, 2 * chance)
    )

    assert narrow.value == pytest.approx(theirs.value, rel=1e-12, abs=1e-12)
    assert wide.low - 1e-12 <= theirs.low <= narrow.low + 1e-12
    assert narrow.high - 1e-12 <= theirs.high <= wide.high + 1e-12
    assert chance < 0.008  # of 0.025: sharp enough to tell


@CASES
def test_the_interquartile_mean_is_rliables(case):
    assert iqm(case["ours"]) == pytest.approx(case["iqm"]["value"], rel=1e-12, abs=1e-12)
