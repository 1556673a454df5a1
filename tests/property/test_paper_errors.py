"""The findings of docs/paper-audit.md, E1 to E13 and the table, each pinned by a calculation."""

from dataclasses import replace
from itertools import permutations

import networkx
import numpy as np
import pytest
from scipy.optimize import minimize

from fmarl import topology
from fmarl.theory import (
    Plan,
    Problem,
    corrected,
    exponential_decay,
    local_updates_from_times,
    make_plan,
    needed_exchanges,
    normalised_utility,
    overheads,
    printed,
    utility,
)
from fmarl.theory import learning_rate as steps
from fmarl.theory.exact_quadratic import exact_gradient_norms, weighted_average
from oracles import proof_sums as oracle
from oracles import simulate as run

QUIET = Problem(smoothness=1.0, gradient_noise=0.0, initial_gap=0.5)
SPREAD = np.array([15, 13, 11, 9, 7, 5, 3])
UNEVEN = np.array([15, 3, 3, 3, 3, 3, 3])
VERY_UNEVEN = np.array([15] + [1] * 30)
EVENLY = np.arange(15, 0, -1)
MIXING_13 = topology.constant_weights(topology.paper_13(), 0.1, 1)


def _long(**parts) -> Plan:
    return make_plan(sync_period=15, total_updates=6000, **parts)


def _exceeds_by(bound, problem: Problem, plan: Plan) -> float:
    """Left side of Eq. (10) over the printed bound; above 1 the bound is false."""
    assert steps.learning_rate_condition(problem, plan) <= 1e-12  # the paper's own condition holds
    return float(np.mean(exact_gradient_norms(problem, plan)) / bound(problem, plan).total)


# E1: masked and decayed steps are not full steps.


@pytest.mark.parametrize(("step", "ratio"), [(1 / 16, 6.867), (0.02, 7.296)])
def test_e1_theorem_1_is_exceeded_sevenfold_by_a_decay_it_allows(step, ratio):
    plan = _long(num_agents=7, decay=np.eye(15)[0], learning_rate=step)

    assert _exceeds_by(printed.decay_bound, QUIET, plan) == pytest.approx(ratio, rel=0.01)


@pytest.mark.parametrize(
    ("local_updates", "step", "ratio"),
    [
        (UNEVEN, 1 / 16, 1.506),
        (UNEVEN, 0.02, 1.574),
        (VERY_UNEVEN, 1 / 16, 5.280),
        (VERY_UNEVEN, 0.02, 5.234),
    ],
)
def test_e1_equation_17_is_exceeded_when_most_agents_are_slow(local_updates, step, ratio):
    plan = _long(local_updates=local_updates, learning_rate=step)

    assert _exceeds_by(printed.variation_bound, QUIET, plan) == pytest.approx(ratio, rel=0.01)


@pytest.mark.parametrize(
    ("rate", "noise", "ratio"),
    [(0.92, 0.0, 1.118), (0.92, 1.0, 1.110), (0.92, 3.0, 1.094), (0.95, 0.0, 1.045)],
)
def test_e1_corollary_1_is_exceeded_at_the_papers_own_setting(rate, noise, ratio):
    plan = _long(local_updates=EVENLY, decay=exponential_decay(rate, 15), learning_rate=0.004)
    problem = replace(QUIET, gradient_noise=noise)

    assert corrected.average_weight(plan) < 1 / 2
    assert _exceeds_by(printed.uniform_decay_bound, problem, plan) == pytest.approx(ratio, rel=0.01)


def test_e1_corollary_1_survives_where_the_average_weight_is_above_one_half():
    plan = _long(local_updates=EVENLY, decay=exponential_decay(0.98, 15), learning_rate=0.004)

    ratio = _exceeds_by(printed.uniform_decay_bound, QUIET, plan)

    assert corrected.average_weight(plan) > 1 / 2
    assert ratio == pytest.approx(0.976, rel=0.01)


@pytest.mark.parametrize(("slow", "ratio"), [(3, 1.56), (1, 2.58)])
def test_e1_theorem_2_is_exceeded_when_agents_idle(slow, ratio):
    local_updates = np.array([15] + [slow] * 6)
    plan = _long(local_updates=local_updates, mixing=MIXING_13, learning_rate=0.02)

    assert _exceeds_by(printed.consensus_bound, QUIET, plan) == pytest.approx(ratio, rel=0.01)


@pytest.mark.parametrize("local_updates", [UNEVEN, SPREAD, EVENLY, np.array([15] * 4 + [7] * 3)])
@pytest.mark.parametrize("rate", [0.92, 1.0])
def test_e1_without_noise_the_printed_form_is_off_by_one_over_twice_the_weight(local_updates, rate):
    plan = make_plan(
        sync_period=15,
        local_updates=local_updates,
        decay=exponential_decay(rate, 15),
        learning_rate=0.004,
        total_updates=9_000,
    )

    ratio = _exceeds_by(printed.decay_bound, QUIET, plan)

    assert ratio == pytest.approx(1 / (2 * corrected.average_weight(plan)), rel=0.02)


@pytest.mark.parametrize("local_updates", [UNEVEN, VERY_UNEVEN])
def test_e1_the_corrected_bound_holds_in_the_same_runs(local_updates):
    plan = _long(local_updates=local_updates, learning_rate=1 / 16)

    measured = weighted_average(exact_gradient_norms(QUIET, plan), plan)

    assert measured <= corrected.sharp_bound(QUIET, plan).total


def test_e1_equation_17_is_exceeded_by_a_loss_that_is_not_convex():
    loss = run.bumpy(start=np.array([0.2, -0.1]), gradient_noise=1e-4)

    assert _surely_exceeds_by(loss, 1500, replicas=40) == pytest.approx(1.58, rel=0.02)


def test_e1_equation_17_is_exceeded_by_logistic_regression():
    rng = np.random.default_rng(7)
    labels = (np.arange(40) % 4 == 0).astype(float)  # no line separates them
    features = rng.normal(size=(40, 2))
    sampled = run.logistic(features, labels, batch=1)
    loss = sampled._replace(
        gradient_noise=0.0,
        initial_gap=np.log(2) - _lowest_logistic_loss(features, labels),
        sample=lambda agents, _rng: sampled.gradient(agents),
    )

    assert _surely_exceeds_by(loss, 6000, replicas=1) == pytest.approx(1.57, rel=0.03)


def _surely_exceeds_by(loss: run.Loss, total_updates: int, replicas: int) -> float:
    """Sampled left side of Eq. (10), less three standard errors, over the printed bound."""
    problem = Problem(
        smoothness=loss.smoothness, gradient_noise=loss.gradient_noise, initial_gap=loss.initial_gap
    )
    plan = _long(local_updates=UNEVEN)
    step = 0.2 * float(steps.largest_learning_rate(problem, plan))
    plan = replace(plan, learning_rate=step, total_updates=total_updates)
    averages = run.simulate(plan, loss, np.random.default_rng(1), replicas=replicas).mean(axis=1)
    surely = averages.mean() - 3 * averages.std() / np.sqrt(len(averages))
    return float(surely / printed.variation_bound(problem, plan).total)


def _lowest_logistic_loss(features: np.ndarray, labels: np.ndarray) -> float:
    signs = 2 * labels - 1
    return float(
        minimize(lambda x: np.mean(np.logaddexp(0, -signs * (features @ x))), np.zeros(2)).fun
    )


def test_e1_vanishing_decay_makes_one_update_per_period_and_not_the_periodic_bound():
    only_first = _long(num_agents=7, decay=np.eye(15)[0], learning_rate=0.02)
    every_slot = make_plan(
        sync_period=1, num_agents=7, learning_rate=0.02, total_updates=6000 // 15
    )

    norms = exact_gradient_norms(QUIET, only_first)

    assert norms[::15] == pytest.approx(exact_gradient_norms(QUIET, every_slot), rel=1e-12)
    assert corrected.sharp_bound(QUIET, only_first).optimisation == pytest.approx(
        corrected.sharp_bound(QUIET, every_slot).optimisation
    )
    assert printed.decay_bound(QUIET, only_first).optimisation == pytest.approx(
        corrected.sharp_bound(QUIET, only_first).optimisation / 15
    )


# E2: variance of a discrete law.


def test_e2_the_variance_of_evenly_spread_updates_is_discrete():
    truth, paper = EVENLY.var(), printed.printed_uniform_variance(15)
    problem, plan = replace(QUIET, gradient_noise=1.0), _long(num_agents=7, learning_rate=1.0)

    factors = [
        printed.uniform_variation_bound(problem, plan, variance).drift for variance in (None, paper)
    ]

    assert (truth, paper) == (pytest.approx(56 / 3), pytest.approx(49 / 3))
    assert factors == pytest.approx([496 / 45, 503 / 45])


# E3: the fastest mode can overshoot.


def test_e3_on_k33_the_printed_contraction_is_too_small():
    eigenvalues = topology.laplacian_eigenvalues(_bipartite(3))
    plan = _mixed(_bipartite(3), step=0.24, rounds=1)

    assert (1 - 0.24 * eigenvalues[1]) ** 2 == pytest.approx(0.0784)
    assert plan.disagreement_left**2 == pytest.approx(0.1936)
    assert topology.largest_paper_step(_bipartite(3)) > 0.24  # and the paper allows this step


def test_e3_among_the_995_connected_graphs_up_to_seven_nodes_only_k33_fails():
    connected = [
        graph
        for graph in networkx.graph_atlas_g()
        if len(graph) >= 2 and networkx.is_connected(graph)
    ]

    failing = [graph for graph in connected if _some_allowed_step_overshoots(graph)]

    assert len(connected) == 995
    assert len(failing) == 1
    assert networkx.is_isomorphic(failing[0], networkx.complete_bipartite_graph(3, 3))


def _some_allowed_step_overshoots(graph: networkx.Graph) -> bool:
    eigenvalues = np.linalg.eigvalsh(networkx.laplacian_matrix(graph).toarray().astype(float))
    delta = max(degree for _, degree in graph.degree) + 1
    return bool(eigenvalues[1] + eigenvalues[-1] > 2 * delta + 1e-9)


@pytest.mark.parametrize("size", [3, 4, 7, 10])
def test_e3_every_larger_complete_bipartite_graph_fails(size):
    graph = _bipartite(size)
    step = 0.999 * topology.largest_paper_step(graph)
    eigenvalues = topology.laplacian_eigenvalues(graph).tolist()

    assert oracle.contraction(eigenvalues, step) > abs(1 - step * eigenvalues[1])
    assert _mixed(graph, step, 1).disagreement_left == pytest.approx(
        oracle.contraction(eigenvalues, step)
    )


@pytest.mark.parametrize(("rounds", "paper", "truth"), [(1, 0.0162, 0.5557), (4, 6.9e-8, 9.5e-2)])
def test_e3_on_twenty_agents_the_gap_is_orders_of_magnitude(rounds, paper, truth):
    step = 0.96 / 11

    assert (1 - step * 10) ** (2 * rounds) == pytest.approx(paper, rel=0.01)
    assert _mixed(_bipartite(10), step, rounds).disagreement_left ** 2 == pytest.approx(
        truth, rel=0.01
    )


def test_e3_inequality_63_is_broken_by_plain_noise_and_by_the_worst_pattern():
    step = 0.96 / 11
    kept = np.square(np.linalg.svd(_mixed(_bipartite(10), step, 1).deviation, compute_uv=False))
    paper = (1 - step * 10) ** 2

    assert kept.mean() / paper == pytest.approx(2.615, rel=0.01)  # i.i.d. noise: E‖YM‖²/E‖Y‖²
    assert kept.max() / paper == pytest.approx(34.3, rel=0.01)


def test_e3_a_larger_step_helps_only_up_to_the_best_one():
    left = [_mixed(_bipartite(3), step, 1).disagreement_left for step in (0.20, 2 / 9, 0.2499)]

    assert left == pytest.approx([0.400, 0.333, 0.499], abs=1e-3)


def _bipartite(size: int) -> topology.Graph:
    edges = [(i, size + j) for i in range(size) for j in range(size)]
    return topology.from_edges(2 * size, edges)


def _mixed(graph: topology.Graph, step: float, rounds: int) -> Plan:
    weights = np.stack([np.eye(graph.num_agents) - step * graph.laplacian] * rounds)
    return make_plan(sync_period=2, num_agents=graph.num_agents, mixing=weights)


# E4: decay must restart.


def test_e4_decay_that_does_not_restart_stops_learning():
    literal = exponential_decay(0.98, 3001)
    restarting = np.tile(exponential_decay(0.98, 15), 200)

    assert literal[3000] == pytest.approx(6.9e-14, rel=0.01)
    assert literal[:3000].sum() == pytest.approx(99.5, rel=1e-3)
    assert restarting.sum() == pytest.approx(2797.9, rel=1e-4)


# E5: j runs from 0.


@pytest.mark.parametrize("period", [1, 2, 5, 15])
def test_e5_the_drift_factor_is_the_period_less_one(period):
    problem = replace(QUIET, gradient_noise=1.0)
    plan = make_plan(sync_period=period, num_agents=7, learning_rate=1.0)

    assert corrected.weighted_bound(problem, plan).drift == pytest.approx(period - 1)
    assert printed.periodic_bound(problem, plan).drift == pytest.approx(period + 1)
    assert oracle.variation_factor([period] * 7, period) == period + 1


def test_e5_the_paper_promises_a_gain_from_consensus_where_there_is_none():
    problem = replace(QUIET, gradient_noise=1.0)
    alone = make_plan(sync_period=1, num_agents=7, learning_rate=0.05, total_updates=100)
    mixed = replace(alone, mixing=MIXING_13)

    assert exact_gradient_norms(problem, mixed) == pytest.approx(
        exact_gradient_norms(problem, alone), rel=1e-12
    )
    promised = printed.consensus_bound(problem, mixed).total
    assert promised < printed.consensus_bound(problem, alone).total
    assert corrected.sharp_bound(problem, mixed) == corrected.sharp_bound(problem, alone)


# E6: shared noise does not average out.


@pytest.mark.parametrize(
    ("correlation", "period", "ratio"),
    [(0.25, 1, 1.0928), (0.5, 1, 1.7484), (1.0, 1, 3.0598), (1.0, 15, 1.6453)],
)
def test_e6_common_noise_exceeds_the_periodic_bound(correlation, period, ratio):
    problem = Problem(
        smoothness=1.0, gradient_noise=1.0, initial_gap=0.0, noise_correlation=correlation
    )
    plan = make_plan(sync_period=period, num_agents=7, learning_rate=0.01, total_updates=6000)

    assert _exceeds_by(printed.periodic_bound, problem, plan) == pytest.approx(ratio, rel=1e-3)
    measured = weighted_average(exact_gradient_norms(problem, plan), plan)
    assert measured <= corrected.sharp_bound(problem, plan).total


# E7: several passes over one batch keep its noise.


@pytest.mark.parametrize(("passes", "ratio"), [(1, 0.44), (2, 0.87), (4, 1.73), (10, 4.24)])
def test_e7_four_passes_over_one_batch_exceed_the_periodic_bound(passes, ratio):
    problem = Problem(smoothness=1.0, gradient_noise=1.0, initial_gap=0.0)
    plan = make_plan(sync_period=1, num_agents=7, learning_rate=0.01, total_updates=6000)

    measured = _mean_norm_with_passes(passes, plan.learning_rate, noise=1 / 7, total=6000)

    bound = printed.periodic_bound(problem, plan).total
    assert measured / bound == pytest.approx(ratio, rel=0.01)


def _mean_norm_with_passes(passes: int, step, noise: float, total: int) -> float:
    """Mean E[θ²] of θ ← (1−η)θ − ηn on F = θ²/2, where n is drawn anew every `passes` steps."""
    variance = with_noise = summed = 0.0
    for update in range(total):
        if update % passes == 0:
            with_noise = 0.0  # E[θ n] for the fresh n
        summed += variance
        kept = 1 - step
        variance = kept**2 * variance - 2 * kept * step * with_noise + step**2 * noise
        with_noise = kept * with_noise - step * noise
    return summed / total


# E8: averaging one iterate too late.


def test_e8_equation_5_averages_the_iterates_one_after_the_intended_ones():
    literal = [k + 1 for k in range(12) if k % 4 == 0]  # Eq. (5): θ_{k+1} is the average
    intended = [k + 1 for k in range(12) if (k + 1) % 4 == 0]

    assert literal == [1, 5, 9]
    assert intended == [4, 8, 12]  # where Eq. (11) and Algorithm 1 average


def test_e8_the_last_averaging_before_k_read_literally_loses_the_whole_period():
    period, gradients = 4, [1.0] * 4

    def moved(start: int, k: int) -> float:
        return sum(gradients[y - start] for y in range(start, k))

    literal = moved(period * (period // period), period)  # t0 = τ⌊k/τ⌋ at k = τ
    intended = moved(period * (-(-period // period) - 1), period)  # t0 = τ(⌈k/τ⌉ − 1)
    assert (literal, intended) == (0.0, 4.0)


# E9: idle agents must apply and report what reaches them.


def test_e9_dropping_idle_agents_loses_a_fifth_of_the_step():
    mixing = topology.constant_weights(topology.path(5), 0.3, 2)
    gradients = np.array([1.0, 1.0, 0.0, 0.0, 0.0])

    mixed = mixing[1] @ mixing[0] @ gradients

    assert mixed.sum() == pytest.approx(2.00)
    assert mixed[:2].sum() == pytest.approx(1.58, rel=0.005)


# E10: the sign of the utility.


def test_e10_the_printed_utility_rewards_waste_when_no_error_is_removed():
    start, end = 1.0, 5.0

    assert (start - end) / 10 < (start - end) / 1000  # a hundred times the cost looks better
    assert utility(start, end, 10.0) == utility(start, end, 1000.0) == -np.inf


def test_e10_the_normalised_utility_of_a_row_depends_on_its_rivals():
    rows = np.array([1.0, 2.0, 3.0])

    assert normalised_utility(rows)[1] == 0.5
    assert normalised_utility(np.append(rows, 5.0))[1] == 0.25


# E11: floors of floating-point quotients.


def test_e11_in_floating_point_the_fastest_agent_can_lose_an_update():
    assert oracle.float_updates_in_period(0.7, 0.7, 3) == 2
    assert oracle.float_updates_in_period(0.3, 0.9, 3) == 0
    assert local_updates_from_times([0.7], 3).tolist() == [3]
    assert local_updates_from_times([0.3, 0.9], 3).tolist() == [3, 1]


def test_e11_the_typed_in_formula_is_wrong_259_times_on_one_decimal_times_up_to_ten():
    wrong = sum(
        oracle.float_updates_in_period(fast / 10, own / 10, period) != period * fast // own
        for period in range(1, 16)
        for fast in range(1, 101)
        for own in range(fast, 101)
    )

    assert wrong == 259


def test_e11_equation_6_is_not_the_mean_count_of_random_step_times():
    rng = np.random.default_rng(11)
    period, ratio, runs = 15, 1.9, 20_000
    spans = rng.exponential(1.0, (runs, period)).sum(axis=1)  # the fastest agent's τ steps
    own = rng.exponential(ratio, (runs, 60)).cumsum(axis=1)

    counts = np.sum(own <= spans[:, None], axis=1)

    assert local_updates_from_times([1.0, 1.9], period).tolist() == [15, 7]
    assert counts.mean() == pytest.approx(period / ratio, rel=0.02)  # 7.89
    assert counts.max() > period  # hence counts must be cut at τ
    assert counts.min() == 0  # and some periods pass without any


# E12: the algorithms taken at their word.


def test_e12_algorithm_1_counts_every_agent_as_an_iteration():
    counted, _, _ = _algorithm_1(agents=2, transitions=20, batch=5, period=2)

    assert counted == 8
    assert 20 // 5 == 4  # K = U T / P


def test_e12_algorithm_1_averages_36_times_where_4_are_meant():
    _, averagings, _ = _algorithm_1(agents=2, transitions=20, batch=5, period=2)

    assert averagings == 36
    assert 2 * (20 // 5) // 2 == 4  # each of two agents, every second of four updates


@pytest.mark.parametrize(("period", "sizes"), [(1, {1}), (3, {1, 5}), (4, {1, 5})])
def test_e12_algorithm_1_throws_samples_away_before_they_are_used(period, sizes):
    _, _, batches = _algorithm_1(agents=2, transitions=20, batch=5, period=period)

    assert set(batches) == sizes  # all should be 5
    assert batches[0] == 1


def _algorithm_1(
    *, agents: int, transitions: int, batch: int, period: int
) -> tuple[int, int, list[int]]:
    """Algorithm 1 line by line for one epoch: final k, averagings, and minibatch sizes."""
    k = averagings = 0
    stored, sizes = [0] * agents, []
    for t in range(transitions):
        for agent in range(agents):
            stored[agent] += 1
            if (t + 1) % batch == 0 or t == transitions - 1:
                sizes.append(stored[agent])
                stored[agent] = 0
                k += 1
            if k % period == 0:
                averagings += 1
                stored[agent] = 0
    return k, averagings, sizes


def test_e12_exchanging_in_place_is_not_equation_23():
    weights = topology.constant_weights(topology.path(3), 0.3, 1)[0]
    gradients = np.array([1.0, 0.0, -2.0])

    in_place = gradients.copy()
    for agent, row in enumerate(weights):
        in_place[agent] = row @ in_place

    assert (weights @ gradients).mean() == pytest.approx(gradients.mean())
    assert abs(in_place.mean() - gradients.mean()) > 0.01


# E13: smaller points.


@pytest.mark.parametrize(("rate", "change"), [(1.0, -0.092), (0.92, -0.082)])
def test_e13_corollary_1_is_too_small_for_seven_agents(rate, change):
    problem = replace(QUIET, gradient_noise=1.0)
    plan = _long(local_updates=SPREAD, decay=exponential_decay(rate, 15), learning_rate=0.01)

    uniform = printed.uniform_decay_bound(problem, plan).drift
    multiset = printed.decay_bound(problem, plan).drift

    assert uniform / multiset - 1 == pytest.approx(change, abs=1e-3)


def test_e13_agents_with_different_losses_settle_at_the_wrong_place():
    centres, local_updates, step = np.array([1.0, -1.0]), [15, 3], 1e-4
    theta = 0.0
    for _ in range(20_000):
        ends = [
            centre + (1 - step) ** count * (theta - centre)
            for centre, count in zip(centres, local_updates, strict=True)
        ]
        theta = float(np.mean(ends))

    assert theta == pytest.approx(0.667, rel=0.002)
    assert np.dot(local_updates, centres) / sum(local_updates) == pytest.approx(2 / 3)


def test_e13_silent_idle_agents_save_two_fifths_of_the_exchanges():
    plan = _long(local_updates=SPREAD, mixing=MIXING_13)
    plan = replace(plan, total_updates=3000)
    degrees = topology.paper_13().degrees.tolist()

    placements = {
        200 * sum(d * tau for d, tau in zip(order, SPREAD.tolist(), strict=True))
        for order in set(permutations(degrees))
    }

    assert needed_exchanges(plan) == 46_800
    assert overheads(plan).exchanges == 78_000
    assert (min(placements), max(placements)) == (42_000, 51_600)


def test_e13_the_usual_step_needs_a_loss_at_most_625_smooth():
    plan = make_plan(sync_period=15, num_agents=7, learning_rate=1e-4)

    def condition(smoothness: float) -> float:
        problem = Problem(smoothness=smoothness, gradient_noise=0.0)
        return float(steps.learning_rate_condition(problem, plan))

    assert condition(625.0) == pytest.approx(0, abs=1e-12)
    assert condition(626.0) > 0


def test_e13_the_loss_does_not_reach_its_lowest_value_under_noise():
    problem = Problem(smoothness=1.0, gradient_noise=1.0, initial_gap=0.0)
    plan = make_plan(sync_period=1, num_agents=7, learning_rate=0.01, total_updates=5000)

    last = exact_gradient_norms(problem, plan)[-1]

    assert last == pytest.approx(0.01 / (2 - 0.01) / 7, rel=1e-3)  # stays there, for any K
