"""Bounds, steps and costs of settings small enough to work out with a pencil."""

from typing import Any

import numpy as np
import pytest

from fmarl.errors import BadInput
from fmarl.theory import (
    Bound,
    Problem,
    corrected,
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
from fmarl.theory.exact_quadratic import (
    exact_gradient_norms,
    synchronised_average,
    weighted_average,
)

# ηL = 0.1·2 = 0.2, ηLσ² = 0.6, η²L²σ² = 0.12, 2ΔF/(ηK) = 2·0.5/(0.1·20) = 0.5
PROBLEM = Problem(smoothness=2.0, gradient_noise=3.0, initial_gap=0.5)
PARTS = {"learning_rate": 0.1, "total_updates": 20}
BUSY = make_plan(sync_period=2, num_agents=2, **PARTS)
MASKED = make_plan(sync_period=2, local_updates=np.array([2, 1]), **PARTS)
FADED = make_plan(sync_period=2, num_agents=2, decay=np.array([1.0, 0.5]), **PARTS)
PAIR = np.array([[[0.75, 0.25], [0.25, 0.75]]])  # leaves half of a difference
MIXED = make_plan(sync_period=2, num_agents=2, mixing=PAIR, **PARTS)


def _terms(bound: Bound) -> Any:
    return pytest.approx(tuple(bound), rel=1e-12)


def test_a_bound_is_the_sum_of_its_three_causes():
    assert Bound(optimisation=1.0, noise=2.0, drift=4.0).total == 7.0


@pytest.mark.parametrize(
    ("bound", "plan", "drift"),
    [
        (printed.periodic_bound, BUSY, 0.12 * 3),
        (printed.variation_bound, BUSY, 0.12 * 3),
        (printed.variation_bound, MASKED, 0.12 / 2 * (-2.25 + 7.5 - 0.25)),  # ν = 1.5, ω² = 1/4
        (printed.uniform_variation_bound, BUSY, 0.12 / 2 * (-2.25 + 7.5 - 0.25)),
        (printed.decay_bound, FADED, 2 * 0.12 / 2 * (2 + 0.25)),
        (printed.decay_bound, MASKED, 2 * 0.12 / 2 * (2 + 0.5)),
        (printed.uniform_decay_bound, FADED, 2 * 0.12 / 2 * (4 + 0.25) / 2),
        (printed.consensus_bound, MIXED, 0.12 * 3 / 4),
        (printed.consensus_bound, BUSY, 0.12 * 3),
    ],
)
def test_printed_bounds_by_hand(bound, plan, drift):
    assert _terms(bound(PROBLEM, plan)) == (0.5, 0.3, drift)


def test_the_printed_variance_of_one_to_fifteen():
    assert printed.printed_uniform_variance(15) == pytest.approx(49 / 3)
    twice = printed.uniform_variation_bound(PROBLEM, BUSY, variance=1 / 12)

    assert twice.drift == pytest.approx(0.12 / 2 * (-2.25 + 7.5 - 1 / 12))


def test_average_weights_by_hand():
    assert corrected.average_weight(MASKED) == pytest.approx(3 / 4)
    assert corrected.average_weight(FADED) == pytest.approx(3 / 4)
    assert corrected.average_squared_weight(FADED) == pytest.approx(5 / 8)


@pytest.mark.parametrize(
    ("bound", "plan", "terms"),
    [
        # One pair of slots (q = 0, j = 1): H = D_1 a_0 D_0² ρ².
        (corrected.weighted_bound, BUSY, (0.5, 0.3, 0.12)),
        (corrected.weighted_bound, MASKED, (0.5 * 4 / 3, 0.3, 0.12 * 4 / 3)),
        (corrected.weighted_bound, FADED, (0.5 * 4 / 3, 0.3 * 5 / 6, 0.06 * 4 / 3)),
        (corrected.weighted_bound, MIXED, (0.5, 0.3, 0.12 / 4)),
        # Sharp: I − J has squares 1/4, so (1/m) Σ M² is 1/2 when both listen, 1/4 when one does.
        (corrected.sharp_bound, BUSY, (0.5, 0.3, 0.06)),
        (corrected.sharp_bound, MASKED, (0.5 * 4 / 3, 0.3, 0.03 * 4 / 3)),
        (corrected.sharp_bound, MIXED, (0.5, 0.3, 0.06 / 4)),
        (corrected.synchronised_bound, BUSY, (0.5, 0.6, 0.12)),
        (corrected.synchronised_bound, MASKED, (0.5 * 4 / 3, 0.6, 0.06 * 4 / 3)),
        # Normalised: mean(1/m_y) = (1/2 + 1)/2, and 1 − 1/m_0 = 1/2.
        (corrected.normalised_bound, MASKED, (0.5, 0.6 * 3 / 4, 0.06)),
        (corrected.normalised_bound, FADED, (0.5 * 4 / 3, 0.3 * 5 / 6, 0.03 * 4 / 3)),
    ],
)
def test_corrected_bounds_by_hand(bound, plan, terms):
    assert _terms(bound(PROBLEM, plan)) == terms


def test_fully_common_noise_of_two_agents_doubles_the_noise_term():
    common = Problem(smoothness=2.0, gradient_noise=3.0, initial_gap=0.5, noise_correlation=1.0)

    assert corrected.weighted_bound(common, BUSY).noise == pytest.approx(0.6)
    assert corrected.weighted_bound(common, MASKED).noise == pytest.approx((0.6 + 0.15) / 2 * 4 / 3)


def test_largest_steps_by_hand():
    # x = ηL: x + 6x² = 1, x + 2x² = 1, 4x + 2x² = 1, 3x + 2x² = 1; quarter of the drift: x + x²/2.
    assert steps.largest_learning_rate(PROBLEM, BUSY) == pytest.approx(1 / 3 / 2)
    assert steps.largest_weighted_learning_rate(PROBLEM, BUSY) == pytest.approx(1 / 2 / 2)
    assert steps.largest_weighted_learning_rate(PROBLEM, MIXED) == pytest.approx(
        (np.sqrt(3) - 1) / 2
    )
    assert steps.largest_consensus_learning_rate(PROBLEM, MIXED) == pytest.approx(
        (np.sqrt(1 + 6) - 1) / 3 / 2
    )
    assert steps.largest_synchronised_learning_rate(PROBLEM, BUSY) == pytest.approx(
        (np.sqrt(16 + 8) - 4) / 4 / 2
    )
    # Normalised, τ_i = (2, 1): slot 0 has m_0/m_1 = 2, so x + 4x² = 1.
    assert steps.largest_normalised_learning_rate(PROBLEM, MASKED) == pytest.approx(
        (np.sqrt(17) - 1) / 8 / 2
    )


def test_the_printed_condition_by_hand():
    sloped = Problem(smoothness=2.0, gradient_noise=3.0, gradient_noise_slope=1.0)

    # 0.2·(1/2 + 1) − 1 + 2·0.04·2·1 + 0.04·2·3
    assert steps.learning_rate_condition(sloped, BUSY) == pytest.approx(0.3 - 1 + 0.16 + 0.24)


def test_mixing_among_active_agents_leaves_the_normalised_step_as_it_was():
    listening = make_plan(sync_period=2, local_updates=np.array([2, 1]), mixing=PAIR, **PARTS)

    # All were active in slot 0, the only one whose gradients can still cause drift.
    assert steps.largest_normalised_learning_rate(
        PROBLEM, listening
    ) == steps.largest_normalised_learning_rate(PROBLEM, MASKED)


def test_what_leaks_to_idle_agents_makes_the_normalised_step_smaller():
    sloped = Problem(smoothness=2.0, gradient_noise=3.0, gradient_noise_slope=50.0)
    leaking = make_plan(sync_period=3, local_updates=np.array([3, 1]), mixing=PAIR, **PARTS)

    # Slot 1 decides: one agent is left, it keeps 3/4 of its gradient, so κ = 1 + (1/4)² and
    # (50 + 1)x + 2(50 + 2)κx² = 1.
    leak = 1 + 1 / 16
    assert steps.largest_normalised_learning_rate(sloped, leaking) == pytest.approx(
        (np.sqrt(51**2 + 4 * 104 * leak) - 51) / (2 * 104 * leak) / 2
    )


def test_costs_by_hand():
    plan = make_plan(sync_period=2, local_updates=np.array([2, 1]), mixing=PAIR, total_updates=20)
    problem = Problem(
        smoothness=1.0,
        gradient_noise=1.0,
        upload_cost=1.0,
        update_cost=10.0,
        exchange_cost=100.0,
        mixing_cost=1000.0,
    )

    assert overheads(plan) == (20, 30, 40, 40)  # ten periods, twenty slots, two directions
    assert resource_cost(problem, plan) == 20 + 300 + 4000 + 40_000
    assert needed_exchanges(plan) == 30  # in the second slot only one has something to send


def test_an_idle_agent_between_two_busy_ones_passes_news_on_in_the_second_round():
    path = np.array([[0.7, 0.3, 0], [0.3, 0.4, 0.3], [0, 0.3, 0.7]])
    plan = make_plan(
        sync_period=2,
        local_updates=np.array([2, 1, 1]),
        mixing=np.stack([path, path]),
        total_updates=2,
    )

    # Slot 0: 4 + 4. Slot 1: the first agent sends 1, then it and the middle one 1 + 2.
    assert needed_exchanges(plan) == 8 + 1 + 3


def test_utility_by_hand():
    assert utility(5.0, 1.0, 8.0) == 0.5
    assert utility(1.0, 1.0, 8.0) == -np.inf
    assert utility(np.array([5.0, 1.0]), 2.0, 3.0).tolist() == [1.0, -np.inf]


@pytest.mark.parametrize(
    ("values", "expected"),
    [([2.0], [0.0]), ([3.0, 3.0], [0.0, 0.0]), ([-np.inf], [-np.inf]), ([1.0, 2.0], [0.0, 1.0])],
)
def test_normalised_utility_of_few_rows(values, expected):
    assert normalised_utility(np.array(values)).tolist() == expected


def test_the_best_step_without_drift_balances_distance_and_noise():
    plan = make_plan(sync_period=1, num_agents=2, total_updates=4000)

    # 2ΔF/(ηK) = ηLσ²/m at η² = 2·0.5·2/(4000·2·3)
    assert planner.best_learning_rate(PROBLEM, plan) == pytest.approx(np.sqrt(1 / 12_000))


def test_the_best_step_without_noise_is_the_largest():
    quiet = Problem(smoothness=2.0, gradient_noise=0.0)

    assert planner.best_learning_rate(quiet, BUSY) == steps.largest_weighted_learning_rate(
        quiet, BUSY
    )
    assert planner.best_learning_rate(quiet, BUSY, "printed") == steps.largest_learning_rate(
        quiet, BUSY
    )


def test_the_best_step_is_never_above_the_largest():
    far = Problem(smoothness=2.0, gradient_noise=3.0, initial_gap=500.0)

    assert planner.best_learning_rate(far, BUSY) == pytest.approx(1 / 4)
    assert planner.best_learning_rate(far, BUSY, "printed") == pytest.approx(1 / 6)


def test_planning_refuses_an_unknown_form():
    with pytest.raises((BadInput, TypeError)):  # the type checker of the tests may be first
        planner.best_learning_rate(PROBLEM, BUSY, "hopeful")  # type: ignore[arg-type]


def test_the_best_period_by_hand():
    # b = 0.12, c = ψ2 − 0.5 − 0.3 + 0.12; with updates for free, τ* = c/(2b).
    problem = Problem(
        smoothness=2.0,
        gradient_noise=3.0,
        initial_gap=0.5,
        initial_gradient_norm=2.0,
        update_cost=0.0,
    )

    assert planner.best_sync_period(problem, BUSY) == pytest.approx((1.2 + 0.12) / 0.24)
    assert planner.best_sync_period(problem, BUSY, "printed") == pytest.approx((1.2 - 0.12) / 0.24)


def test_no_period_is_best_where_none_removes_error():
    hopeless = Problem(smoothness=2.0, gradient_noise=3.0, initial_gradient_norm=0.1)

    assert np.isnan(planner.best_sync_period(hopeless, BUSY))


@pytest.mark.parametrize(("step", "longest"), [(1 / 32, 15), (1 / 31.9, 14), (0.5, 0), (0.6, 0)])
def test_the_longest_period_by_hand(step, longest):
    # β = 0: ηL(τ+1) <= 1, with L = 2.
    plan = make_plan(sync_period=1, num_agents=3, learning_rate=step)

    assert planner.largest_sync_period(PROBLEM, plan) == longest


def test_an_exact_run_by_hand():
    # θ ← θ − 0.5(θ + n) for each of two agents, Var n = 1: one slot after the other, one average.
    problem = Problem(smoothness=1.0, gradient_noise=1.0, initial_gap=0.5)
    plan = make_plan(sync_period=1, num_agents=2, learning_rate=0.5, total_updates=3)

    norms = exact_gradient_norms(problem, plan)

    assert norms == pytest.approx([1, 0.25 + 0.125, 0.375 / 4 + 0.125])


def test_an_idle_agent_halves_the_step_unless_normalised():
    problem = Problem(smoothness=1.0, gradient_noise=0.0, initial_gap=0.5)
    plan = make_plan(
        sync_period=2, local_updates=np.array([2, 1]), learning_rate=0.5, total_updates=3
    )

    plain = exact_gradient_norms(problem, plan)
    normalised = exact_gradient_norms(problem, plan, normalise=True)

    assert plain == pytest.approx([1, 0.25, (0.5 - 0.125) ** 2])
    assert normalised == pytest.approx([1, 0.25, (0.5 - 0.25) ** 2])


def test_averages_by_hand():
    plan = make_plan(
        sync_period=2,
        local_updates=np.array([2, 1]),
        decay=np.array([1.0, 0.5]),
        total_updates=4,
    )
    norms = np.array([4.0, 8.0, 2.0, 6.0])

    assert weighted_average(norms, plan) == pytest.approx((4 + 2 + 2 + 1.5) / 2.5)
    assert weighted_average(norms, plan, normalise=True) == pytest.approx((4 + 4 + 2 + 3) / 3)
    assert synchronised_average(norms, plan) == 3.0


def test_rounds_that_do_not_commute_are_seen_from_the_receiver():
    first = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    then = np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.0, 0.5, 0.5]])
    plan = make_plan(
        sync_period=2,
        local_updates=np.array([2, 2, 1]),
        mixing=np.stack([first, then]),
        learning_rate=0.5,
    )
    noise = Problem(smoothness=1.0, gradient_noise=1.0, initial_gap=0.0)

    # Agents 0 and 1 receive (1/6, 1/6, −1/3) and (−1/12, −1/12, 1/6) of all three in slot 0.
    pairs = 1 / 36 + 1 / 36 + 1 / 9 + 1 / 144 + 1 / 144 + 1 / 36
    weight = (1 + 2 / 3) / 2
    assert corrected.sharp_bound(noise, plan).drift == pytest.approx(0.25 * pairs / 3 / weight)


def test_noise_that_all_share_never_lifts_the_sharp_bound_above_the_simple_one():
    shared = Problem(smoothness=1.0, gradient_noise=1.0, noise_correlation=1.0)
    plan = make_plan(sync_period=100, local_updates=np.array([100] + [1] * 9), learning_rate=0.001)
    sharp, simple = corrected.sharp_bound(shared, plan), corrected.weighted_bound(shared, plan)
    assert sharp.drift <= simple.drift


def test_the_best_step_is_zero_where_there_is_no_gap_to_close():
    nothing_to_gain = Problem(smoothness=1.0, gradient_noise=1.0, initial_gap=0.0)
    assert planner.best_learning_rate(nothing_to_gain, BUSY) == 0


def test_common_noise_shortens_the_best_step():
    shared = Problem(smoothness=1.0, gradient_noise=1.0, noise_correlation=1.0, initial_gap=0.01)
    plan = make_plan(sync_period=5, num_agents=7)
    assert planner.best_learning_rate(shared, plan) == pytest.approx(0.002556, rel=1e-3)
    assert planner.best_learning_rate(shared, plan, "printed") > 0.005


def test_what_costs_nothing_is_worth_infinitely_much():
    assert utility(2.0, 1.0, 0.0) == np.inf
    assert utility(1.0, 2.0, 0.0) == -np.inf
