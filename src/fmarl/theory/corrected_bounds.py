"""The convergence bounds as they should be: proved for any mix of τ_i, decay and mixing.

The paper treats masked and decayed steps as full steps (docs/paper-audit.md, E1). What a run with
weights w_k = a_y D_y really controls is the *weighted* average of the squared gradient norms, and
the distance still to go must be divided by the average weight A. The derivations are in
docs/paper-audit.md; the tests compare every bound with exact and sampled runs.
"""

import numpy as np
from jaxtyping import Float

from fmarl.theory.plan import Plan
from fmarl.theory.printed_bounds import Bound
from fmarl.theory.problem import Problem, Real


def average_weight(plan: Plan) -> Real:
    """A: how much of a full step an average slot makes. Below 1/2 the printed bounds can fail.

    Paper: none (E1).  A = (1/τ) Σ_y a_y D_y
    """
    return np.mean(plan.active_share * plan.decay, axis=-1)


def average_squared_weight(plan: Plan) -> Real:
    """B: the same for the variance of a step.

    Paper: none (E1).  B = (1/τ) Σ_y a_y D_y²
    """
    return np.mean(plan.active_share * np.square(plan.decay), axis=-1)


def weighted_bound(problem: Problem, plan: Plan) -> Bound:
    """Bound on Σ w_k ‖∇F(θ̄_k)‖² / Σ w_k with w_k = a_y D_y, in its simple form.

    Paper: Eqs. (15), (17), (22) and (26), all of them corrected at once.
    Differs from the paper: (1/A)[2ΔF/(ηK) + BηLσ²/m + (2η²L²σ²/τ)ρ^(2E) Σ_j D_j Σ_{q<j} a_q D_q²],
    where ρ^E is the disagreement left (E1, E3) and j runs over 0 … τ−1 (E5).
    """
    earlier = _sum_before(plan.active_share * np.square(plan.decay))
    drift = np.square(plan.disagreement_left) * np.sum(plan.decay * earlier, axis=-1)
    return _per_weight(problem, plan, average_weight(plan), _noise_factor(problem, plan), drift)


def sharp_bound(problem: Problem, plan: Plan) -> Bound:
    """The same average, with the drift counted pair by pair: never above the simple form.

    Paper: Eqs. (15), (17), (22) and (26), all of them corrected at once.
    Differs from the paper: the drift factor is (1/m) Σ_j D_j Σ_{q<j} D_q² Σ_{l∈S_q, i∈S_j} M_il²
    with M = W_E ⋯ W_1 − J and S_y the agents active in slot y.
    """
    drift = _sum_of_pairs(plan, _spread(problem, plan, shift=0.0), plan.decay / plan.num_agents)
    return _per_weight(problem, plan, average_weight(plan), _noise_factor(problem, plan), drift)


def synchronised_bound(problem: Problem, plan: Plan) -> Bound:
    """Bound on the plain average over the synchronised iterates, one per period.

    That is what the paper's Table IV measures, and not the left side of its Eq. (10). It claims
    nothing for mixing; with common noise it needs mixing weights that are not negative.

    Paper: Eq. (10), over synchronised iterates only.
    Differs from the paper: (1/A)[2ΔF/(ηK) + 2(ηLσ²/m)B + (2η²L²σ²/τ) Σ_j a_j D_j Σ_{q<j} D_q²].
    """
    earlier = _sum_before(np.square(plan.decay))
    drift = np.sum(plan.active_share * plan.decay * earlier, axis=-1)
    return _per_weight(problem, plan, average_weight(plan), 2 * _noise_factor(problem, plan), drift)


def normalised_bound(problem: Problem, plan: Plan) -> Bound:
    """Bound for active-count normalisation: no 1/A, and the average is weighted by D_y alone.

    Agents step as before but report the gradient of slot y times m/m_y, so the virtual agent moves
    by the mean over the m_y agents that were active. Same messages, smaller admissible step.

    Paper: Eq. (11), with 1/m_y in the place of 1/m.
    Differs from the paper: 2ΔF/(ηK) + ηLσ² mean(1/m_y) + (2η²L²σ²/τ) Σ_j Σ_{q<j} (1 − 1/m_q) for
    D = 1 without mixing; with them, each term gets its weights D and the pairs (M^q_il)² with
    M^q = W_E ⋯ W_1 − 1/m_q.
    """
    active_count = plan.active.sum(axis=-1)
    noise = np.mean(
        np.square(plan.decay) * _shared_noise(problem, active_count) / active_count, axis=-1
    )
    shift = 1 / active_count - 1 / plan.num_agents  # from the mean of all to the mean of the active
    drift = _sum_of_pairs(plan, _spread(problem, plan, shift), plan.decay / active_count)
    weight = np.mean(plan.decay, axis=-1)
    return _per_weight(problem, plan, weight, noise * plan.num_agents, drift)


def _per_weight(
    problem: Problem, plan: Plan, weight: Real, noise_factor: Real, drift_factor: Real
) -> Bound:
    """The three terms, all divided by the average weight of a step."""
    step = plan.learning_rate * problem.smoothness
    distance = 2 * problem.initial_gap / (plan.learning_rate * plan.total_updates)
    noise = step * problem.gradient_noise / plan.num_agents * noise_factor
    drift = 2 * step**2 * problem.gradient_noise / plan.sync_period * drift_factor
    return Bound(optimisation=distance / weight, noise=noise / weight, drift=drift / weight)


def _noise_factor(problem: Problem, plan: Plan) -> Real:
    """B, raised by what the agents' noise has in common (E6)."""
    shared = _shared_noise(problem, plan.active.sum(axis=-1))
    return np.mean(plan.active_share * np.square(plan.decay) * shared, axis=-1)


def _shared_noise(problem: Problem, active_count: Real) -> Real:
    """1 + (m_y − 1)c: the variance of a mean of m_y agents, over that of independent ones."""
    return 1 + (active_count - 1) * np.asarray(problem.noise_correlation)[..., None]


def _spread(problem: Problem, plan: Plan, shift: Real) -> Float[np.ndarray, "... slot slot"]:
    """Noise of slot q (rows) as seen in slot j (columns): Σ_{l∈S_q, i∈S_j} (M_il − shift_q)².

    Noise that all agents share adds up to Σ_i (Σ_l (M_il − shift_q))² instead, where that is more;
    in between, this covers every share from 0 to c.
    """
    active = plan.active.astype(float)
    count = active.sum(axis=-1, keepdims=True)
    shift = np.asarray(shift)[..., None]
    received = np.swapaxes(plan.deviation, -1, -2)  # agent i receives M_il from l
    sums = active @ received - count * shift
    squares = active @ np.square(received) - shift * (2 * sums + count * shift)
    alone, shared = (seen @ np.swapaxes(active, -1, -2) for seen in (squares, np.square(sums)))
    correlation = np.asarray(problem.noise_correlation)[..., None, None]
    return np.maximum(alone, 0) + correlation * np.maximum(shared - alone, 0)


def _sum_of_pairs(
    plan: Plan, spread: Float[np.ndarray, "... slot slot"], weight: Float[np.ndarray, "... slot"]
) -> Real:
    """Σ_j weight_j Σ_{q<j} D_q² spread_qj."""
    seen = np.square(plan.decay)[..., None, :] @ np.triu(spread, k=1)
    return np.sum(seen[..., 0, :] * weight, axis=-1)


def _sum_before(values: Float[np.ndarray, "... slot"]) -> Float[np.ndarray, "... slot"]:
    """For each slot the sum over the slots before it; 0 in the first, where all agree (E5)."""
    return np.cumsum(values, axis=-1) - values
