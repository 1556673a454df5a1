"""Measured gradient norms beside the bounds: against the formulas, and on real traffic."""

from dataclasses import replace

import numpy as np
import pytest

from fmarl.algorithms.agent_config import AgentConfig
from fmarl.algorithms.ppo import PPOConfig
from fmarl.engine.estimate_constants import Constants, estimate_constants
from fmarl.engine.experiment import Experiment
from fmarl.engine.run import train
from fmarl.errors import BadInput
from fmarl.federation.method_theory import plan_of
from fmarl.federation.recipes import MethodConfig, make_from_config
from fmarl.records.jsonl import read_lines
from fmarl.report.bound_curve import BoundAtEnd, bound_at_end
from fmarl.report.run_scores import utility_row
from fmarl.theory import Plan, Problem, exponential_decay, make_plan
from fmarl.theory import corrected_bounds as corrected
from fmarl.theory import printed_bounds as printed
from fmarl.theory.learning_rate import largest_learning_rate, largest_synchronised_learning_rate
from fmarl.topology import constant_weights, graph_from_text

CONSTANTS = Constants(
    smoothness=8.0,
    gradient_noise=2.0,
    noise_correlation=0.25,
    initial_gap=0.5,
    initial_gradient_norm=6.0,
    final_gradient_norm=1.0,
)
PROBLEM = Problem(
    smoothness=8.0,
    gradient_noise=2.0,
    noise_correlation=0.25,
    initial_gap=0.5,
    initial_gradient_norm=6.0,
)
VARIED = np.array([15, 13, 11, 9, 7, 5, 3])
MIXING = constant_weights(graph_from_text("paper-13", 7), 0.1, 1)
PLANS = {
    "periodic_bound": make_plan(sync_period=15, num_agents=7, total_updates=600),
    "variation_bound": make_plan(sync_period=15, local_updates=VARIED, total_updates=600),
    "decay_bound": make_plan(
        sync_period=15,
        local_updates=VARIED,
        decay=exponential_decay(0.92, 15),
        total_updates=600,
    ),
    "consensus_bound": make_plan(sync_period=15, num_agents=7, mixing=MIXING, total_updates=600),
}


def _check(constants: Constants, plan: Plan, gradient_norm: float) -> BoundAtEnd:
    return bound_at_end(constants._asdict(), plan, gradient_norm)


@pytest.mark.parametrize("name", PLANS)
def test_the_bounds_are_those_of_the_theory_for_the_plan(name):
    plan, problem = PLANS[name], PROBLEM
    check = _check(CONSTANTS, plan, 2.0)
    assert check.corrected == corrected.synchronised_bound(problem, plan).total
    assert check.printed == getattr(printed, name)(problem, plan).total


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("share", [0.999, 1.001])
def test_bounds_are_proved_and_claimed_up_to_the_rates_of_the_theory(name, share):
    plan, problem = PLANS[name], PROBLEM
    proved = replace(plan, learning_rate=share * largest_synchronised_learning_rate(problem, plan))
    claimed = replace(plan, learning_rate=share * largest_learning_rate(problem, plan))
    assert _check(CONSTANTS, proved, 2.0).is_proved == (share < 1)
    assert _check(CONSTANTS, claimed, 2.0).is_claimed == (share < 1)


def test_the_corrected_bound_by_hand():
    """τ = 1, η = 0.01, L = 8, σ² = 2, ΔF = 0.5, K = 100, m = 2: ηL = 0.08."""
    plan = make_plan(sync_period=1, num_agents=2, learning_rate=0.01, total_updates=100)
    check = _check(CONSTANTS._replace(noise_correlation=0.0), plan, 0.5)
    assert check.corrected == pytest.approx(2 * 0.5 / (0.01 * 100) + 2 * 0.08 * 2 / 2)
    assert check.printed == pytest.approx(1 + 0.08 * 2 / 2 + 0.08**2 * 2 * 2)
    assert check.gradient_norm == pytest.approx(0.5 + (6 - 1) / 100)


def test_the_last_average_is_exchanged_for_the_start():
    """Four averages of 5, 4, 3 and 1 after a start of 6: the bound is about 6, 5, 4 and 3."""
    plan = make_plan(sync_period=15, num_agents=7, total_updates=60)
    check = _check(CONSTANTS, plan, (5 + 4 + 3 + 1) / 4)
    assert check.gradient_norm == pytest.approx((6 + 5 + 4 + 3) / 4)


@pytest.mark.parametrize(("rate", "ours", "theirs"), [(1e-3, 1, 1), (5e-3, 0, 1), (1e-2, 0, 0)])
def test_the_condition_holds_up_to_the_largest_learning_rate(rate, ours, theirs):
    """For τ = 15 and L = 8 the limits are 0.0278/8 = 0.0035 and 1/(16·8) = 0.0078."""
    plan = make_plan(sync_period=15, num_agents=7, learning_rate=rate, total_updates=600)
    check = _check(CONSTANTS, plan, 2.0)
    assert (check.is_proved, check.is_claimed) == (ours, theirs)


def test_a_run_that_ends_within_a_period_has_no_bound():
    plan = make_plan(sync_period=15, num_agents=7, total_updates=100)
    with pytest.raises(BadInput, match="multiple of the sync period"):
        _check(CONSTANTS, plan, 2.0)


@pytest.mark.long
def test_twelve_slots_of_real_traffic_stay_below_the_corrected_bound(tmp_path):
    """Two epochs of Figure Eight. Longer runs may exceed it, for their agents' data drifts."""
    settings = {
        "agent": AgentConfig(hidden=(8,), optimiser="sgd"),
        "ppo": PPOConfig(passes=1),
        "num_epochs": 2,
        "test_every": 0,
        "sample_slots": 4,
    }
    kept = train(Experiment(seed=100, **settings), tmp_path / "samples").folder
    together = MethodConfig(sync_period=3, learning_rate=1e-3)
    experiment = Experiment(samples=str(kept), together=together, **settings)
    folder = train(experiment, tmp_path / "run").folder

    found = utility_row(read_lines(folder / "metrics.jsonl").records)
    assert found is not None
    plan = plan_of(make_from_config(together, num_agents=7, periods=4, seed=0), 12)
    check = _check(estimate_constants(folder), plan, found.gradient_norm)
    assert check.is_proved
    assert 0 < check.gradient_norm <= check.corrected
