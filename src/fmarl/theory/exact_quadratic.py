"""What a plan really does to a quadratic loss, computed without sampling.

On F(θ) = Lθ²/2 every update is linear, so the second moments of all agents' parameters follow a
recursion of small matrices. The result is the left side of the bounds to rounding error: the
tests, the demo and the audit hold the printed and the corrected bounds against it.
"""

import numpy as np
from jaxtyping import Float

from fmarl.theory.plan import Plan
from fmarl.theory.problem import Problem, Real


def exact_gradient_norms(
    problem: Problem, plan: Plan, *, start: float | None = None, normalise: bool = False
) -> Float[np.ndarray, " update"]:
    """E‖∇F(θ̄_k)‖² for k = 0 … K−1 on F(θ) = Lθ²/2, for one setting.

    The start defaults to the point whose gap to the minimum is the problem's ΔF. With `normalise`
    the virtual agent averages over the active agents only (`corrected.normalised_bound`).
    The noise correlation acts on the part σ² of the noise.

    Paper: Eqs. (5) and (10).  the terms of the left side's sum
    Differs from the paper: the average is taken when (k+1) mod τ = 0, not k mod τ = 0 (E8).

    >>> problem = Problem(smoothness=1.0, gradient_noise=0.0, initial_gap=0.5)
    >>> from fmarl.theory import make_plan
    >>> plan = make_plan(sync_period=1, num_agents=2, learning_rate=0.5, total_updates=3)
    >>> exact_gradient_norms(problem, plan)
    array([1.    , 0.25  , 0.0625])
    """
    smoothness = float(problem.smoothness)
    point = np.sqrt(2 * problem.initial_gap / smoothness) if start is None else start
    gains = [_gain(plan, slot, normalise) for slot in range(plan.sync_period)]
    moments = np.full((plan.num_agents + 1,) * 2, float(point) ** 2)
    norms = np.empty(int(plan.total_updates))
    for update in range(norms.size):
        norms[update] = smoothness**2 * moments[-1, -1]
        slot = update % plan.sync_period
        moments = _step(problem, moments, gains[slot])
        if slot == plan.sync_period - 1:
            moments = np.full_like(moments, moments[-1, -1])  # all agents take the average
    return norms


def weighted_average(
    norms: Float[np.ndarray, " update"], plan: Plan, *, normalise: bool = False
) -> Real:
    """The average that the weighted, sharp and normalised bounds hold for.

    Paper: Eq. (10).  (1/K) Σ_k ‖∇F(θ̄_k)‖²
    Differs from the paper: weighted by w_k = a_y D_y, or by D_y under normalisation (E1).
    """
    weight = plan.decay if normalise else plan.active_share * plan.decay
    weights = np.resize(weight, norms.size)  # repeats period after period
    return np.sum(weights * norms) / np.sum(weights)


def synchronised_average(norms: Float[np.ndarray, " update"], plan: Plan) -> Real:
    """The average over the iterates right after an averaging, as in the paper's Table IV.

    Paper: Section VII, Table IV, "whenever the model's average parameters are updated".
    """
    return np.mean(norms[:: plan.sync_period])


def _gain(plan: Plan, slot: int, normalise: bool) -> Float[np.ndarray, "agent_and_virtual agent"]:
    """What the agents' gradients of a slot do to every agent and, last row, to the virtual agent.

    Paper: Eqs. (11), (16), (18), (19), (24) and (25).  −η D_y W_E ⋯ W_1 I(τ_i > y), and its mean
    """
    active = plan.active[slot].astype(float)
    counted = active.sum() if normalise else plan.num_agents
    rows = np.vstack([plan.mixed * active, active / counted])
    return plan.learning_rate * plan.decay[slot] * rows


def _step(
    problem: Problem,
    moments: Float[np.ndarray, "agent_and_virtual agent_and_virtual"],
    gain: Float[np.ndarray, "agent_and_virtual agent"],
) -> Float[np.ndarray, "agent_and_virtual agent_and_virtual"]:
    """E[xxᵀ] after x ← x − gain·(Lθ + noise), x the agents' parameters and the average."""
    size = len(gain)
    transition = np.eye(size)
    transition[:, :-1] -= problem.smoothness * gain
    alone, common = 1 - problem.noise_correlation, problem.noise_correlation
    noise = problem.gradient_noise * (alone * np.eye(size - 1) + common)
    slope = problem.gradient_noise_slope * np.square(problem.smoothness)
    noise = noise + slope * np.diag(np.diag(moments)[:-1])
    return transition @ moments @ transition.T + gain @ noise @ gain.T
