"""A bound of your own: periodic averaging with the drift counted from j = 0, for equal τ_i."""

from fmarl.theory import Bound, Plan, Problem, make_plan
from fmarl.theory import corrected_bounds as corrected
from fmarl.theory import printed_bounds as printed


def exact_index_bound(problem: Problem, plan: Plan) -> Bound:
    """Plain averaging with the sum's index corrected.

    Paper: Eq. (15).  2ΔF/(ηK) + ηLσ²/m + η²L²σ²(τ−1)
    Differs from the paper: j runs over 0 … τ−1, so the factor is τ−1 and not τ+1 (E5).
    """
    claimed = printed.periodic_bound(problem, plan)
    shorter = (plan.sync_period - 1) / (plan.sync_period + 1)
    return claimed._replace(drift=claimed.drift * shorter)


if __name__ == "__main__":
    problem = Problem(smoothness=200.0, gradient_noise=2000.0)
    plan = make_plan(sync_period=15, num_agents=7)
    ours, proved = (
        exact_index_bound(problem, plan).total,
        corrected.weighted_bound(problem, plan).total,
    )
    print(f"{ours:.4f} is the weighted bound {proved:.4f} when every agent makes τ updates")
