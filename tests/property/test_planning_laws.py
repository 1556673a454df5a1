"""Laws of what is planned with the bounds: steps, periods, local updates, cost and utility."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from fmarl import topology
from fmarl.theory import (
    Plan,
    Problem,
    corrected,
    local_updates_from_times,
    make_plan,
    needed_exchanges,
    normalised_utility,
    overheads,
    planner,
    printed,
    resource_cost,
    utility,
)
from fmarl.theory import learning_rate as steps
from fmarl.theory.cost import overheads_after
from oracles import proof_sums as oracle
from oracles.plans import (
    in_plain_numbers,
    plain,
    plans,
    problems,
    random_plan,
    random_problem,
    stacked,
)

NEAR: dict[str, Any] = {"rel": 1e-10}
seeds = st.integers(0, 10**6)


# The planner.


@given(problem=problems(), plan=plans())
def test_the_longest_period_is_the_last_one_that_meets_the_condition(problem, plan):
    longest = int(planner.largest_sync_period(problem, plan))

    def meets(period: int) -> bool:
        setting = in_plain_numbers(problem, plan)._replace(decay=[1.0] * period)
        return oracle.printed_condition(setting) <= 1e-12

    assert longest == 0 or meets(longest)
    assert not meets(longest + 1)


@given(beta=st.integers(0, 3), period=st.integers(1, 40))
def test_a_step_that_meets_the_condition_exactly_keeps_its_period(beta, period):
    plan = make_plan(sync_period=period, num_agents=1)
    problem = Problem(smoothness=3.0, gradient_noise=1.0, gradient_noise_slope=float(beta))
    exactly = replace(plan, learning_rate=float(steps.largest_learning_rate(problem, plan)))

    assert planner.largest_sync_period(problem, exactly) == period


@pytest.mark.parametrize("form", ["printed", "corrected"])
@given(problem=problems(), plan=plans(), common=st.sampled_from([0.0, 0.5, 1.0]))
def test_the_best_step_has_the_smallest_bound_a_search_can_find(form, problem, plan, common):
    problem = replace(problem, noise_correlation=common)
    busy = plain(plan)

    best = float(planner.best_learning_rate(problem, busy, form))

    largest = _largest_step(form)(problem, busy)
    found: Any = minimize_scalar(
        lambda log: np.log(_planned_bound(form, problem, replace(busy, learning_rate=np.exp(log)))),
        bounds=(np.log(largest) - 25, np.log(largest)),
        method="bounded",
        options={"xatol": 1e-10},
    )
    bound_here = _planned_bound(form, problem, replace(busy, learning_rate=best))
    assert best <= largest
    assert bound_here <= np.exp(found.fun) * (1 + 1e-9)


@pytest.mark.parametrize("form", ["printed", "corrected"])
@given(seed=seeds)
def test_the_best_period_has_the_highest_utility_a_search_can_find(form, seed):
    rng = np.random.default_rng(seed)
    problem, plan = random_problem(rng), plain(random_plan(rng, 4, 3, int(rng.integers(3))))
    start = _planned_bound(form, problem, plan)
    problem = replace(problem, initial_gradient_norm=float(start * rng.uniform(0.3, 20)))

    best = float(planner.best_sync_period(problem, plan, form))

    def worth(period: float) -> float:
        return _utility_of_period(form, problem, plan, period)

    if np.isnan(best):
        grid = np.geomspace(1e-6, 1e6, 200)
        assert max(worth(period) for period in grid) <= 0
        return
    found: Any = minimize_scalar(
        lambda log: -worth(np.exp(log)),
        bounds=(np.log(best) - 3, np.log(best) + 3),
        method="bounded",
        options={"xatol": 1e-12},
    )
    assert worth(best) >= -found.fun - 1e-12 * abs(found.fun)


def _largest_step(form):
    weighted = steps.largest_weighted_learning_rate
    return steps.largest_learning_rate if form == "printed" else weighted


def _planned_bound(form: str, problem: Problem, plan: Plan) -> float:
    """The bound that the planner minimises, from its published form."""
    if form == "corrected":
        return float(corrected.weighted_bound(problem, plan).total)
    periodic = printed.periodic_bound(problem, plan)
    return float(periodic._replace(drift=periodic.drift * plan.disagreement_left**2).total)


def _utility_of_period(form: str, problem: Problem, plan: Plan, period: float) -> float:
    """(ψ2 − ψ1)/ψ0 for a real-valued period, up to the factor K."""
    step = plan.learning_rate * problem.smoothness
    count = period + 1 if form == "printed" else period - 1
    drift = step**2 * problem.gradient_noise * plan.disagreement_left**2 * count
    fixed = printed.periodic_bound(problem, plan)
    removed = problem.initial_gradient_norm - fixed.optimisation - fixed.noise - drift
    links = np.count_nonzero(plan.mixing) - plan.consensus_rounds * plan.num_agents
    per_update = plan.num_agents * problem.update_cost
    exchanges = links * (problem.exchange_cost + problem.mixing_cost)
    return float(
        removed / (plan.num_agents * problem.upload_cost / period + per_update + exchanges)
    )


# Local updates from step times.


@given(
    tenths=st.lists(st.integers(1, 60), min_size=1, max_size=6),
    period=st.integers(1, 30),
)
def test_local_updates_are_exact_on_one_decimal_times(tenths, period):
    counted = local_updates_from_times([tenth / 10 for tenth in tenths], period)

    fastest = Fraction(min(tenths), 10)
    expected = [oracle.updates_in_period(fastest, Fraction(t, 10), period) for t in tenths]
    assert counted.tolist() == expected


@given(
    tenths=st.lists(st.integers(1, 60), min_size=1, max_size=6),
    period=st.integers(1, 30),
    scale=st.integers(1, 50),
)
def test_slower_clocks_change_no_local_update(tenths, period, scale):
    slow = local_updates_from_times([scale * tenth / 10 for tenth in tenths], period)

    fast = local_updates_from_times([tenth / 10 for tenth in tenths], period)
    exact = [scale * Fraction(tenth, 10) == Fraction(str(scale * tenth / 10)) for tenth in tenths]
    assert all(exact)  # the products above are the decimals they look like
    assert slow.tolist() == fast.tolist()


# Many settings at once.


@given(seed=seeds, agents=st.integers(1, 5), period=st.integers(1, 6), rounds=st.integers(0, 2))
def test_a_stack_of_settings_gives_what_each_gives_alone(seed, agents, period, rounds):
    rng = np.random.default_rng(seed)
    all_problems = [random_problem(rng) for _ in range(3)]
    correlation = [float(c) for c in rng.random(3)]
    all_problems = [
        replace(problem, noise_correlation=c)
        for problem, c in zip(all_problems, correlation, strict=True)
    ]
    all_plans = [random_plan(rng, agents, period, rounds) for _ in range(3)]
    together = stacked(all_problems), stacked(all_plans)

    for function in BOUNDS_AND_STEPS:
        pairs = zip(all_problems, all_plans, strict=True)
        alone = np.array([_number(function(*pair)) for pair in pairs])
        at_once = np.broadcast_to(_number(function(*together)), 3)
        assert at_once == pytest.approx(alone, rel=1e-11, nan_ok=True)


BOUNDS_AND_STEPS = [
    printed.periodic_bound,
    printed.variation_bound,
    printed.uniform_variation_bound,
    printed.decay_bound,
    printed.uniform_decay_bound,
    printed.consensus_bound,
    corrected.weighted_bound,
    corrected.sharp_bound,
    corrected.synchronised_bound,
    corrected.normalised_bound,
    steps.learning_rate_condition,
    steps.largest_learning_rate,
    steps.largest_consensus_learning_rate,
    steps.largest_weighted_learning_rate,
    steps.largest_synchronised_learning_rate,
    steps.largest_normalised_learning_rate,
    planner.best_learning_rate,
    planner.best_sync_period,
    planner.largest_sync_period,
    resource_cost,
    lambda _problem, plan: needed_exchanges(plan),
    lambda _problem, plan: corrected.average_weight(plan),
    lambda _problem, plan: corrected.average_squared_weight(plan),
]


def _number(value):
    return value.total if hasattr(value, "total") else value


# Cost and utility.


@given(problem=problems(), plan=plans())
def test_the_cost_is_what_a_ledger_kept_slot_by_slot_says(problem, plan):
    periods = int(plan.total_updates) // plan.sync_period
    uploads = updates = sent = 0
    for _ in range(periods):
        uploads += plan.num_agents
        for slot in range(plan.sync_period):
            updates += sum(int(tau > slot) for tau in plan.local_updates)
            for round_ in plan.mixing:
                sent += sum(len(_neighbours(round_)[agent]) for agent in range(plan.num_agents))

    counted = overheads(plan)

    assert (counted.uploads, counted.updates) == (uploads, updates)
    assert (counted.exchanges, counted.mixings) == (sent, sent)
    assert resource_cost(problem, plan) == pytest.approx(
        uploads * problem.upload_cost
        + updates * problem.update_cost
        + sent * (problem.exchange_cost + problem.mixing_cost),
        **NEAR,
    )


@given(plan=plans(), update_count=st.integers(0, 40))
def test_the_work_of_the_first_slots_is_what_a_ledger_says_after_each(plan, update_count):
    updates = sent = 0
    for count in range(update_count):
        slot = count % plan.sync_period
        updates += sum(int(tau > slot) for tau in plan.local_updates)
        for round_ in plan.mixing:
            sent += sum(len(_neighbours(round_)[agent]) for agent in range(plan.num_agents))

    counted = overheads_after(plan, update_count)

    uploads = update_count // plan.sync_period * plan.num_agents
    assert (counted.uploads, counted.updates) == (uploads, updates)
    assert (counted.exchanges, counted.mixings) == (sent, sent)


@given(plan=plans())
def test_needed_exchanges_are_those_of_agents_with_something_to_say(plan):
    neighbours = [_neighbours(round_) for round_ in plan.mixing]
    per_period = oracle.messages_per_period(plan.local_updates.tolist(), neighbours)

    needed = needed_exchanges(plan)

    assert needed == per_period * plan.total_updates / plan.sync_period
    assert needed <= overheads(plan).exchanges
    assert needed_exchanges(plain(plan)) == overheads(plan).exchanges


def test_graph_1081_needs_46800_exchanges_where_the_paper_bills_78000():
    graph = topology.paper_13()
    plan = make_plan(
        sync_period=15,
        local_updates=np.array([15, 13, 11, 9, 7, 5, 3]),
        mixing=topology.constant_weights(graph, 0.1, 1),
    )

    assert needed_exchanges(plan) == 46_800
    assert overheads(plan).exchanges == 78_000


@given(removed=st.floats(-10, 10), start=st.floats(0.1, 100), cost=st.floats(0.01, 1e6))
def test_a_plan_that_removes_no_error_is_worth_less_than_any_that_does(removed, start, cost):
    worth = float(utility(start, start - removed, cost))

    if start - removed < start:
        assert worth == pytest.approx((start - (start - removed)) / cost)
        assert worth > 0
    else:
        assert worth == -np.inf


@given(values=st.lists(st.floats(-5, 5), min_size=2, max_size=12, unique=True), seed=seeds)
def test_normalised_utility_runs_from_zero_to_one_and_keeps_the_order(values, seed):
    utilities = np.array(values)
    normalised = normalised_utility(utilities)

    assert (normalised.min(), normalised.max()) == (0, 1)
    ranked = normalised[np.argsort(utilities)]
    assert all(low <= high for low, high in pairwise(ranked))
    with_infeasible = np.append(utilities, -np.inf)
    assert normalised_utility(with_infeasible)[:-1].tolist() == normalised.tolist()
    assert normalised_utility(with_infeasible)[-1] == -np.inf


def _neighbours(round_: np.ndarray) -> list[set[int]]:
    return [
        {other for other, weight in enumerate(row) if weight != 0 and other != agent}
        for agent, row in enumerate(round_.tolist())
    ]
