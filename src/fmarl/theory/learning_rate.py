"""How large a step may be: the condition behind each bound, and its largest step in closed form.

Every condition has the shape quadratic·x² + linear·x <= 1 in x = ηL, so one formula solves all.
"""

import numpy as np

from fmarl.theory.corrected_bounds import average_weight
from fmarl.theory.plan import Plan
from fmarl.theory.problem import Problem, Real


def learning_rate_condition(problem: Problem, plan: Plan) -> Real:
    """The printed condition: the bounds are claimed where this is not positive.

    Paper: Eq. (14).  ηL(β/m + 1) − 1 + 2η²L²τβ + η²L²τ(τ+1) <= 0
    """
    step = plan.learning_rate * problem.smoothness
    return step * _linear(problem, plan) - 1 + step**2 * _quadratic(problem, plan)


def largest_learning_rate(problem: Problem, plan: Plan) -> Real:
    """The largest η that the printed condition admits.

    Paper: Eq. (14), solved.  η_max = 2 / (L [b + √(b² + 4a)]),  b = β/m + 1,  a = τ(2β + τ + 1)
    """
    return _largest_step(_linear(problem, plan), _quadratic(problem, plan)) / problem.smoothness


def largest_consensus_learning_rate(problem: Problem, plan: Plan) -> Real:
    """The printed condition, relaxed by what mixing takes off the drift.

    Paper: Eq. (14).  a = ρ^(2E) τ(2β + τ + 1)
    Differs from the paper: it asks the same η of consensus as of plain averaging.
    """
    relaxed = np.square(plan.disagreement_left) * _quadratic(problem, plan)
    return _largest_step(_linear(problem, plan), relaxed) / problem.smoothness


def largest_weighted_learning_rate(problem: Problem, plan: Plan) -> Real:
    """The largest η for the weighted and the sharp bound; for independent noise never below (14)'s.

    Paper: Eq. (14), for j = 0 … τ−1 (E5).
    Differs from the paper: a = ρ^(2E) (τ−1)(2β + τ), and β/m grows with the noise correlation (E6).
    """
    drift = np.square(plan.disagreement_left) * _synchronised_quadratic(problem, plan)
    return _largest_step(_noise_slope(problem, plan) + 1, drift) / problem.smoothness


def largest_synchronised_learning_rate(problem: Problem, plan: Plan) -> Real:
    """The largest η for the bound over synchronised iterates.

    Paper: Eq. (14), for a whole period as one step.
    Differs from the paper: 2ηL(β/m + τA) + η²L²(τ−1)(2β + τ) <= 1.
    """
    linear = 2 * (_noise_slope(problem, plan) + plan.sync_period * average_weight(plan))
    return _largest_step(linear, _synchronised_quadratic(problem, plan)) / problem.smoothness


def largest_normalised_learning_rate(problem: Problem, plan: Plan) -> Real:
    """The largest η for active-count normalisation.

    Paper: Eq. (14), slot by slot.
    Differs from the paper: for every q, ηL(β/m_q + 1) + 2η²L² Σ_{y>q} (m_q/m_y)(β + y) κ_qy <= 1.
    κ_qy = 1 + (1/m_q) Σ_{i∈S_y} (1 − Σ_{l∈S_q} Π_il)² is 1 unless mixing leaks to idle agents.
    """
    count = plan.active.sum(axis=-1)
    slot = np.arange(plan.sync_period)
    correlation = np.asarray(problem.noise_correlation)[..., None]
    slope = np.asarray(problem.gradient_noise_slope)[..., None]
    linear = slope * (1 + (count - 1) * correlation) / count + 1
    pairs = count[..., :, None] / count[..., None, :] * _leak(plan) * (slope + slot)[..., None, :]
    quadratic = 2 * np.triu(pairs, k=1).sum(axis=-1)
    return np.min(_largest_step(linear, quadratic), axis=-1) / problem.smoothness


def _largest_step(linear: Real, quadratic: Real) -> Real:
    """Largest x with quadratic·x² + linear·x <= 1, in the form that does not cancel."""
    return 2 / (linear + np.sqrt(np.square(linear) + 4 * quadratic))


def _linear(problem: Problem, plan: Plan) -> Real:
    return problem.gradient_noise_slope / plan.num_agents + 1


def _quadratic(problem: Problem, plan: Plan) -> Real:
    return plan.sync_period * (2 * problem.gradient_noise_slope + plan.sync_period + 1)


def _synchronised_quadratic(problem: Problem, plan: Plan) -> Real:
    return (plan.sync_period - 1) * (2 * problem.gradient_noise_slope + plan.sync_period)


def _noise_slope(problem: Problem, plan: Plan) -> Real:
    """β/m, raised by what the agents' noise has in common (E6)."""
    shared = 1 + (plan.num_agents - 1) * problem.noise_correlation
    return problem.gradient_noise_slope / plan.num_agents * shared


def _leak(plan: Plan) -> Real:
    """κ_qy: how far mixing with idle agents can stretch what slot q (rows) adds in slot y."""
    active = plan.active.astype(float)
    kept = active @ np.swapaxes(plan.mixed, -1, -2)  # Σ_{l∈S_q} Π_il, per slot q and agent i
    lost = np.square(1 - kept) @ np.swapaxes(active, -1, -2)
    return 1 + lost / active.sum(axis=-1)[..., :, None]
