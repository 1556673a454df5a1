"""What is proved: bounds, cost and utility of a plan. NumPy float64 only; never imports JAX.

Equation numbers are those of X. Xu, R. Li, Z. Zhao and H. Zhang, "The Gradient Convergence Bound of
Federated Multi-Agent Reinforcement Learning with Efficient Communication", arXiv:2103.13026, in the
revision that became IEEE Transactions on Wireless Communications (2024),
doi:10.1109/TWC.2023.3279268. The numbering differs between versions.
"""

from fmarl.theory import corrected_bounds as corrected
from fmarl.theory import printed_bounds as printed
from fmarl.theory.cost import (
    Overheads,
    needed_exchanges,
    normalised_utility,
    overheads,
    resource_cost,
    utility,
)
from fmarl.theory.plan import Plan, count_updates, exponential_decay, make_plan
from fmarl.theory.printed_bounds import Bound
from fmarl.theory.problem import Problem
from fmarl.theory.step_times import local_updates_from_times, spread_local_updates

__all__ = [
    "Bound",
    "Overheads",
    "Plan",
    "Problem",
    "corrected",
    "count_updates",
    "exponential_decay",
    "local_updates_from_times",
    "make_plan",
    "needed_exchanges",
    "normalised_utility",
    "overheads",
    "printed",
    "resource_cost",
    "spread_local_updates",
    "utility",
]
