"""The best step, the best period and the longest period, where they have closed forms.

All three are for plain periodic averaging (τ_i = τ, no decay), with or without mixing. For mixed
τ_i or decay, search over `corrected.sharp_bound`: it takes arrays of settings.
"""

from typing import Literal

import numpy as np

from fmarl.errors import require
from fmarl.theory.cost import overheads
from fmarl.theory.learning_rate import largest_learning_rate, largest_weighted_learning_rate
from fmarl.theory.plan import Plan
from fmarl.theory.problem import Problem, Real

Form = Literal["printed", "corrected"]
"""Which drift term to plan with: the printed one counts τ+1, the corrected one τ−1 (E5)."""


def best_learning_rate(problem: Problem, plan: Plan, form: Form = "corrected") -> Real:
    """η*: the admissible step with the smallest bound.

    Paper: Eq. (15), minimised over η.  the positive root of 2a₃η³ + a₂η² − a₁ = 0,
    a₁ = 2ΔF/K, a₂ = Lσ²/m, a₃ = L²σ²(τ±1)ρ^(2E), cut at η_max; 0 where there is no gap to close
    """
    distance = 2 * problem.initial_gap / plan.total_updates
    noise = problem.smoothness * _mean_noise(problem, plan, form)
    drift = problem.smoothness**2 * problem.gradient_noise * _periods(plan, form)
    root = _positive_root(2 * drift, noise, distance)
    largest = largest_learning_rate if form == "printed" else largest_weighted_learning_rate
    return np.minimum(root, largest(problem, plan))


def best_sync_period(problem: Problem, plan: Plan, form: Form = "corrected") -> Real:
    """τ*: the (real-valued) period with the highest utility; NaN where no period is feasible.

    Round it to a divisor of K that `largest_sync_period` admits. Its exchanges are the plan's own.

    Paper: Eq. (13), maximised over τ.  τ* = (c/b) / (1 + √(1 + c C'/(b C1))),
    b = η²L²σ²ρ^(2E), c = ψ2 − 2ΔF/(ηK) − ηLσ²/m ∓ b, C' = C2 + (W1 + W2) E Σ_i|Ω_i|/m
    """
    step = plan.learning_rate * problem.smoothness
    slope = step**2 * problem.gradient_noise * np.square(plan.disagreement_left)
    distance = 2 * problem.initial_gap / (plan.learning_rate * plan.total_updates)
    noise = step * _mean_noise(problem, plan, form)
    offset = slope if form == "printed" else -slope
    room = problem.initial_gradient_norm - distance - noise - offset
    per_update = problem.update_cost + (problem.exchange_cost + problem.mixing_cost) * overheads(
        plan
    ).exchanges / (plan.total_updates * plan.num_agents)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = room / slope
        best = ratio / (1 + np.sqrt(1 + ratio * per_update / problem.upload_cost))
    return np.where(np.greater(room, 0), best, np.nan)


def largest_sync_period(problem: Problem, plan: Plan) -> Real:
    """τ_max: the longest period whose printed condition the plan's learning rate meets; 0 if none.

    Paper: Eq. (14), solved for τ.  ⌊[−(2β+1) + √((2β+1)² + 4(1 − ηLb)/(ηL)²)]/2⌋,  b = β/m + 1
    """
    step = plan.learning_rate * problem.smoothness
    slope = 2 * problem.gradient_noise_slope + 1
    room = 1 - step * (problem.gradient_noise_slope / plan.num_agents + 1)
    root = (np.sqrt(slope**2 + 4 * np.maximum(room, 0) / step**2) - slope) / 2
    # A period that meets the condition exactly must survive rounding: 2.9999999999 is 3.
    return np.where(room >= 0, np.floor(root * (1 + 1e-12) + 1e-12), 0.0)


def _mean_noise(problem: Problem, plan: Plan, form: Form) -> Real:
    """Variance of the agents' mean gradient: σ²/m, and more where they share noise (E6)."""
    shared = 1 + (plan.num_agents - 1) * problem.noise_correlation if form == "corrected" else 1.0
    return problem.gradient_noise / plan.num_agents * shared


def _periods(plan: Plan, form: Form) -> Real:
    require(
        form in ("printed", "corrected"), f"form = {form!r}", "printed or corrected", "Pick one."
    )
    periods = plan.sync_period + (1 if form == "printed" else -1)
    return np.square(plan.disagreement_left) * periods


def _positive_root(cubic: Real, square: Real, constant: Real) -> Real:
    """Root of cubic·x³ + square·x² = constant: Newton from the right, where it only descends.

    Dropping either power leaves an upper estimate of the root; without noise both vanish and the
    root is infinite.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        by_cube = np.cbrt(constant / np.asarray(cubic))
        by_square = np.sqrt(constant / np.asarray(square))
        root = np.where(np.equal(constant, 0), 0.0, np.fmin(by_cube, by_square))
        inside = np.isfinite(root) & (root > 0)
        for _ in range(60):  # quadratic convergence: about six steps, then nothing changes
            value = cubic * root**3 + square * root**2 - constant
            slope = 3 * cubic * root**2 + 2 * square * root
            root = np.where(inside, root - value / slope, root)
    return root
