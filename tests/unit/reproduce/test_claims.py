"""Verdicts follow from intervals by one rule."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmarl.report.statistics import Interval
from fmarl.reproduce.claims import CLAIMS
from fmarl.reproduce.measures import MEASURES
from fmarl.reproduce.paper import DECAY_92, DECAY_95, DECAY_98, IRL, TAU_1, TAU_1_15, TAU_10, TAU_15
from fmarl.reproduce.verdicts import Comparison, Verdict, decide, together, verdict_of, weakest
from unit.reproduce.made_up import few_methods

NUMBER = st.floats(-1, 1)


@pytest.mark.parametrize(
    ("effect", "word"),
    [
        (Interval(0.02, 0.01, 0.03), "supported"),
        (Interval(0.02, -0.01, 0.05), "undecided"),
        (Interval(0.0, -0.004, 0.004), "not supported"),
        (Interval(-0.02, -0.03, -0.01), "not supported"),
        (Interval(0.002, 0.001, 0.003), "not supported"),
        (Interval(0.004, 0.001, 0.008), "undecided"),
        (Interval(math.nan, math.nan, math.nan), "undecided"),
    ],
)
def test_the_rule(effect: Interval, word: str):
    assert verdict_of(effect, negligible=0.005, seeds=5) == word


@given(st.tuples(NUMBER, NUMBER, NUMBER).map(sorted), st.floats(0, 0.5))
def test_a_larger_effect_never_gets_a_worse_verdict(ends: list[float], more: float):
    low, value, high = ends
    order = ["not supported", "undecided", "supported"]
    before = verdict_of(Interval(value, low, high), 0.005, seeds=5)
    after = verdict_of(Interval(value + more, low + more, high + more), 0.005, seeds=5)
    assert order.index(after) >= order.index(before)


@given(st.tuples(NUMBER, NUMBER, NUMBER).map(sorted), st.integers(0, 4))
def test_few_seeds_decide_nothing(ends: list[float], seeds: int):
    assert verdict_of(Interval(ends[1], ends[0], ends[2]), 0.005, seeds) == "undecided"


def test_less_is_better_where_a_measure_says_so():
    fast, slow = {seed: 40.0 + seed for seed in range(5)}, {seed: 80.0 for seed in range(5)}
    scores = {TAU_1: fast, IRL: slow}
    verdict = decide(Comparison(TAU_1, IRL, "epochs"), lambda name, measure: scores[name])
    assert verdict.word == "supported"
    assert verdict.effect.value == pytest.approx(38.0)
    assert verdict.improvement.value == 1.0


def test_a_seed_without_a_number_is_left_out_on_both_sides():
    ours, theirs = {0: 1.0, 1: math.nan, 2: 3.0}, {0: 0.0, 1: 0.0, 2: 0.0}
    scores = {TAU_1: ours, IRL: theirs}
    verdict = decide(Comparison(TAU_1, IRL, "area"), lambda name, measure: scores[name])
    assert (verdict.seeds, verdict.effect.value) == (2, 2.0)


def test_methods_without_runs_leave_a_claim_undecided():
    verdict = decide(Comparison(TAU_1, IRL, "area"), lambda name, measure: {})
    assert (verdict.word, verdict.seeds, verdict.was_run) == ("undecided", 0, False)


def test_runs_without_a_number_were_run_all_the_same():
    scores = {TAU_1: {0: math.nan, 1: math.nan}, IRL: {0: 0.0, 1: 0.0}}
    verdict = decide(Comparison(TAU_1, IRL, "unrest"), lambda name, measure: scores[name])
    assert (verdict.word, verdict.seeds, verdict.was_run) == ("undecided", 0, True)
    assert together([_verdict("supported"), verdict]) == "undecided"
    assert weakest([verdict, _verdict("supported")]) == _verdict("supported")


def _verdict(word) -> Verdict:
    nothing = Interval(0.0, 0.0, 0.0)
    return Verdict(Comparison(TAU_1, IRL, "area"), word, nothing, ([], []), 5, was_run=True)


@pytest.mark.parametrize(
    ("words", "whole"),
    [
        (["supported", "supported"], "supported"),
        (["supported", "undecided"], "undecided"),
        (["supported", "undecided", "not supported"], "not supported"),
    ],
)
def test_a_claim_is_as_good_as_its_weakest_comparison(words: list, whole: str):
    assert together([_verdict(word) for word in words]) == whole


def test_a_comparison_that_was_not_run_can_only_keep_a_claim_from_being_supported():
    not_run = _verdict("undecided")._replace(seeds=0, was_run=False)
    assert together([_verdict("supported"), not_run]) == "not run yet"
    assert together([_verdict("not supported"), not_run]) == "not supported"


def test_a_claim_without_comparisons_says_why():
    assert together([]) == "it is about η itself"


def test_what_decides_a_claim_is_shown_before_what_is_further_off():
    far = Interval(-0.5, -1.4, 0.3)
    undecided = _verdict("undecided")._replace(effect=far)
    decides = _verdict("not supported")._replace(effect=Interval(-0.003, -0.009, 0.002))
    assert weakest([undecided, decides, _verdict("supported")]) == decides
    assert weakest([undecided, _verdict("undecided")]) == undecided


def test_claims_are_numbered_as_in_the_plan():
    assert [claim.number for claim in CLAIMS] == list(range(1, 16))


def test_every_measure_is_known_and_has_a_size_below_which_nobody_cares():
    used = {one.measure for claim in CLAIMS for one in claim.comparisons}
    assert used <= MEASURES.keys()
    assert all(MEASURES[name].negligible > 0 for name in used)


DECAYED = (DECAY_92, DECAY_95, DECAY_98)


@pytest.mark.parametrize(("lift", "word"), [(0.1, "supported"), (-0.1, "not supported")])
def test_made_up_results_with_an_effect_decide_the_claim(lift: float, word: str):
    found = few_methods({TAU_1_15: 0.3} | dict.fromkeys(DECAYED, 0.3 + lift))
    assert together(found.verdicts(CLAIMS[4])) == word


def test_results_without_an_effect_support_nothing():
    found = few_methods(dict.fromkeys((TAU_1, TAU_10, TAU_15), 0.3))
    assert together(found.verdicts(CLAIMS[2])) == "not supported"


def test_what_is_said_of_rates_is_not_decided_again_at_other_rates():
    found = few_methods({TAU_1_15: 0.3})
    applied = [claim.number for claim in CLAIMS if found.verdicts(claim, tuned=True)]
    assert applied == [number for number in range(1, 16) if number != 14]
