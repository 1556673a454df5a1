"""Laws of the formulas: equal to the proofs' sums, right in the limits, monotone where claimed."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmarl.theory import (
    Plan,
    Problem,
    corrected,
    exponential_decay,
    make_plan,
    needed_exchanges,
    overheads,
    printed,
)
from fmarl.theory import learning_rate as steps
from oracles import proof_sums as oracle
from oracles.plans import (
    in_plain_numbers,
    plain,
    plans,
    problems,
    random_laplacian,
    random_plan,
    unmixed,
)

NEAR: dict[str, Any] = {"rel": 1e-10}
seeds = st.integers(0, 10**6)
rates = st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20)
multisets = st.lists(st.integers(1, 12), min_size=1, max_size=9)


# The closed forms are the sums they come from, in exact fractions.


@given(local_updates=multisets)
def test_the_variation_bracket_is_the_sum_of_appendix_c(local_updates):
    period, size = max(local_updates), len(local_updates)
    mean = Fraction(sum(local_updates), size)
    variance = sum((tau - mean) ** 2 for tau in local_updates) / size

    bracket = -(mean**2) + (2 * period + 1) * mean - variance

    assert bracket / period == oracle.variation_factor(local_updates, period)


@given(root=rates, period=st.integers(1, 15))
def test_the_printed_quotient_of_corollary_1_is_the_double_sum_of_appendix_e(root, period):
    rate, decay = root**2, [root**y for y in range(period)]  # D_y = λ^(y/2) stays rational

    bracket = oracle.corollary_bracket(rate, period)

    assert bracket == sum((period - y) ** 2 * rate**y for y in range(period)) / period
    assert 2 * bracket / period == oracle.uniform_decay_factor(decay)


@given(local_updates=multisets, root=rates)
def test_counting_by_slots_is_counting_by_agents(local_updates, root):
    period, size = max(local_updates), len(local_updates)
    decay = [root**y for y in range(period)]
    share = [Fraction(sum(tau > y for tau in local_updates), size) for y in range(period)]

    by_slots = sum((period - y) * share[y] * decay[y] ** 2 for y in range(period))

    setting = oracle.Setting(local_updates, decay, oracle.identity(size))
    assert 2 * by_slots / period == oracle.decay_factor(setting)


@pytest.mark.parametrize("distance", [1e-3, 1e-5, 1e-7, 1e-12])
def test_the_sum_keeps_its_digits_where_the_printed_quotient_loses_them(distance):
    rate = 1 - distance
    problem = Problem(smoothness=1.0, gradient_noise=1.0)
    plan = make_plan(sync_period=15, num_agents=15, decay=exponential_decay(rate, 15))

    computed = printed.uniform_decay_bound(problem, plan).drift / plan.learning_rate**2

    exact = float(2 * oracle.corollary_bracket(Fraction(rate), 15) / 15)
    assert computed == pytest.approx(exact, rel=1e-14)
    printed_quotient = float(2 * oracle.corollary_bracket(rate, 15) / 15)  # type: ignore[arg-type]
    if distance <= 1e-7:
        assert abs(printed_quotient / exact - 1) > 1  # not one digit is left


# Implementation equals oracle.


@given(problem=problems(), plan=plans())
def test_printed_bounds_are_the_sums_of_the_appendices(problem, plan):
    setting = in_plain_numbers(problem, plan)
    factors = {
        printed.periodic_bound: plan.sync_period + 1,
        printed.variation_bound: oracle.variation_factor(setting.local_updates, plan.sync_period),
        printed.decay_bound: oracle.decay_factor(setting),
        printed.uniform_decay_bound: oracle.uniform_decay_factor(setting.decay),
    }

    for bound, factor in factors.items():
        expected = oracle.printed_terms(setting, float(factor))
        assert bound(problem, plan).total == pytest.approx(expected, **NEAR)


@given(problem=problems(), seed=seeds, agents=st.integers(2, 6), rounds=st.integers(1, 3))
def test_the_printed_consensus_bound_uses_the_second_smallest_eigenvalue(
    problem, seed, agents, rounds
):
    laplacian = random_laplacian(np.random.default_rng(seed), agents)
    eigenvalues = np.linalg.eigvalsh(laplacian)
    step = 0.9 / eigenvalues[-1]
    mixing = np.stack([np.eye(agents) - step * laplacian] * rounds)
    plan = make_plan(sync_period=4, num_agents=agents, mixing=mixing)

    kept = (1 - step * eigenvalues[1]) ** (2 * rounds)

    expected = printed.periodic_bound(problem, plan).drift * kept
    assert printed.consensus_bound(problem, plan).drift == pytest.approx(expected, **NEAR)


@given(problem=problems(), plan=plans(), from_minimum=st.booleans())
def test_corrected_bounds_are_the_sums_of_their_proofs(problem, plan, from_minimum):
    if from_minimum:  # else the distance still to go can hide the other terms
        problem, plan = replace(problem, initial_gap=0.0), replace(plan, learning_rate=0.5)
    setting = in_plain_numbers(problem, plan)
    weighted, total = oracle.weighted_total, pytest.approx

    assert corrected.average_weight(plan) == total(oracle.average_weight(setting), **NEAR)
    assert corrected.average_squared_weight(plan) == total(
        oracle.average_squared_weight(setting), **NEAR
    )
    assert corrected.weighted_bound(problem, plan).total == total(
        weighted(setting, oracle.simple_pairs), **NEAR
    )
    assert corrected.sharp_bound(problem, plan).total == total(
        weighted(setting, oracle.sharp_pairs), **NEAR
    )
    assert corrected.synchronised_bound(problem, plan).total == total(
        weighted(setting, oracle.synchronised_pairs, noise_times=2), **NEAR
    )
    assert corrected.normalised_bound(problem, plan).total == total(
        oracle.normalised_total(setting), **NEAR
    )


@given(problem=problems(), plan=plans(), common=st.sampled_from([0.0, 0.3, 1.0]))
def test_each_largest_step_just_meets_its_condition_and_no_larger_one_does(problem, plan, common):
    problem = replace(problem, noise_correlation=common)
    setting = in_plain_numbers(problem, plan)
    left = setting.disagreement_left**2
    conditions = {
        steps.largest_learning_rate: oracle.printed_condition,
        steps.largest_consensus_learning_rate: lambda s: oracle.printed_condition(s, left),
        steps.largest_weighted_learning_rate: oracle.weighted_condition,
        steps.largest_synchronised_learning_rate: oracle.synchronised_condition,
        steps.largest_normalised_learning_rate: oracle.normalised_condition,
    }

    for largest, condition in conditions.items():
        step = float(largest(problem, plan))
        assert abs(condition(setting._replace(learning_rate=step))) < 1e-12
        assert condition(setting._replace(learning_rate=step * 1.001)) > 0
        assert condition(setting._replace(learning_rate=step * 0.999)) < 0


@given(problem=problems(), plan=plans())
def test_the_printed_condition_is_equation_14(problem, plan):
    expected = oracle.printed_condition(in_plain_numbers(problem, plan))

    computed = steps.learning_rate_condition(problem, plan)

    assert computed == pytest.approx(expected, rel=1e-12, abs=1e-12)


# Limits.


@given(problem=problems(), period=st.integers(1, 15))
def test_a_vanishing_decay_rate_leaves_the_printed_drift_of_one_update(problem, period):
    plan = make_plan(sync_period=period, num_agents=3, decay=exponential_decay(1e-14, period))

    drift = printed.uniform_decay_bound(problem, plan).drift

    one_update = 2 * (plan.learning_rate * problem.smoothness) ** 2 * problem.gradient_noise
    assert drift == pytest.approx(one_update, rel=1e-11)


@given(problem=problems(), period=st.integers(1, 15))
def test_without_decay_corollary_1_is_equation_17_with_the_discrete_variance(problem, period):
    plan = make_plan(sync_period=period, num_agents=3)

    corollary = printed.uniform_decay_bound(problem, plan).total

    assert corollary == pytest.approx(printed.uniform_variation_bound(problem, plan).total, **NEAR)
    one_agent_of_each = make_plan(sync_period=period, local_updates=np.arange(1, period + 1))
    assert printed.uniform_decay_bound(problem, plan).drift == pytest.approx(
        printed.variation_bound(problem, one_agent_of_each).drift, **NEAR
    )


@given(problem=problems(), plan=plans())
def test_agents_that_are_all_busy_make_the_variation_bound_the_periodic_one(problem, plan):
    busy = plain(plan)

    assert printed.variation_bound(problem, busy).total == pytest.approx(
        printed.periodic_bound(problem, busy).total, **NEAR
    )
    assert printed.decay_bound(problem, busy).total == pytest.approx(
        printed.periodic_bound(problem, busy).total, **NEAR
    )


@given(problem=problems(), plan=plans(max_rounds=0))
def test_without_rounds_consensus_changes_nothing(problem, plan):
    assert plan.disagreement_left == 1
    assert printed.consensus_bound(problem, plan) == printed.periodic_bound(problem, plan)
    assert overheads(plan).exchanges == overheads(plan).mixings == needed_exchanges(plan) == 0
    assert steps.largest_consensus_learning_rate(problem, plan) == steps.largest_learning_rate(
        problem, plan
    )


@given(problem=problems(), plan=plans(max_period=1))
def test_a_period_of_one_update_has_no_drift_at_all(problem, plan):
    for bound in (
        corrected.weighted_bound,
        corrected.sharp_bound,
        corrected.synchronised_bound,
        corrected.normalised_bound,
    ):
        assert bound(problem, plan).drift == 0
    assert printed.periodic_bound(problem, plan).drift > 0  # E5: the printed one keeps some


@given(problem=problems(), agents=st.integers(2, 8), period=st.integers(1, 8), seed=seeds)
def test_exact_averaging_of_busy_agents_leaves_no_sharp_drift(problem, agents, period, seed):
    everyone = np.eye(agents) * agents - 1
    mixing = (np.eye(agents) - everyone / agents)[None]  # complete graph, ε = 1/m
    decay = random_plan(np.random.default_rng(seed), agents, period).decay
    plan = make_plan(sync_period=period, num_agents=agents, mixing=mixing, decay=decay)

    drift = corrected.sharp_bound(problem, plan).drift

    assert drift <= 1e-25 * corrected.sharp_bound(problem, unmixed(plan)).drift + 1e-30


@given(seed=seeds, agents=st.integers(2, 7))
def test_the_best_step_gives_the_best_contraction(seed, agents):
    laplacian = random_laplacian(np.random.default_rng(seed), agents)
    slowest, fastest = np.linalg.eigvalsh(laplacian)[[1, -1]]
    mixing = (np.eye(agents) - 2 / (slowest + fastest) * laplacian)[None]

    left = make_plan(sync_period=2, num_agents=agents, mixing=mixing).disagreement_left

    assert left == pytest.approx((fastest - slowest) / (fastest + slowest), abs=1e-12)


@given(problem=problems(), seed=seeds, agents=st.integers(2, 6), period=st.integers(2, 8))
def test_the_sharp_drift_of_busy_agents_is_the_trace_factor(problem, seed, agents, period):
    plan = plain(random_plan(np.random.default_rng(seed), agents, period, rounds=2))
    step = plan.learning_rate * problem.smoothness

    drift = corrected.sharp_bound(problem, plan).drift

    modes = np.linalg.svd(plan.deviation, compute_uv=False)
    trace_factor = np.sum(modes**2) / agents
    expected = step**2 * problem.gradient_noise * (period - 1) * trace_factor
    assert drift == pytest.approx(expected, **NEAR)
    alone = corrected.sharp_bound(problem, unmixed(plan)).drift
    assert alone == pytest.approx(
        step**2 * problem.gradient_noise * (period - 1) * (1 - 1 / agents), **NEAR
    )


@given(problem=problems(), plan=plans(max_rounds=0))
def test_normalising_busy_agents_changes_nothing(problem, plan):
    busy = replace(plan, local_updates=np.full(plan.num_agents, plan.sync_period))

    assert corrected.normalised_bound(problem, busy).total == pytest.approx(
        corrected.sharp_bound(problem, busy).total, **NEAR
    )


# Order and monotony.


@given(problem=problems(), period=st.integers(2, 12), low=rates, high=rates)
def test_less_decay_means_a_larger_printed_bound(problem, period, low, high):
    plan = make_plan(sync_period=period, num_agents=3)
    bounds = [
        printed.uniform_decay_bound(problem, replace(plan, decay=exponential_decay(rate, period)))
        for rate in sorted((float(low), float(high)))
    ]

    assert bounds[0].drift <= bounds[1].drift
    assert (bounds[0].drift < bounds[1].drift) == (low != high)


@given(problem=problems(), plan=plans())
def test_the_printed_periodic_bound_grows_with_the_period(problem, plan):
    longer = make_plan(
        sync_period=plan.sync_period + 1,
        num_agents=plan.num_agents,
        learning_rate=plan.learning_rate,
        total_updates=plan.total_updates,
    )

    assert (
        printed.periodic_bound(problem, longer).drift > printed.periodic_bound(problem, plan).drift
    )


@given(problem=problems(), plan=plans(max_period=12), seed=seeds)
def test_one_more_local_update_never_lowers_the_printed_variation_bound(problem, plan, seed):
    slow = np.flatnonzero(plan.local_updates < plan.sync_period)
    more = plan.local_updates.copy()
    more[slow[:1]] += 1
    busier = printed.variation_bound(problem, replace(plan, local_updates=more)).drift

    assert busier >= printed.variation_bound(problem, plan).drift * (1 - 1e-12)
    assert slow.size == 0 or busier > printed.variation_bound(problem, plan).drift


@given(problem=problems(), plan=plans())
def test_theorem_1_holds_between_the_formulas(problem, plan):
    assert printed.decay_bound(problem, plan).drift <= printed.variation_bound(
        problem, plan
    ).drift * (1 + 1e-12)


@given(problem=problems(), plan=plans())
def test_the_sharp_bound_is_never_above_the_simple_one(problem, plan):
    sharp, simple = (
        corrected.sharp_bound(problem, plan),
        corrected.weighted_bound(problem, plan),
    )

    assert sharp.drift <= simple.drift * (1 + 1e-12)
    assert sharp[:2] == simple[:2]


@given(problem=problems(), plan=plans())
def test_the_corrected_bounds_admit_at_least_the_printed_step(problem, plan):
    printed_step = steps.largest_learning_rate(problem, plan)
    loosest = 1 + 1e-12

    assert steps.largest_consensus_learning_rate(problem, plan) * loosest >= printed_step
    assert steps.largest_weighted_learning_rate(problem, plan) * loosest >= printed_step


@given(problem=problems(), plan=plans(), correlation=st.floats(0.01, 1))
def test_common_noise_never_lowers_a_corrected_bound(problem, plan, correlation):
    common = replace(problem, noise_correlation=correlation)

    for bound in (
        corrected.weighted_bound,
        corrected.sharp_bound,
        corrected.synchronised_bound,
        corrected.normalised_bound,
    ):
        together, alone = bound(common, plan), bound(problem, plan)
        assert together.noise >= alone.noise * (1 - 1e-12)
        assert together.drift >= alone.drift * (1 - 1e-12)


@given(problem=problems(), plan=plans(), common=st.floats(0, 1), most=st.floats(0, 1))
def test_the_drift_terms_cover_every_share_of_common_noise_up_to_the_given_one(
    problem, plan, common, most
):
    common, most = sorted((common, most))

    _assert_drift_is_covered(replace(problem, noise_correlation=most), plan, common)


@pytest.mark.parametrize("groups", [[[0, 1], [2, 3]], [[0, 1, 2, 3]]])
def test_the_drift_terms_cover_common_noise_that_mixing_does_not_cancel(groups):
    mixing = np.zeros((1, 4, 4))
    for group in groups:
        mixing[0][np.ix_(group, group)] = 1 / len(group)  # exact averaging within the group
    plan = make_plan(sync_period=20, local_updates=np.array([20, 20, 1, 1]), mixing=mixing)
    problem = Problem(smoothness=1.0, gradient_noise=1.0, noise_correlation=1.0)

    # Here common noise makes more drift than independent noise of the same variance would.
    _assert_drift_is_covered(problem, plan, common=1.0)


def _assert_drift_is_covered(problem: Problem, plan: Plan, common: float) -> None:
    problem = replace(problem, initial_gap=0.0)
    actual = in_plain_numbers(problem, plan)._replace(common=common)
    step = plan.learning_rate * problem.smoothness
    share = 2 * step**2 * problem.gradient_noise / plan.sync_period
    weight = oracle.average_weight(actual)

    sharp = corrected.sharp_bound(problem, plan).drift
    normalised = corrected.normalised_bound(problem, plan).total

    assert sharp >= share * oracle.sharp_pairs(actual) / weight * (1 - 1e-10)
    assert normalised >= oracle.normalised_total(actual) * (1 - 1e-10)


@given(problem=problems(), plan=plans(), correlation=st.floats(0, 1))
def test_common_noise_of_busy_agents_raises_the_noise_term_as_e6_says(problem, plan, correlation):
    busy = plain(plan)
    common = replace(problem, noise_correlation=correlation)

    ratio = (
        corrected.weighted_bound(common, busy).noise / corrected.weighted_bound(problem, busy).noise
    )

    assert ratio == pytest.approx(1 + (plan.num_agents - 1) * correlation, **NEAR)
