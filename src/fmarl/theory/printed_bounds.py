"""The convergence bounds as the paper prints them. Four of them are false as stated.

Use `corrected_bounds.py` to plan or to promise anything; these are here to be compared with.
Every function takes the problem and the plan and returns the three terms of the bound.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from fmarl.theory.plan import Plan
from fmarl.theory.problem import Problem, Real


class Bound(NamedTuple):
    """An upper bound on the average squared gradient norm, as the sum of its three causes."""

    optimisation: Real
    """Distance still to go: falls with the number of updates."""
    noise: Real
    """Variance of the averaged gradient: falls with the number of agents."""
    drift: Real
    """Agents that moved apart between two averagings: grows with the period."""

    @property
    def total(self) -> Real:
        return self.optimisation + self.noise + self.drift


def periodic_bound(problem: Problem, plan: Plan) -> Bound:
    """Plain periodic averaging, every agent with τ updates.

    Paper: Eq. (15).  ψ1^P = 2ΔF/(ηK) + ηLσ²/m + η²L²σ²(τ+1)
    """
    return _with_drift(problem, plan, plan.sync_period + 1)


def variation_bound(problem: Problem, plan: Plan) -> Bound:
    """Variation-aware periodic averaging: agents with different numbers of updates.

    Paper: Eq. (17).  ψ1^V = 2ΔF/(ηK) + ηLσ²/m + (η²L²σ²/τ)[−ν² + (2τ+1)ν − ω²]
    Not a bound: it is exceeded when the average weight A is below 1/2 (E1).
    """
    mean, variance = plan.local_updates.mean(axis=-1), plan.local_updates.var(axis=-1)
    return _variation(problem, plan, mean, variance)


def uniform_variation_bound(problem: Problem, plan: Plan, variance: Real | None = None) -> Bound:
    """The same when the τ_i are spread evenly over 1 … τ, as the paper's remarks assume.

    Paper: Eq. (17).  with ν = (τ+1)/2 and ω² = (τ²−1)/12
    Differs from the paper: it prints ω² = (τ−1)²/12, the variance of the continuous law (E2);
    pass `variance=printed_uniform_variance(plan.sync_period)` for its value.
    """
    period = plan.sync_period
    spread = (period**2 - 1) / 12 if variance is None else variance
    return _variation(problem, plan, (period + 1) / 2, spread)


def printed_uniform_variance(sync_period: int) -> float:
    """ω² of τ_i spread evenly over 1 … τ, as printed.

    Paper: Section VI-A, before Corollary 1.  ω² = (τ−1)²/12
    """
    return (sync_period - 1) ** 2 / 12


def decay_bound(problem: Problem, plan: Plan) -> Bound:
    """Decayed gradients, any non-increasing decay and any τ_i.

    Paper: Eq. (20).  ψ1^D = 2ΔF/(ηK) + ηLσ²/m + (2η²L²σ²/τ) Σ_y (τ−y) a_y D_y²  (from App. D, E)
    Not a bound: decayed steps are counted as full steps (E1).
    """
    return _decayed(problem, plan, plan.active_share)


def uniform_decay_bound(problem: Problem, plan: Plan) -> Bound:
    """Decayed gradients with τ_i spread evenly over 1 … τ (Corollary 1).

    Paper: Eq. (22).  … + (2η²L²σ²/τ)[τ/(1−λ) − 2λ/(1−λ)² + λ(1+λ)(1−λ^τ)/(τ(1−λ)³)]
    The bracket is computed as the sum (1/τ) Σ_y (τ−y)² D_y²: the printed quotient loses all its
    digits as λ → 1 and divides by zero at λ = 1; and the sum takes any decay.
    Not a bound, for the same reason (E1).
    """
    return _decayed(problem, plan, 1 - np.arange(plan.sync_period) / plan.sync_period)


def consensus_bound(problem: Problem, plan: Plan) -> Bound:
    """Neighbours mix their gradients before each update.

    Paper: Eq. (26).  ψ1^C = 2ΔF/(ηK) + ηLσ²/m + η²L²σ²(τ+1)(1 − ε μ_2)^(2E)
    1 − ε μ_2 is the second largest eigenvalue of a round's weights, so this takes any weights.
    Not a bound when some τ_i < τ (E1), or when the fastest mode overshoots (E3).
    """
    second_largest = np.linalg.eigvalsh(plan.mixing)[..., -2] if plan.num_agents > 1 else 0.0
    kept = np.prod(np.square(second_largest), axis=-1) if plan.consensus_rounds else 1.0
    return _with_drift(problem, plan, (plan.sync_period + 1) * kept)


def _variation(problem: Problem, plan: Plan, mean: Real, variance: Real) -> Bound:
    period = plan.sync_period
    bracket = -np.square(mean) + (2 * period + 1) * mean - variance
    return _with_drift(problem, plan, bracket / period)


def _decayed(problem: Problem, plan: Plan, active_share: Float[np.ndarray, "... slot"]) -> Bound:
    slots_to_come = plan.sync_period - np.arange(plan.sync_period)
    bracket = np.sum(slots_to_come * active_share * np.square(plan.decay), axis=-1)
    return _with_drift(problem, plan, 2 * bracket / plan.sync_period)


def _with_drift(problem: Problem, plan: Plan, drift_factor: Real) -> Bound:
    """The three terms that all printed bounds share; only the factor of the last one differs."""
    step = plan.learning_rate * problem.smoothness
    return Bound(
        optimisation=2 * problem.initial_gap / (plan.learning_rate * plan.total_updates),
        noise=step * problem.gradient_noise / plan.num_agents,
        drift=step**2 * problem.gradient_noise * drift_factor,
    )
