"""Every number of theory.json, which a separate script computed with 60 digits."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fmarl import topology
from fmarl.theory import (
    Bound,
    Plan,
    Problem,
    corrected,
    count_updates,
    exponential_decay,
    make_plan,
    planner,
    printed,
    resource_cost,
    utility,
)
from fmarl.theory import learning_rate as steps
from fmarl.theory.problem import Real

SETTINGS = json.loads(Path(__file__).with_name("theory.json").read_text())["settings"]
ABSOLUTE = {"eta_condition_14": 1e-12}  # a difference of numbers near one


def _problem(given: dict[str, Any]) -> Problem:
    return Problem(
        smoothness=float(given["L"]),
        gradient_noise=float(given["sigma2"]),
        gradient_noise_slope=float(given["beta"]),
        initial_gap=float(given["dF"]),
        initial_gradient_norm=float(given["psi2"]),
        upload_cost=float(given["C1"]),
        update_cost=float(given["C2"]),
        exchange_cost=float(given["W1"]),
        mixing_cost=float(given["W2"]),
    )


def _plan(given: dict[str, Any]) -> Plan:
    mixing = None
    if given["edges"]:
        graph = topology.from_edges(given["m"], given["edges"])
        mixing = topology.constant_weights(graph, float(given["eps"]), given["E"])
    return make_plan(
        sync_period=given["tau"],
        local_updates=np.array(given["taus"]),
        decay=exponential_decay(float(given["lam"]), given["tau"]),
        mixing=mixing,
        learning_rate=float(given["eta"]),
        total_updates=count_updates(
            num_epochs=int(given["U"]),
            epoch_steps=int(given["T"]),
            steps_per_update=int(given["P"]),
        ),
    )


def _plain_outputs(problem: Problem, plan: Plan) -> dict[str, Any]:
    """All outputs that do not look at the graph: a plan without its mixing."""
    undecayed = replace(plan, decay=np.ones(plan.sync_period))
    uniform = printed.uniform_decay_bound(problem, plan)
    third_term_unit = 2 * (plan.learning_rate * problem.smoothness) ** 2 * problem.gradient_noise
    cost = resource_cost(problem, plan)
    everyone_busy = np.full(plan.num_agents, plan.sync_period)
    periodic_cost = resource_cost(problem, replace(plan, local_updates=everyone_busy))

    def worth(bound: Bound, cost: Real) -> Any:
        return utility(problem.initial_gradient_norm, bound.total, cost)

    return {
        "K": plan.total_updates,
        "nu": plan.local_updates.mean(),
        "omega2": plan.local_updates.var(),
        "omega2_uniform": np.arange(1, plan.sync_period + 1).var(),
        "paper_psi1_P": printed.periodic_bound(problem, plan).total,
        "paper_psi1_V": printed.variation_bound(problem, plan).total,
        "paper_psi1_V_uniform": printed.uniform_variation_bound(problem, plan).total,
        "paper_psi1_D": printed.decay_bound(problem, plan).total,
        "C1_bracket_uniform": uniform.drift / third_term_unit * plan.sync_period,
        "paper_psi1_D_uniform_C1": uniform.total,
        "eta_condition_14": steps.learning_rate_condition(problem, plan),
        "eta_max_14": steps.largest_learning_rate(problem, plan),
        "psi0": cost,
        "A": corrected.average_weight(plan),
        "B": corrected.average_squared_weight(plan),
        "safe_psi1_VD_weighted": corrected.weighted_bound(problem, plan).total,
        "sharp_psi1_VD_weighted": corrected.sharp_bound(problem, plan).total,
        "safe_psi1_sync": corrected.synchronised_bound(problem, plan).total,
        "sync_eta_max": steps.largest_synchronised_learning_rate(problem, plan),
        "norm_psi1": corrected.normalised_bound(problem, undecayed).total,
        "norm_eta_max": steps.largest_normalised_learning_rate(problem, plan),
        "utility_paper_P": worth(printed.periodic_bound(problem, plan), periodic_cost),
        "utility_paper_V": worth(printed.variation_bound(problem, plan), cost),
        "utility_paper_D": worth(printed.decay_bound(problem, plan), cost),
        "tau_star_paper_P": planner.best_sync_period(problem, plan, "printed"),
    }


def _graph_outputs(problem: Problem, plan: Plan, given: dict[str, Any]) -> dict[str, Any]:
    """All outputs that need the graph."""
    graph = topology.from_edges(given["m"], given["edges"])
    one_round = replace(plan, mixing=plan.mixing[:1])
    all_alike = replace(plan, decay=np.ones(plan.sync_period))
    periodic = printed.periodic_bound(problem, all_alike)
    mixed_drift = periodic.drift * plan.disagreement_left**2
    consensus = printed.consensus_bound(problem, plan).total
    cost = resource_cost(problem, plan)
    return {
        "mu2": topology.algebraic_connectivity(graph),
        "mu_max": topology.laplacian_eigenvalues(graph)[-1],
        "eps_limit_1_over_Delta": topology.largest_paper_step(graph),
        "rho": one_round.disagreement_left,
        "eps_star": topology.best_step(graph),
        "rho_star": topology.best_contraction(graph),
        "trace_factor": np.mean(np.sum(np.square(plan.deviation), axis=-1)),
        "paper_psi1_C": consensus,
        "fixed_psi1_C_tau_plus_1_rho": periodic._replace(drift=mixed_drift).total,
        "eta_max_14_consensus_relaxed": steps.largest_consensus_learning_rate(problem, plan),
        "safe_psi1_C_weighted": corrected.weighted_bound(problem, plan).total,
        "sharp_psi1_C_weighted": corrected.sharp_bound(problem, plan).total,
        "psi0_C": cost,
        "utility_paper_C": utility(problem.initial_gradient_norm, consensus, cost),
    }


def _computed(given: dict[str, Any]) -> dict[str, Any]:
    problem, plan = _problem(given), _plan(given)
    alone = replace(plan, mixing=plan.mixing[:0])
    outputs = _plain_outputs(problem, alone)
    return outputs | (_graph_outputs(problem, plan, given) if given["edges"] else {})


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: str(setting["id"]))
def test_every_output_agrees_with_the_independent_calculation(setting):
    computed = _computed(setting["inputs"])

    assert computed.keys() == setting["outputs"].keys()  # nothing in the file is left unchecked
    for name, expected in setting["outputs"].items():
        tolerance = pytest.approx(float(expected), rel=1e-12, abs=ABSOLUTE.get(name, 0.0))
        assert float(computed[name]) == tolerance, name
