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
    bootstrap_interval,
    iqm,
    mean_band,
    mean_interval,
    paired_difference,
    probability_of_improvement,
    time_to_level,
)

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
        paired_difference({0: 5.0, 1: 9.0}, {0: 2.0, 2: 9.0}),
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


def test_differences_are_taken_seed_by_seed():
    ours, theirs = {1: 10.0, 2: 25.0, 3: 31.0, 9: 0.0}, {3: 30.0, 1: 8.0, 2: 22.0, 7: 0.0}
    interval = paired_difference(ours, theirs)

    assert interval == Interval(2.0, 1.0, 3.0)  # of 2, 3 and 1: pairing takes the seeds' own spread


def test_without_a_common_seed_there_is_no_difference():
    with pytest.raises(BadInput, match=r"seeds \[0\] with \[1, 2\].*Run both with the same seeds"):
        paired_difference({0: 1.0}, {2: 1.0, 1: 1.0})


def test_a_side_that_never_arrives_makes_the_difference_infinite():
    interval = paired_difference({0: inf, 1: 5.0, 2: 4.0}, {0: 3.0, 1: 3.0, 2: 3.0})
    assert interval == Interval(inf, 1.0, inf)


@pytest.mark.parametrize("theirs", [{0: inf, 1: 1.0}, {0: 1.0, 1: inf}])
def test_infinite_values_on_both_sides_have_no_mean_difference(theirs):
    with pytest.raises(BadInput, match="Use probability_of_improvement"):
        paired_difference({0: inf, 1: 5.0}, theirs)


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


def test_a_band_is_the_interval_of_the_mean_at_every_point():
    runs = np.random.default_rng(3).normal(size=(6, 4))
    low, high = mean_band(runs)
    for column, (bottom, top) in enumerate(zip(low, high, strict=True)):
        expected = bootstrap_interval(runs[:, column].tolist())
        assert bottom == pytest.approx(expected.low, abs=0.05)
        assert top == pytest.approx(expected.high, abs=0.05)


def test_a_single_run_has_no_band():
    low, high = mean_band(np.ones((1, 3)))
    assert np.isnan(low).all() and np.isnan(high).all()


def test_a_point_without_a_number_in_one_run_has_no_band_and_harms_no_other():
    runs = np.array([[np.nan, 1.0], [2.0, 3.0], [2.0, 2.0]])
    low, high = mean_band(runs)
    assert np.isnan(low[0]) and np.isnan(high[0])
    assert low[1] < 2.0 < high[1]
