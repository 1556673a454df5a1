"""Laws of estimates and their intervals, for any scores."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fmarl.report.statistics import (
    Interval,
    area_under_curve,
    probability_of_improvement,
    seed_interval,
    time_to_level,
)
from fmarl.reproduce.verdicts import Comparison, decide
from peers.bootstrap import bootstrap_interval, iqm

# Steps of 1/8 up to 1000: float64 adds such scores exactly, so laws may be exact as well.
scores = st.integers(-8000, 8000).map(lambda eighths: eighths / 8)
groups = st.lists(scores, min_size=2, max_size=12)
with_infinity = st.lists(scores | st.just(math.inf), min_size=2, max_size=12)
by_seed = st.dictionaries(st.integers(0, 9), scores, min_size=6)
statistics = st.sampled_from(["mean", "iqm"])
heights = st.lists(scores, min_size=2, max_size=12)


def assert_close(left: Interval, right: Interval) -> None:
    assert tuple(left) == pytest.approx(tuple(right), rel=1e-12, abs=1e-9)


@given(values=with_infinity, statistic=statistics)
def test_the_interval_holds_its_value_and_stays_within_the_values(values, statistic):
    value, low, high = bootstrap_interval(values, statistic)
    slack = 1e-9
    assert low - slack <= value <= high + slack
    assert min(values) - slack <= low
    assert high <= max(values) + slack


@given(values=groups, statistic=statistics, shift=scores, scale=st.sampled_from([0.25, 1.0, 3.0]))
def test_an_interval_moves_and_stretches_with_its_values(values, statistic, shift, scale):
    moved = bootstrap_interval([scale * value + shift for value in values], statistic)
    plain = bootstrap_interval(values, statistic)
    assert_close(moved, Interval(*(scale * number + shift for number in plain)))


@given(values=with_infinity, statistic=statistics, random=st.randoms(use_true_random=False))
def test_the_order_of_seeds_changes_no_bit(values, statistic, random):
    shuffled = random.sample(values, len(values))
    assert bootstrap_interval(shuffled, statistic) == bootstrap_interval(values, statistic)
    assert iqm(shuffled) == iqm(values)


@given(values=groups, statistic=statistics, confidence=st.floats(0.05, 0.9))
def test_more_confidence_never_narrows_an_interval(values, statistic, confidence):
    _, low, high = bootstrap_interval(values, statistic, confidence)
    _, lower, higher = bootstrap_interval(values, statistic, confidence + 0.05)
    assert lower <= low <= high <= higher


@given(values=groups, shift=scores, scale=st.sampled_from([0.25, 1.0, 3.0]))
def test_an_interval_over_seeds_holds_its_value_and_moves_with_its_values(values, shift, scale):
    plain = seed_interval(values)
    assert plain.low <= plain.value <= plain.high
    moved = seed_interval([scale * value + shift for value in values])
    assert_close(moved, Interval(*(scale * number + shift for number in plain)))


@given(values=groups, random=st.randoms(use_true_random=False))
def test_the_order_of_seeds_changes_no_interval_over_seeds(values, random):
    assert_close(seed_interval(random.sample(values, len(values))), seed_interval(values))


def difference(ours: dict[int, float], theirs: dict[int, float]) -> Interval:
    """Of two methods by seed, as claims are decided."""
    scores = {"ours": ours, "theirs": theirs}
    return decide(Comparison("ours", "theirs", "final"), lambda name, _: scores[name]).effect


@given(ours=by_seed, theirs=by_seed)
def test_swapping_sides_negates_a_difference_to_the_bit(ours, theirs):
    assume(len(ours.keys() & theirs.keys()) > 1)
    value, low, high = difference(ours, theirs)
    assert difference(theirs, ours) == Interval(-value, -high, -low)
    assert low <= value <= high


@given(ours=by_seed, theirs=by_seed, random=st.randoms(use_true_random=False))
def test_the_order_in_which_seeds_were_run_changes_no_difference(ours, theirs, random):
    assume(len(ours.keys() & theirs.keys()) > 1)
    shuffled = dict(random.sample(list(ours.items()), len(ours)))
    assert difference(shuffled, theirs) == difference(ours, theirs)


@given(ours=by_seed)
def test_a_seed_that_only_one_side_has_plays_no_part(ours):
    theirs = dict.fromkeys(ours, 0.0)
    assert difference({**ours, 99: 1e6}, theirs) == difference(ours, theirs)


@given(ours=with_infinity, theirs=with_infinity)
def test_swapping_sides_leaves_the_rest_of_the_probability(ours, theirs):
    there, back = (probability_of_improvement(*sides) for sides in ((ours, theirs), (theirs, ours)))
    assert there.value + back.value == pytest.approx(1, abs=1e-12)
    assert 0 <= there.low <= there.value + 1e-12
    assert there.value - 1e-12 <= there.high <= 1


@given(ours=groups, theirs=groups)
def test_only_the_order_of_scores_decides_who_improves(ours, theirs):
    our_cubes, their_cubes = ([score**3 for score in side] for side in (ours, theirs))
    cubed = probability_of_improvement(our_cubes, their_cubes)
    assert cubed == probability_of_improvement(ours, theirs)


@given(heights=heights, shift=scores)
def test_a_curves_mean_height_lies_between_its_lowest_and_highest_point(heights, shift):
    steps = [shift + 2.0 * step for step in range(len(heights))]
    area = area_under_curve(steps, heights)
    assert min(heights) - 1e-9 <= area <= max(heights) + 1e-9
    raised = area_under_curve(steps, [height + shift for height in heights])
    assert raised == pytest.approx(area + shift, abs=1e-9)


@given(heights=heights, level=scores)
def test_a_higher_level_is_never_reached_sooner(heights, level):
    steps = [float(step) for step in range(len(heights))]
    when = time_to_level(steps, heights, level)
    assert when <= time_to_level(steps, heights, level + 1)
    assert (when == math.inf) == (max(heights) < level)
